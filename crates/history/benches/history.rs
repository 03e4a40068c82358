//! Records status changes of pods, reads moments, and compares the size with JSON lines compressed by zstd -19.
//!
//! `cargo bench -p kube-history -- [CHANGES] [LEVEL]`

use jiff::Timestamp;
use kube_history::{History, Kind, List, Recorder, RecorderOptions};
use kube_informer_wire::{EventType, Format, Raw, ResourceVersion, Schema};
use serde_json::Value;
use std::{
    hint::black_box,
    path::Path,
    time::{Duration, Instant},
};

const PODS: u64 = 10_000;
/// The time between two changes: 100 changes per second.
const STEP: i64 = 10_000;
/// The number of changes in the sample of JSON lines.
const LINES: u64 = 2_000;

/// Pods of a few templates, each with its own name, uid, node and addresses.
struct Pods {
    templates: Vec<Value>,
    schema: Schema,
}

impl Pods {
    fn new() -> Self {
        let lines = include_str!("../../wire/benches/pods.jsonl").lines();
        let templates = lines.map(|line| serde_json::from_str(line).expect("a pod")).collect();
        Self { templates, schema: Schema::of("v1", "Pod").expect("pods have a schema") }
    }

    /// Returns pod `number` after its status changed at `version`.
    fn json(&self, number: u64, version: u64) -> Value {
        let mut pod = self.templates[number as usize % self.templates.len()].clone();
        let mixed = number.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let seconds = version % 60;
        let time = format!(
            "2026-11-{:02}T{:02}:{:02}:{seconds:02}Z",
            1 + version / 8_640_000 % 28,
            version / 360_000 % 24,
            version / 6_000 % 60
        );
        let meta = &mut pod["metadata"];
        meta["name"] = format!("{}-{:06x}", meta["name"].as_str().unwrap_or("pod"), mixed >> 40).into();
        meta["uid"] = format!("{:08x}-{:04x}-4000-8000-{:012x}", mixed >> 32, number, mixed >> 16).into();
        meta["resourceVersion"] = version.to_string().into();
        if let Some(entry) = meta["managedFields"].as_array_mut().and_then(|entries| entries.last_mut()) {
            entry["time"] = time.clone().into();
        }
        pod["spec"]["nodeName"] = format!("node-{}", number % 200).into();
        let status = &mut pod["status"];
        status["podIP"] = format!("10.{}.{}.{}", mixed >> 56, mixed >> 48 & 255, number % 256).into();
        let is_ready = (version / PODS).is_multiple_of(2);
        for condition in status["conditions"].as_array_mut().into_iter().flatten() {
            if condition["type"] == "Ready" || condition["type"] == "ContainersReady" {
                condition["status"] = if is_ready { "True" } else { "False" }.into();
                condition["lastTransitionTime"] = time.clone().into();
            }
        }
        if let Some(container) = status["containerStatuses"].as_array_mut().and_then(|all| all.first_mut()) {
            container["ready"] = is_ready.into();
            container["restartCount"] = (version / PODS).into();
        }
        pod
    }

    fn raw(&self, number: u64, version: u64) -> Raw {
        let bytes =
            self.schema.encode(&self.json(number, version)).expect("the pod has the fields of its kind");
        Raw::new(Format::ProtobufItem(self.schema), bytes.into())
    }
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
    change.wrapping_mul(0x2545_f491_4f6c_dd1d).rotate_left(29).wrapping_mul(0x9e37_79b9_7f4a_7c15) % PODS
}

