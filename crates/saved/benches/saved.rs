//! What it takes to load a state, to save it whole, and to save what happens to it.

use bytes::Bytes;
use kube_informer_saved::{
    Batch, Compression, Encoding, Header, Layout, Object, Options, Payload, Saved, Snapshot,
};
use kube_informer_wire::ResourceVersion;
use std::{
    fmt::Write,
    path::PathBuf,
    time::{Duration, Instant},
};

const EVENTS_PER_FLUSH: usize = 1_000;

fn main() {
    // Whoever runs it as a test wants to see that it runs.
    let is_bench = std::env::args().any(|argument| argument == "--bench");
    let count: usize = if is_bench { 100_000 } else { 100 };
    let plain: Vec<Object> = (0..count).map(|number| pod(number, 0)).collect();
    let size: usize = plain.iter().map(|pod| pod.payload.size()).sum();
    println!("{count} objects of {} bytes; an event is a new state of one of them", size / count);
    println!(
        "{:<34}{:>10}{:>10}{:>10}{:>12}{:>14}",
        "", "file MB", "save ms", "load ms", "read all ms", "us CPU/event"
    );
    for (name, compression) in [
        ("as they are", Compression::Off),
        ("packed here, level 1", Compression::Level(1)),
        ("packed here, level 3", Compression::Level(3)),
    ] {
        measure(name, compression, &plain);
    }
    let encoded: Vec<Object> = plain.iter().map(encode).collect();
    measure("packed by the caller, 600 bytes", Compression::Off, &encoded);
}

/// As an informer hands over what it has packed already: some bytes that mean nothing here.
fn encode(object: &Object) -> Object {
    let bytes =
        object.payload.bytes().map_or_else(|_| Bytes::new(), |bytes| bytes.slice(..600.min(bytes.len())));
    Object { payload: Payload::encoded(Layout::Protobuf, Encoding(1), bytes), ..object.clone() }
}

fn measure(name: &str, compression: Compression, objects: &[Object]) {
    let folder: PathBuf = std::env::temp_dir().join(format!("saved-bench-{}", std::process::id()));
    let header = Header::new("", "v1", "pods");
    let options = || Options::default().compression(compression).flush_interval(Duration::from_secs(3600));
    let open = || Saved::open(&folder, &header, options()).expect("the folder is ours");

    let (saved, _) = open();
    let start = Instant::now();
    let snapshot = Snapshot::new(objects.to_vec()).version(ResourceVersion::number(1));
    let _ = saved.replace(snapshot);
    saved.flush().expect("there is room");
    let save = start.elapsed();
    let file = saved.status().file_bytes;
    drop(saved);

    let mut load = Duration::MAX;
    let mut read = Duration::MAX;
    for _ in 0..5 {
        let start = Instant::now();
        let (_saved, restored) = open();
        load = load.min(start.elapsed());
        assert_eq!(restored.objects().len(), objects.len());
        let start = Instant::now();
        let bytes =
            restored.objects().iter().map(|object| object.payload.bytes().map_or(0, |bytes| bytes.len()));
        assert!(bytes.sum::<usize>() > 0);
        read = read.min(start.elapsed());
    }

    let per_event = events(&open().0, objects);
    println!(
        "{name:<34}{:>10.1}{:>10}{:>10}{:>12}{per_event:>14.1}",
        file as f64 / 1e6,
        save.as_millis(),
        load.as_millis(),
        read.as_millis(),
    );
    std::fs::remove_dir_all(&folder).expect("the folder is ours");
}

/// The processor time of the writer for one event, in microseconds, compactions included.
fn events(saved: &Saved, objects: &[Object]) -> f64 {
    let before = writer_time();
    let total = objects.len() * 2;
    for flush in 0..total.div_ceil(EVENTS_PER_FLUSH) {
        for number in 0..EVENTS_PER_FLUSH {
            let index = (flush * EVENTS_PER_FLUSH + number) * 7919 % objects.len();
            let mut batch = Batch::new();
            batch.put(objects[index].clone()).version(ResourceVersion::number(number as u64));
            let _ = saved.append(batch);
        }
        saved.flush().expect("there is room");
    }
    let events = total.div_ceil(EVENTS_PER_FLUSH) * EVENTS_PER_FLUSH;
    (writer_time() - before).as_secs_f64() * 1e6 / events as f64
}

/// How long the writer has run, as Linux tells; nothing elsewhere.
fn writer_time() -> Duration {
    let tasks = std::fs::read_dir("/proc/self/task").into_iter().flatten().flatten();
    let of_writer = |path: &PathBuf| {
        std::fs::read_to_string(path.join("comm")).is_ok_and(|name| name.trim() == "saved-state")
    };
    let nanos = |path: PathBuf| -> Option<u64> {
        std::fs::read_to_string(path.join("schedstat")).ok()?.split(' ').next()?.parse().ok()
    };
    Duration::from_nanos(tasks.map(|task| task.path()).filter(of_writer).filter_map(nanos).sum())
}

/// About eight kilobytes that look like a pod: much that all have in common, and some that is its own.
fn pod(number: usize, version: u64) -> Object {
    let mut text = String::with_capacity(8 << 10);
    let team = number / 12 % 40;
    for part in 0..48 {
        let own = (number as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(part) ^ version;
        let _ = write!(
            text,
            "\u{12}\u{9}container-{part}\u{1a}registry/team-{team}/image:v{}\"\u{8}--flag={own:x}\u{a}\u{7}\
             PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin f:kubernetes.io/config.seen f:status.conditions[{part}]",
            team * 7 % 13,
        );
    }
    Object {
        key: format!("team-{team}/pod-{number}").parse().expect("a name"),
        uid: format!("{number:08x}-0000-4000-8000-{number:012x}").into(),
        version: ResourceVersion::number(version + number as u64),
        payload: Payload::plain(Layout::Protobuf, text.into()),
    }
}
