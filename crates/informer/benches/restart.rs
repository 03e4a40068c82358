//! What it takes to go on from a saved cache, and what saving takes.
//!
//! `cargo bench -p kube-informer --bench restart` starts an informer of 100,000 pods of the corpus in a process of its own, stops it,
//! and starts it again and again from what it has saved: how long until the objects can be read, until the server has been caught
//! up with, and how much memory that takes. Meanwhile a thousand pods change each second: what a core has to do for them, in
//! turns with saving and without, and what the difference is. The server is another process.
//! The bars: 300 ms to load, and 5 % of a core to save.

mod apart;

use apart::Apart;
use k8s_openapi::api::core::v1::Pod;
use kube_informer::{Informer, Storage};
use std::{
    env, fs,
    path::{Path, PathBuf},
    process::Command,
    time::{Duration, Instant},
};

const PODS: u64 = 100_000;
const RATE: u64 = 1_000;
/// So often with saving and without.
const TURNS: usize = 3;
/// So long each time.
const WHILE: Duration = Duration::from_secs(8);
/// So often only to load.
const LOADS: usize = 5;

/// What came of one life.
struct Life {
    restored: u64,
    loaded: f64,
    synced: f64,
    /// The most memory until it was loaded.
    peak: f64,
    /// What it held then.
    resident: f64,
    /// Of a core, for each thousand events a second.
    share: f64,
    file: u64,
}

fn pods(url: &str, keep: &str, folder: Option<&PathBuf>) -> Informer<Pod> {
    let builder = Informer::<Pod>::builder(apart::client(url));
    let builder = builder.storage(if keep == "whole" { Storage::Decoded } else { Storage::Compressed });
    folder.into_iter().fold(builder, |builder, folder| builder.save_to(folder)).build().expect("a good plan")
}

/// One life, in this process, that follows for a while or is over when it has loaded.
#[tokio::main]
async fn live(url: &str, keep: &str, length: Duration, folder: Option<&PathBuf>) {
    let began = Instant::now();
    let pods = pods(url, keep, folder);
    let loaded = began.elapsed().as_secs_f64() * 1e3;
    let memory = ["VmHWM", "VmRSS"].map(mebibytes);
    let (mut synced, mut share) = (0.0, 0.0);
    if !length.is_zero() {
        pods.start();
        pods.synced().await.expect("it syncs");
        synced = began.elapsed().as_secs_f64() * 1e3;
        let (cpu, events) = (cpu_seconds(), pods.status().counts.events);
        tokio::time::sleep(length).await;
        let (busy, events) = (cpu_seconds() - cpu, pods.status().counts.events - events);
        #[expect(clippy::cast_precision_loss, reason = "few events")]
        let events = events as f64;
        share = 100.0 * busy / (events / 1e3);
    }
    let status = pods.status();
    let restored = status.restored.map_or(0, |restored| restored.objects);
    let file = status.saving.map_or(0, |saving| saving.file_bytes) >> 20;
    println!("{restored} {loaded} {synced} {} {} {share} {file}", memory[0], memory[1]);
    pods.stop();
    pods.stopped().await;
}

/// What the system says that this process has used of its processors.
fn cpu_seconds() -> f64 {
    let stat = fs::read_to_string("/proc/self/stat").expect("this is Linux");
    let fields: Vec<&str> = stat.rsplit(')').next().expect("a name in brackets").split_whitespace().collect();
    let ticks: f64 =
        fields[11..13].iter().map(|ticks| ticks.parse::<f64>().expect("a number of ticks")).sum();
    ticks / 100.0
}

/// What the system says of the memory of this process.
fn mebibytes(name: &str) -> f64 {
    let status = fs::read_to_string("/proc/self/status").expect("this is Linux");
    let line = status.lines().find(|line| line.starts_with(name)).expect("it says that");
    line.split_whitespace().nth(1).and_then(|number| number.parse::<f64>().ok()).expect("a number") / 1024.0
}

impl Life {
    /// Lives, in a process of its own.
    fn live(url: &str, keep: &str, length: Duration, folder: Option<&Path>) -> Self {
        let program = env::current_exe().expect("a program has a path");
        let mut command = Command::new(program);
        command.args(["live", url, keep, &length.as_millis().to_string()]).args(folder);
        let output =
            command.stderr(std::process::Stdio::inherit()).output().expect("this program starts again");
        assert!(output.status.success());
        let text = String::from_utf8(output.stdout).expect("it says what it found");
        let fields: Vec<f64> =
            text.split_whitespace().map(|field| field.parse().expect("a number")).collect();
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "counts")]
        let count = |number: f64| number as u64;
        let [restored, loaded, synced, peak, resident, share, file] = fields[..] else { panic!("{text}") };
        let (restored, file) = (count(restored), count(file));
        Self { restored, loaded, synced, peak, resident, share, file }
    }
}

/// The values in order.
fn sorted(values: impl Iterator<Item = f64>) -> Vec<f64> {
    let mut values: Vec<f64> = values.collect();
    values.sort_by(f64::total_cmp);
    values
}

fn measure(url: &str, keep: &str, folder: &Path) {
    Life::live(url, keep, Duration::from_millis(1), Some(folder));
    let loads: Vec<Life> = (0..LOADS).map(|_| Life::live(url, keep, Duration::ZERO, Some(folder))).collect();
    let loaded = sorted(loads.iter().map(|life| life.loaded));
    let Life { restored, resident, peak, .. } = &loads[0];
    println!(
        "{keep:>7}: {restored} restored in {loaded:.0?} ms; {resident:.0} MiB then, {peak:.0} MiB at most"
    );
    let turns = |folder| move |_| Life::live(url, keep, WHILE, folder);
    let lives: Vec<(Life, Life)> =
        (0..TURNS).map(|turn| (turns(None)(turn), turns(Some(folder))(turn))).collect();
    let without = sorted(lives.iter().map(|(without, _)| without.share));
    let with = sorted(lives.iter().map(|(_, with)| with.share));
    let synced = sorted(lives.iter().map(|(_, with)| with.synced));
    let more = with.iter().sum::<f64>() - without.iter().sum::<f64>();
    println!(
        "{keep:>7}: synced after {synced:.0?} ms; {with:.1?} % of a core saved, {without:.1?} % not saved, {:.1} % more; file {} MiB",
        more / with.len() as f64,
        lives[0].1.file
    );
}

fn main() {
    if apart::served() {
        return;
    }
    let arguments: Vec<_> = env::args().collect();
    if let Some(place) = arguments.iter().position(|argument| argument == "live") {
        let length = Duration::from_millis(arguments[place + 3].parse().expect("a number"));
        let folder = arguments.get(place + 4).map(PathBuf::from);
        return live(&arguments[place + 1], &arguments[place + 2], length, folder.as_ref());
    }
    let count = env::var("PODS").ok().and_then(|count| count.parse().ok()).unwrap_or(PODS);
    let server = Apart::churning(count, RATE);
    for keep in ["compact", "whole"] {
        let folder = env::temp_dir().join(format!("bench-restart-{}-{keep}", std::process::id()));
        measure(&server.url, keep, &folder);
        fs::remove_dir_all(folder).expect("it was saved to");
    }
}