fn main() {
    let arguments: Vec<u64> = std::env::args().filter_map(|argument| argument.parse().ok()).collect();
    let changes = arguments.first().copied().unwrap_or(200_000);
    let level = arguments.get(1).map_or(3, |level| i32::try_from(*level).expect("a zstd level"));
    let folder = std::env::temp_dir().join(format!("kube-history-bench-{}", std::process::id()));
    let pods = Pods::new();
    let options = RecorderOptions::default().level(level);
    let mut recorder = Recorder::open(&folder, options, time(0)).expect("a new folder");
    let kind = recorder.add_kind(Kind::new("", "v1", "Pod", "pods"), time(0)).expect("pods are recorded");
    let objects: Vec<Raw> = (0..PODS).map(|number| pods.raw(number, number)).collect();
    let size: usize = objects.iter().map(|object| object.bytes().len()).sum();
    let started = Instant::now();
    let version = Some(ResourceVersion::number(PODS));
    recorder.list(List { kind, namespace: None, version, objects }, time(0)).expect("valid objects");
    recorder.flush(time(0)).expect("the disk has space");
    let initial = folder_size(&folder);
    println!(
        "initial list of {PODS} pods of {} bytes: {} bytes each, {:?}",
        size as u64 / PODS,
        initial / PODS,
        started.elapsed()
    );
    let mut recording = Duration::ZERO;
    let mut slowest = Duration::ZERO;
    for change in 1..=changes {
        let object = pods.raw(pod_of(change), PODS + change);
        let started = Instant::now();
        recorder.change(kind, EventType::Modified, &object, time(change)).expect("a valid object");
        if change % 100 == 0 {
            recorder.flush(time(change)).expect("the disk has space");
        }
        let elapsed = started.elapsed();
        recording += elapsed;
        slowest = slowest.max(elapsed);
    }
    let statistics = recorder.statistics();
    recorder.close(time(changes)).expect("the disk has space");
    let total = folder_size(&folder);
    let per_change = (total - initial) as f64 / changes as f64;
    println!("level {level}: {changes} changes at 100/s, flushed every second");
    println!(
        "  {per_change:.1} bytes per change on disk with checkpoints and indexes; object alone {:.1}",
        (statistics.compressed_bytes - initial) as f64 / changes as f64
    );
    println!("  {:.2} GB per day of 8.64 M changes", per_change * 8.64e6 / 1e9);
    println!(
        "  {:.0} changes per second of recording; {:.2} % of a core at 100/s; slowest call {slowest:?}",
        changes as f64 / recording.as_secs_f64(),
        recording.as_secs_f64() / changes as f64 * 1e4
    );
    println!("  {} segments", statistics.segments + 1);
    read(&folder, changes);
    lines(&pods);
    std::fs::remove_dir_all(&folder).expect("the folder exists");
}

fn read(folder: &Path, changes: u64) {
    let measure = |name: &str, mut read: Box<dyn FnMut(u64) + '_>| {
        let mut times: Vec<Duration> = (1..=20)
            .map(|round| {
                let started = Instant::now();
                read(changes * round / 20);
                started.elapsed()
            })
            .collect();
        times.sort_unstable();
        println!("  {name}: median {:?}, slowest {:?}", times[times.len() / 2], times[times.len() - 1]);
    };
    let open = || History::open(folder).expect("a history");
    measure(
        "at(t), new handle",
        Box::new(|change| drop(black_box(open().at(time(change)).expect("in range")))),
    );
    let history = open();
    let kind = history.kind("pods").expect("pods are recorded");
    measure(
        "at(t), same handle",
        Box::new(|change| drop(black_box(history.at(time(change)).expect("in range")))),
    );
    let all = |change| {
        let snapshot = history.at(time(change)).expect("in range");
        let bytes: usize = snapshot
            .list(kind, None)
            .map(|version| version.expect("intact").object().expect("intact").bytes().len())
            .sum();
        black_box(bytes);
    };
    measure("at(t) and all objects", Box::new(all));
    let keys: Vec<_> = history.at(time(0)).expect("in range").keys(kind).cloned().collect();
    measure(
        "versions of an object, new handle",
        Box::new(|change| {
            let key = keys[change as usize % keys.len()].clone();
            drop(black_box(open().object(kind, key).versions().expect("intact")));
        }),
    );
    measure(
        "versions of an object, same handle",
        Box::new(|change| {
            let key = keys[change as usize % keys.len()].clone();
            drop(black_box(history.object(kind, key).versions().expect("intact")));
        }),
    );
}

/// Compresses consecutive changes as JSON lines with zstd -19.
fn lines(pods: &Pods) {
    let mut lines = String::new();
    for change in 1..=LINES {
        lines.push_str(&pods.json(pod_of(change), PODS + change).to_string());
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
