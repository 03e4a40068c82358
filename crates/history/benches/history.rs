//! Records status changes of pods, reads moments, and compares the size with JSON lines compressed by zstd -19.
//!
//! `cargo bench -p kube-history --bench history -- [CHANGES] [LEVEL] [FOLDER]`
//!
//! A FOLDER, which must contain a slash, is kept. If it exists, it is only read. The environment variable `PODS` sets the number of pods.

use jiff::Timestamp;
use kube_history::{History, Kind, List, Recorder, RecorderOptions};
use kube_informer_wire::{EventType, Format, Raw, ResourceVersion, Schema};
use serde_json::Value;
use std::{
    hint::black_box,
    path::{Path, PathBuf},
    process::{Command, Stdio},
    sync::LazyLock,
    time::{Duration, Instant},
};

/// The number of pods.
static PODS: LazyLock<u64> = LazyLock::new(|| {
    let number = std::env::var("PODS").unwrap_or_else(|_| "10000".to_owned());
    number.parse().expect("PODS is a number")
});
/// The time between two changes: 100 changes per second.
const STEP: i64 = 10_000;
/// The number of moments and objects that are read.
const ROUNDS: u32 = 20;
/// The number of changes in the sample of JSON lines.
const LINES: u64 = 2_000;

/// Pods of a few templates, each with its own name, uid, node and addresses.
struct Pods {
    templates: Vec<Value>,
    schema: Schema,
    /// For each pod, one encoding that is not ready and one that is.
    encoded: Vec<[Encoded; 2]>,
}

/// The state of a pod.
#[derive(Clone, Copy)]
struct State {
    version: u64,
    /// Seconds since 1970.
    time: i64,
    restarts: u8,
    is_ready: bool,
}

/// The encoding of a pod, with the positions of the values that change. They have the same length in all states.
struct Encoded {
    bytes: Vec<u8>,
    versions: Vec<usize>,
    times: Vec<usize>,
    restarts: Vec<usize>,
}

impl State {
    /// Returns the state of a pod after a change.
    fn after(change: u64) -> Self {
        // A pod changes once in `PODS` changes on average, and is ready after every other of its changes.
        let round = change / *PODS;
        let restarts = u8::try_from(1 + round / 2 % 100).expect("small");
        Self {
            version: FIRST_VERSION + change,
            time: time(change).as_second(),
            restarts,
            is_ready: round.is_multiple_of(2),
        }
    }
}

/// Versions have eight digits.
const FIRST_VERSION: u64 = 10_000_000;

impl Pods {
    fn new() -> Self {
        let lines = include_str!("../../wire/benches/pods.jsonl").lines();
        let templates = lines.map(|line| serde_json::from_str(line).expect("a pod")).collect();
        let schema = Schema::of("v1", "Pod").expect("pods have a schema");
        let mut pods = Self { templates, schema, encoded: Vec::new() };
        pods.encoded =
            (0..*PODS).map(|number| [false, true].map(|is_ready| pods.encode(number, is_ready))).collect();
        pods
    }

    /// Returns a pod in a state.
    fn json(&self, number: u64, state: State) -> Value {
        let mut pod = self.templates[number as usize % self.templates.len()].clone();
        let mixed = number.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let time = Timestamp::from_second(state.time).expect("in range").to_string();
        let meta = &mut pod["metadata"];
        meta["name"] = format!("{}-{:06x}", meta["name"].as_str().unwrap_or("pod"), mixed >> 40).into();
        meta["uid"] = format!("{:08x}-{:04x}-4000-8000-{:012x}", mixed >> 32, number, mixed >> 16).into();
        meta["resourceVersion"] = state.version.to_string().into();
        if let Some(entry) = meta["managedFields"].as_array_mut().and_then(|entries| entries.last_mut()) {
            entry["time"] = time.clone().into();
        }
        pod["spec"]["nodeName"] = format!("node-{}", number % 200).into();
        let status = &mut pod["status"];
        status["podIP"] = format!("10.{}.{}.{}", mixed >> 56, mixed >> 48 & 255, number % 256).into();
        for condition in status["conditions"].as_array_mut().into_iter().flatten() {
            if condition["type"] == "Ready" || condition["type"] == "ContainersReady" {
                condition["status"] = if state.is_ready { "True" } else { "False" }.into();
                condition["lastTransitionTime"] = time.clone().into();
            }
        }
        if let Some(container) = status["containerStatuses"].as_array_mut().and_then(|all| all.first_mut()) {
            container["ready"] = state.is_ready.into();
            container["restartCount"] = state.restarts.into();
        }
        pod
    }

