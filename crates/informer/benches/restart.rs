//! The time to restore a saved cache, and the cost of saving.
//!
//! `cargo bench -p kube-informer --bench restart` starts an informer of 100,000 pods of the corpus in a separate process, stops it, and
//! restarts it several times from its saved cache. It prints the time until the objects are readable and until the informer has
//! synced, and the memory. A thousand pods change per second; it also prints the CPU usage with and without saving. The server runs
//! in a separate process. The goals: restore in 300 ms, save with 5 % of a core.

mod server_process;

use k8s_openapi::api::core::v1::Pod;
use kube_informer::{Informer, Storage};
use server_process::ServerProcess;
use std::{
    env, fs,
    path::{Path, PathBuf},
    process::Command,
    time::{Duration, Instant},
};

const PODS: u64 = 100_000;
const RATE: u64 = 1_000;
/// The number of runs with saving, and without.
const RUNS: usize = 3;
/// The duration of each of these runs.
const DURATION: Duration = Duration::from_secs(8);
/// The number of runs that only restore.
const RESTORES: usize = 5;

/// The result of one run.
struct Run {
    restored: u64,
    restore_time: f64,
    sync_time: f64,
    /// The peak memory during the restore, in MiB.
    peak: f64,
    /// The memory after the restore, in MiB.
    resident: f64,
    /// The CPU usage in percent of a core, per thousand events per second.
    cpu: f64,
    file_size: u64,
}

fn pods(url: &str, storage: &str, folder: Option<&PathBuf>) -> Informer<Pod> {
    let builder = Informer::<Pod>::builder(server_process::client(url));
    let builder = builder.storage(if storage == "decoded" { Storage::Decoded } else { Storage::Compressed });
    let builder = if let Some(folder) = folder { builder.save_to(folder) } else { builder };
    builder.build().expect("a valid configuration")
}

/// Restores a cache in this process, then runs the informer for `length`, unless that is zero.
#[tokio::main]
async fn run(url: &str, storage: &str, length: Duration, folder: Option<&PathBuf>) {
    let began = Instant::now();
    let pods = pods(url, storage, folder);
    let restore_time = began.elapsed().as_secs_f64() * 1e3;
    let memory = ["VmHWM", "VmRSS"].map(mebibytes);
    let mut sync_time = 0.0;
    let mut usage = 0.0;
    if !length.is_zero() {
        pods.start();
        pods.synced().await.expect("it syncs");
        sync_time = began.elapsed().as_secs_f64() * 1e3;
        let (cpu, events) = (cpu_seconds(), pods.status().counts.events);
        tokio::time::sleep(length).await;
        let (busy, events) = (cpu_seconds() - cpu, pods.status().counts.events - events);
        #[expect(clippy::cast_precision_loss, reason = "few events")]
        let events = events as f64;
        usage = 100.0 * busy / (events / 1e3);
    }
    let status = pods.status();
    let restored = status.restored.map_or(0, |restored| restored.objects);
    let file_size = status.saving.map_or(0, |saving| saving.file_bytes) >> 20;
    println!("{restored} {restore_time} {sync_time} {} {} {usage} {file_size}", memory[0], memory[1]);
    pods.stop();
    pods.stopped().await;
}

/// Returns the CPU time of this process.
fn cpu_seconds() -> f64 {
    let stat = fs::read_to_string("/proc/self/stat").expect("Linux");
    let fields: Vec<&str> = stat.rsplit(')').next().expect("a name in brackets").split_whitespace().collect();
    let ticks: f64 =
        fields[11..13].iter().map(|ticks| ticks.parse::<f64>().expect("a number of ticks")).sum();
    ticks / 100.0
}

/// Returns a memory statistic of this process in MiB.
fn mebibytes(name: &str) -> f64 {
    let status = fs::read_to_string("/proc/self/status").expect("Linux");
    let line = status.lines().find(|line| line.starts_with(name)).expect("a known statistic");
    line.split_whitespace().nth(1).and_then(|number| number.parse::<f64>().ok()).expect("a number") / 1024.0
}

impl Run {
    /// Measures one run in a separate process.
    fn measure(url: &str, storage: &str, length: Duration, folder: Option<&Path>) -> Self {
        let program = env::current_exe().expect("the executable has a path");
        let mut command = Command::new(program);
        command.args(["run", url, storage, &length.as_millis().to_string()]).args(folder);
        let output = command.stderr(std::process::Stdio::inherit()).output().expect("the process starts");
        assert!(output.status.success());
        let text = String::from_utf8(output.stdout).expect("the result is text");
        let fields: Vec<f64> =
            text.split_whitespace().map(|field| field.parse().expect("a number")).collect();
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "counts")]
        let count = |number: f64| number as u64;
        let [restored, restore_time, sync_time, peak, resident, cpu, file_size] = fields[..] else {
            panic!("{text}")
        };
        let restored = count(restored);
        let file_size = count(file_size);
        Self { restored, restore_time, sync_time, peak, resident, cpu, file_size }
    }
}

/// Returns the values in ascending order.
fn sorted(values: impl Iterator<Item = f64>) -> Vec<f64> {
    let mut values: Vec<f64> = values.collect();
    values.sort_by(f64::total_cmp);
    values
}

fn compare(url: &str, storage: &str, folder: &Path) {
    Run::measure(url, storage, Duration::from_millis(1), Some(folder));
    let restores: Vec<Run> =
        (0..RESTORES).map(|_| Run::measure(url, storage, Duration::ZERO, Some(folder))).collect();
    let times = sorted(restores.iter().map(|run| run.restore_time));
    let Run { restored, resident, peak, .. } = &restores[0];
    println!("{storage:>10}: {restored} restored in {times:.0?} ms; {resident:.0} MiB, peak {peak:.0} MiB");
    let run = |folder| Run::measure(url, storage, DURATION, folder);
    let runs: Vec<(Run, Run)> = (0..RUNS).map(|_| (run(None), run(Some(folder)))).collect();
    let without = sorted(runs.iter().map(|(without, _)| without.cpu));
    let with = sorted(runs.iter().map(|(_, with)| with.cpu));
    let synced = sorted(runs.iter().map(|(_, with)| with.sync_time));
    let more = with.iter().sum::<f64>() - without.iter().sum::<f64>();
    println!(
        "{storage:>10}: synced after {synced:.0?} ms; {with:.1?} % of a core with saving, {without:.1?} % without, {:.1} % more; file {} MiB",
        more / with.len() as f64,
        runs[0].1.file_size
    );
}

fn main() {
    if server_process::serve_if_requested() {
        return;
    }
    let arguments: Vec<_> = env::args().collect();
    if let Some(position) = arguments.iter().position(|argument| argument == "run") {
        let length = Duration::from_millis(arguments[position + 3].parse().expect("a number"));
        let folder = arguments.get(position + 4).map(PathBuf::from);
        return run(&arguments[position + 1], &arguments[position + 2], length, folder.as_ref());
    }
    let count = env::var("PODS").ok().and_then(|count| count.parse().ok()).unwrap_or(PODS);
    let server = ServerProcess::churning(count, RATE);
    for storage in ["compressed", "decoded"] {
        let folder = env::temp_dir().join(format!("bench-restart-{}-{storage}", std::process::id()));
        compare(&server.url, storage, &folder);
        fs::remove_dir_all(folder).expect("the cache was saved");
    }
}
