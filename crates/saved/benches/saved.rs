//! Measures saving a state, loading it and saving changes to it.

use bytes::Bytes;
use kube_informer_saved::{Batch, Encoding, Header, Layout, Object, Options, Payload, SavedState, Snapshot};
use kube_informer_wire::{ContentHash, ResourceVersion};
use std::{
    path::PathBuf,
    time::{Duration, Instant},
};

const EVENTS_PER_FLUSH: usize = 1_000;

fn main() {
    // `cargo test` runs the benchmark with few objects.
    let is_bench = std::env::args().any(|argument| argument == "--bench");
    let count: usize = if is_bench { 100_000 } else { 100 };
    println!("{count} objects; an event replaces one of them");
    println!("{:<20}{:>10}{:>10}{:>10}{:>14}", "payload", "file MB", "save ms", "load ms", "us CPU/event");
    for size in [600, 8_000] {
        let objects: Vec<Object> = (0..count).map(|number| pod(number, size)).collect();
        measure(&format!("{size} bytes"), &objects);
    }
}

fn measure(name: &str, objects: &[Object]) {
    let folder: PathBuf = std::env::temp_dir().join(format!("saved-bench-{}", std::process::id()));
    let header = Header::new("", "v1", "pods");
    let options = || Options::default().flush_interval(Duration::from_secs(3600));
    let open = || SavedState::open(&folder, &header, options()).expect("the folder is not in use");

    let (saved, _) = open();
    let start = Instant::now();
    let snapshot = Snapshot::new(objects.to_vec()).version(ResourceVersion::number(1));
    let _ = saved.replace(snapshot);
    saved.flush().expect("the disk is not full");
    let save = start.elapsed();
    let file_bytes = saved.status().file_bytes;
    drop(saved);

    let mut load = Duration::MAX;
    for _ in 0..5 {
        let start = Instant::now();
        let (_saved, restored) = open();
        load = load.min(start.elapsed());
        assert_eq!(restored.objects().len(), objects.len());
    }

    let micros_per_event = save_events(&open().0, objects);
    println!(
        "{name:<20}{:>10.1}{:>10}{:>10}{micros_per_event:>14.1}",
        file_bytes as f64 / 1e6,
        save.as_millis(),
        load.as_millis(),
    );
    std::fs::remove_dir_all(&folder).expect("the folder exists");
}

/// Saves two events per object and returns the CPU time of the writer per event in microseconds, including compactions.
fn save_events(saved: &SavedState, objects: &[Object]) -> f64 {
    let before = writer_cpu_time();
    let flushes = (objects.len() * 2).div_ceil(EVENTS_PER_FLUSH);
    for flush in 0..flushes {
        for number in 0..EVENTS_PER_FLUSH {
            let index = (flush * EVENTS_PER_FLUSH + number) * 7919 % objects.len();
            let mut batch = Batch::new();
            batch.put(objects[index].clone()).version(ResourceVersion::number(number as u64));
            let _ = saved.append(batch);
        }
        saved.flush().expect("the disk is not full");
    }
    (writer_cpu_time() - before).as_secs_f64() * 1e6 / (flushes * EVENTS_PER_FLUSH) as f64
}

/// Returns the CPU time of the writer thread on Linux; zero elsewhere.
fn writer_cpu_time() -> Duration {
    let tasks = std::fs::read_dir("/proc/self/task").into_iter().flatten().flatten();
    let is_writer = |path: &PathBuf| {
        std::fs::read_to_string(path.join("comm")).is_ok_and(|name| name.trim() == "saved-state")
    };
    let nanos = |path: PathBuf| -> Option<u64> {
        std::fs::read_to_string(path.join("schedstat")).ok()?.split(' ').next()?.parse().ok()
    };
    Duration::from_nanos(tasks.map(|task| task.path()).filter(is_writer).filter_map(nanos).sum())
}

/// Creates an object with a payload of this size. The content does not matter, because payloads are stored as given.
fn pod(number: usize, size: usize) -> Object {
    let payload =
        Payload::new(Layout::Protobuf, Encoding(1), Bytes::from(vec![number.to_le_bytes()[0]; size]));
    Object {
        key: format!("team-{}/pod-{number}", number / 12 % 40).parse().expect("the key is valid"),
        uid: format!("{number:08x}-0000-4000-8000-{number:012x}").into(),
        version: ResourceVersion::number(number as u64),
        content: ContentHash::from_number(number as u64 | 2),
        payload,
    }
}