    /// Encodes a pod, and finds the values that change by encoding it with others.
    fn encode(&self, number: u64, is_ready: bool) -> Encoded {
        let state = State { version: 55_555_555, time: time(0).as_second(), restarts: 1, is_ready };
        let encode =
            |state| self.schema.encode(&self.json(number, state)).expect("a pod has the fields of its kind");
        let bytes = encode(state);
        let differing = |other: State| -> Vec<usize> {
            let other = encode(other);
            assert_eq!(other.len(), bytes.len(), "values have the same length");
            (0..bytes.len()).filter(|position| bytes[*position] != other[*position]).collect()
        };
        let versions = differing(State { version: 66_666_666, ..state });
        // All seven bits of each byte of the varint differ.
        let times = differing(State { time: state.time ^ 0x7fff_ffff, ..state });
        let restarts = differing(State { restarts: 2, ..state });
        Encoded { bytes, versions, times, restarts }
    }

    fn raw(&self, number: u64, state: State) -> Raw {
        let encoded = &self.encoded[number as usize][usize::from(state.is_ready)];
        let mut bytes = encoded.bytes.clone();
        let version = state.version.to_string();
        for (position, digit) in encoded.versions.iter().zip(version.bytes().cycle()) {
            bytes[*position] = digit;
        }
        let varint = varint(state.time);
        for (position, byte) in encoded.times.iter().zip(varint.iter().cycle()) {
            bytes[*position] = *byte;
        }
        for position in &encoded.restarts {
            bytes[*position] = state.restarts;
        }
        Raw::new(Format::ProtobufItem(self.schema), bytes.into())
    }
}

/// Encodes the seconds of a time, which have five bytes.
fn varint(seconds: i64) -> [u8; 5] {
    let seconds = u64::try_from(seconds).expect("after 1970");
    [0, 7, 14, 21, 28].map(|shift| {
        let bits = u8::try_from(seconds >> shift & 0x7f).expect("seven bits");
        if shift == 28 { bits } else { bits | 0x80 }
    })
}

fn time(change: u64) -> Timestamp {
    Timestamp::from_microsecond(1_800_000_000_000_000 + i64::try_from(change).expect("small") * STEP)
        .expect("in range")
}

fn folder_size(folder: &Path) -> u64 {
    let files = std::fs::read_dir(folder).expect("the folder exists").flatten();
    files.filter_map(|file| Some(file.metadata().ok()?.len())).sum()
}

/// Pods change in a random order.
fn pod_of(change: u64) -> u64 {
    change.wrapping_mul(0x2545_f491_4f6c_dd1d).rotate_left(29).wrapping_mul(0x9e37_79b9_7f4a_7c15) % *PODS
}

/// Returns the CPU time of this thread; `None` if the operating system does not report it.
fn cpu_time() -> Option<Duration> {
    let statistics = std::fs::read_to_string("/proc/thread-self/schedstat").ok()?;
    Some(Duration::from_nanos(statistics.split_whitespace().next()?.parse().ok()?))
}

