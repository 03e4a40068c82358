//! A recorder process is killed under load, or its disk is full: the history opens and has all flushed changes.
//!
//! The test starts itself as the recorder process, so it has no harness. `cargo test -p kube-history --test kill -- --kills 1000` is the
//! long form.

#![allow(clippy::unwrap_used, reason = "a test without a harness")]

use jiff::Timestamp;
use kube_history::{History, Kind, List, Recorder, RecorderOptions};
use kube_informer_wire::{EventType, Format, Raw, ResourceVersion};
use std::{
    collections::BTreeMap,
    io::{BufRead, BufReader, Write},
    path::Path,
    process::{Command, ExitCode, Stdio},
};

/// A test that records into a folder, and kills the recorder a number of times.
type Test = fn(&Path, u64);

const OBJECTS: u64 = 20;
/// The number of kills, unless the command line has another.
const KILLS: u64 = 25;

/// Version `n` is a change of object `n % OBJECTS`.
fn object(version: u64) -> Raw {
    let name = version % OBJECTS;
    let json = format!(
        r#"{{"metadata":{{"name":"pod-{name}","namespace":"web","uid":"{name}","resourceVersion":"{version}"}},"status":{{"text":"{}"}}}}"#,
        "status ".repeat(30)
    );
    Raw::new(Format::Json, json.into())
}

/// An object of one megabyte that cannot be compressed much.
fn large_object(version: u64) -> Raw {
    let (name, mut state) = (version % OBJECTS, version | 1);
    let mut text = String::new();
    while text.len() < 1 << 20 {
        state = state.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(0x1405_7b7e_f767_814f);
        text.push_str(&format!("{:016x}", state ^ state >> 29));
    }
    let json = format!(
        r#"{{"metadata":{{"name":"pod-{name}","namespace":"web","uid":"{name}","resourceVersion":"{version}"}},"text":"{text}"}}"#
    );
    Raw::new(Format::Json, json.into())
}

fn time(version: u64) -> Timestamp {
    Timestamp::from_microsecond(1_800_000_000_000_000 + i64::try_from(version).unwrap()).unwrap()
}

/// Returns the newest version in a history, after checking that the server was in this state.
fn newest(folder: &Path) -> u64 {
    let history = History::open(folder).unwrap();
    let Ok(pods) = history.kind("pods") else { return 0 };
    let snapshot = history.at(history.span().unwrap().end).unwrap();
    let found = snapshot.list(pods, None).map(|version| {
        let version = version.unwrap();
        let number = version.version().unwrap().to_number().unwrap();
        assert_eq!(version.object().unwrap(), object(number), "an object has another content");
        (version.key().to_string(), number)
    });
    let found: BTreeMap<String, u64> = found.collect();
    let newest = found.values().copied().max().unwrap_or_default();
    let is_first = |version: &u64| *version > 0;
    let expected = (newest.saturating_sub(OBJECTS - 1)..=newest).filter(is_first);
    let expected: BTreeMap<String, u64> =
        expected.map(|version| (format!("web/pod-{}", version % OBJECTS), version)).collect();
    assert_eq!(found, expected, "the server never had this state");
    newest
}

/// Records until it is killed or the disk is full; prints the newest version after each flush.
fn record(folder: &Path) {
    let mut version = if folder.exists() { newest(folder) } else { 0 };
    let options = RecorderOptions::default().segment_size(200_000).max_size(2_000_000);
    let mut recorder = Recorder::open(folder, options, time(version)).unwrap();
    let pods = recorder.add_kind(Kind::new("", "v1", "Pod", "pods"), time(version)).unwrap();
    let objects: Vec<_> =
        (version.saturating_sub(OBJECTS - 1)..=version).filter(|v| *v > 0).map(object).collect();
    let list =
        List { kind: pods, namespace: None, version: Some(ResourceVersion::number(version + 1)), objects };
    assert_eq!(recorder.list(list, time(version)).unwrap(), 0, "the recorder lost a flushed state");
    let mut failures = 0;
    loop {
        version += 1;
        let object = if failures < 3 { object(version) } else { large_object(version) };
        if let Err(error) = recorder.change(pods, EventType::Modified, &object, time(version)) {
            assert!(error.is_fatal(), "{error}");
            println!("overflow");
            return;
        }
        if version % 50 == 0 {
            match recorder.flush(time(version)) {
                Ok(()) => println!("{version}"),
                Err(_) => {
                    failures += 1;
                    println!("failed");
                }
            }
            std::io::stdout().flush().unwrap();
        }
    }
}

/// Starts a recorder process with a limit for the size of files, in blocks of 512 bytes.
fn start(folder: &Path, file_blocks: Option<u64>) -> std::process::Child {
    let program = std::env::current_exe().unwrap();
    let mut command = match file_blocks {
        None => Command::new(program),
        Some(blocks) => {
            let mut command = Command::new("sh");
            command
                .args(["-c", &format!("trap '' XFSZ; ulimit -f {blocks}; exec \"$0\" \"$@\"")])
                .arg(program);
            command
        }
    };
    command.arg("record").arg(folder).stdout(Stdio::piped()).spawn().unwrap()
}

fn killed_recorders_lose_no_flushed_change(folder: &Path, kills: u64) {
    let mut total = 0;
    for kill in 0..kills {
        let mut process = start(folder, None);
        let mut lines = BufReader::new(process.stdout.take().unwrap()).lines();
        // Kill it at different positions of its work.
        let flushes = 1 + kill * 7 % 23;
        let mut flushed = total;
        for _ in 0..flushes {
            flushed = lines.next().unwrap().unwrap().parse().unwrap();
        }
        (0..kill * 4_001 % 60_000).for_each(|n| {
            std::hint::black_box(n);
        });
        process.kill().unwrap();
        for line in lines.map_while(Result::ok) {
            flushed = line.parse().unwrap_or(flushed);
        }
        process.wait().unwrap();
        total = newest(folder);
        assert!(total >= flushed, "kill {kill}: {flushed} was flushed, the history ends at {total}");
    }
    assert!(total > kills * 50);
}

/// The limit of the file size is below that of a segment.
fn a_full_disk_loses_no_flushed_change(folder: &Path, _: u64) {
    let mut process = start(folder, Some(100));
    let (mut flushed, mut failures, mut is_overflow) = (0, 0, false);
    for line in BufReader::new(process.stdout.take().unwrap()).lines().map_while(Result::ok) {
        match line.as_str() {
            "failed" => failures += 1,
            "overflow" => is_overflow = true,
            version => flushed = version.parse().unwrap(),
        }
    }
    assert!(process.wait().unwrap().success());
    assert!(flushed > 0 && failures > 0 && is_overflow, "{flushed} {failures} {is_overflow}");
    assert!(newest(folder) >= flushed);
    // With free space, the next recorder continues.
    let mut process = start(folder, None);
    let mut lines = BufReader::new(process.stdout.take().unwrap()).lines();
    let next: u64 = lines.next().unwrap().unwrap().parse().unwrap();
    process.kill().unwrap();
    process.wait().unwrap();
    assert!(next > flushed && newest(folder) >= next);
}

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().collect();
    if let [_, command, folder] = arguments.as_slice()
        && command == "record"
    {
        record(folder.as_ref());
        return ExitCode::SUCCESS;
    }
    let position = arguments.iter().position(|argument| argument == "--kills");
    let kills = position.and_then(|position| arguments.get(position + 1)?.parse().ok()).unwrap_or(KILLS);
    let tests: [(&str, Test); 2] = [
        ("killed_recorders_lose_no_flushed_change", killed_recorders_lose_no_flushed_change),
        ("a_full_disk_loses_no_flushed_change", a_full_disk_loses_no_flushed_change),
    ];
    for (name, test) in tests.into_iter().take(if cfg!(unix) { 2 } else { 1 }) {
        let folder = std::env::temp_dir().join(format!("kube-history-kill-{}-{name}", std::process::id()));
        test(&folder, kills);
        std::fs::remove_dir_all(&folder).unwrap();
        println!("test {name} ... ok");
    }
    ExitCode::SUCCESS
}