/// Removes the files of a folder from the page cache; returns whether this worked.
fn drop_page_cache(folder: &Path) -> bool {
    let files = std::fs::read_dir(folder).expect("the folder exists").flatten();
    files.fold(true, |worked, file| {
        let dd = Command::new("dd")
            .arg(format!("of={}", file.path().display()))
            .args(["oflag=nocache", "conv=notrunc,fdatasync", "count=0"])
            .stdin(Stdio::null())
            .stderr(Stdio::null())
            .status();
        worked && dd.is_ok_and(|status| status.success())
    })
}

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let numbers: Vec<u64> = arguments.iter().filter_map(|argument| argument.parse().ok()).collect();
    let changes = numbers.first().copied().unwrap_or(200_000);
    let level = numbers.get(1).map_or(3, |level| i32::try_from(*level).expect("a zstd level"));
    let kept = arguments.iter().find(|argument| argument.contains('/')).map(PathBuf::from);
    if let Some(folder) = kept.as_deref().filter(|folder| folder.exists()) {
        return read(folder);
    }
    let name = format!("kube-history-bench-{}", std::process::id());
    let folder = kept.clone().unwrap_or_else(|| std::env::temp_dir().join(name));
    let pods = Pods::new();
    for change in [1, *PODS, 123_456] {
        let encoded = pods.schema.encode(&pods.json(pod_of(change), State::after(change))).expect("a pod");
        assert_eq!(
            pods.raw(pod_of(change), State::after(change)).bytes()[..],
            encoded,
            "a pod is encoded in two ways"
        );
    }
    record(&folder, &pods, changes, level);
    read(&folder);
    lines(&pods);
    if kept.is_none() {
        std::fs::remove_dir_all(&folder).expect("the folder exists");
    }
}

fn record(folder: &Path, pods: &Pods, changes: u64, level: i32) {
    let options = RecorderOptions::default().level(level);
    let mut recorder = Recorder::open(folder, options, time(0)).expect("a new folder");
    let kind = recorder.add_kind(Kind::new("", "v1", "Pod", "pods"), time(0)).expect("pods are recorded");
    let objects: Vec<Raw> = (0..*PODS).map(|number| pods.raw(number, State::after(0))).collect();
    let size: usize = objects.iter().map(|object| object.bytes().len()).sum();
    let started = Instant::now();
    let version = Some(ResourceVersion::number(FIRST_VERSION));
    recorder.list(List { kind, namespace: None, version, objects }, time(0)).expect("valid objects");
    recorder.flush(time(0)).expect("the disk has space");
    let initial = folder_size(folder);
    println!(
        "initial list of {} pods of {} bytes: {} bytes each, {:?}",
        *PODS,
        size as u64 / *PODS,
        initial / *PODS,
        started.elapsed()
    );
    let (mut recording, mut cpu) = (Duration::ZERO, Duration::ZERO);
    let mut slowest = Duration::ZERO;
    let mut next = 1;
    while next <= changes {
        // The changes of one second, which are created before the time is measured.
        let second = next..(next + 100).min(changes + 1);
        let objects: Vec<(u64, Raw)> =
            second.clone().map(|change| (change, pods.raw(pod_of(change), State::after(change)))).collect();
        let (started, cpu_before) = (Instant::now(), cpu_time());
        for (change, object) in &objects {
            recorder.change(kind, EventType::Modified, object, time(*change)).expect("a valid object");
        }
        recorder.flush(time(second.end - 1)).expect("the disk has space");
        let elapsed = started.elapsed();
        recording += elapsed;
        slowest = slowest.max(elapsed);
        cpu += cpu_time().zip(cpu_before).map_or(elapsed, |(after, before)| after - before);
        next = second.end;
    }
    let statistics = recorder.statistics();
    recorder.close(time(changes)).expect("the disk has space");
    let total = folder_size(folder);
    let per_change = (total - initial) as f64 / changes as f64;
    println!("level {level}: {changes} changes at 100/s, flushed every second");
    println!(
        "  {:.3} GB on disk; {per_change:.1} bytes per change with checkpoints and indexes; object alone {:.1}",
        total as f64 / 1e9,
        (statistics.compressed_bytes - initial) as f64 / changes as f64
    );
    println!("  {:.2} GB per day of 8.64 M changes", per_change * 8.64e6 / 1e9);
    println!(
        "  {:.0} changes per second of recording, {:.0} per second of CPU time; {:.2} % of a core at 100/s",
        changes as f64 / recording.as_secs_f64(),
        changes as f64 / cpu.as_secs_f64(),
        cpu.as_secs_f64() / changes as f64 * 1e4
    );
    println!("  slowest second, with its sync of the disk: {slowest:?}");
    println!("  {} segments", statistics.segments + 1);
}

/// Measures the time to read 20 moments and 20 objects.
fn read(folder: &Path) {
    let open = || History::open(folder).expect("a history");
    let history = open();
    let span = history.span().expect("intact");
    let kind = history.kind("pods").expect("pods are recorded");
    let keys: Vec<_> = history.at(span.start).expect("in range").keys(kind).cloned().collect();
    let length = span.end.as_microsecond() - span.start.as_microsecond();
    let moment = |round: u32| {
        let after = length / i64::from(ROUNDS) * i64::from(round);
        Timestamp::from_microsecond(span.start.as_microsecond() + after).expect("in range")
    };
    let is_dropped = drop_page_cache(folder);
    let measure = |name: &str, mut read: Box<dyn FnMut(u32) + '_>| {
        let mut times: Vec<Duration> = (1..=ROUNDS)
            .map(|round| {
                if name.ends_with("cold") {
                    drop_page_cache(folder);
                }
                let started = Instant::now();
                read(round);
                started.elapsed()
            })
            .collect();
        times.sort_unstable();
        println!("  {name}: median {:?}, slowest {:?}", times[times.len() / 2], times[times.len() - 1]);
    };
    let at = |history: &History, round| drop(black_box(history.at(moment(round)).expect("in range")));
    let versions = |history: &History, round: u32| {
        let key = keys[round as usize * 7_919 % keys.len()].clone();
        black_box(history.object(kind, key).versions().expect("intact")).len()
    };
    let kind_of_cold =
        if is_dropped { "files not in the page cache" } else { "the page cache cannot be dropped" };
    println!("cold: new handle, {kind_of_cold}; {} versions of the first object", versions(&history, 0));
    measure("at(t), cold", Box::new(|round| at(&open(), round)));
    measure("at(t), new handle", Box::new(|round| at(&open(), round)));
    measure("at(t), same handle", Box::new(|round| at(&history, round)));
    let all = |round| {
        let snapshot = history.at(moment(round)).expect("in range");
        let bytes: usize = snapshot
            .list(kind, None)
            .map(|version| version.expect("intact").object().expect("intact").bytes().len())
            .sum();
        black_box(bytes);
    };
    measure("at(t) and all objects, same handle", Box::new(all));
    measure("versions of an object, cold", Box::new(|round| _ = versions(&open(), round)));
    measure("versions of an object, new handle", Box::new(|round| _ = versions(&open(), round)));
    measure("versions of an object, same handle", Box::new(|round| _ = versions(&history, round)));
}

/// Compresses consecutive changes as JSON lines with zstd -19.
fn lines(pods: &Pods) {
    let mut lines = String::new();
    for change in 1..=LINES {
        lines.push_str(&pods.json(pod_of(change), State::after(change)).to_string());
        lines.push('\n');
    }
    let started = Instant::now();
    let mut compressed = Vec::with_capacity(zstd_safe::compress_bound(lines.len()));
    zstd_safe::compress(&mut compressed, lines.as_bytes(), 19).expect("the buffer is large enough");
    let per_second = LINES as f64 / started.elapsed().as_secs_f64();
    println!(
        "JSON lines, zstd -19: {} bytes per change, {per_second:.0} changes per second",
        compressed.len() as u64 / LINES
    );
}
