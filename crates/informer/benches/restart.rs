//! What it takes to go on from a saved cache, and what saving takes.
//!
//! `cargo bench -p kube-informer --bench restart` starts an informer of 100,000 pods of the corpus in a process of its own, stops it,
//! and starts it again from what it has saved: how long until the objects can be read, and until the server has been caught up
//! with. Then a thousand pods change each second for twenty seconds, with saving and without: what a core has to do.
//! The server is another process. The bars: 300 ms to load, and 5 % of a core to save.

mod apart;

use apart::Apart;
use k8s_openapi::api::core::v1::Pod;
use kube_informer::{Informer, Keep};
use std::{
    env, fs,
    path::PathBuf,
    process::Command,
    time::{Duration, Instant},
};

const PODS: u64 = 100_000;
const RATE: u64 = 1_000;
const WHILE: Duration = Duration::from_secs(20);

fn pods(url: &str, keep: &str, folder: Option<&PathBuf>) -> Informer<Pod> {
    let builder = Informer::<Pod>::new(apart::client(url)).without_managed_fields();
    let builder = builder.keep(if keep == "whole" { Keep::Whole } else { Keep::Compact });
    folder.into_iter().fold(builder, |builder, folder| builder.save_to(folder)).build().expect("a good plan")
}

/// One life, in this process.
#[tokio::main]
async fn live(url: &str, keep: &str, folder: Option<&PathBuf>) {
    let began = Instant::now();
    let pods = pods(url, keep, folder);
    let loaded = began.elapsed();
    pods.start();
    pods.synced().await.expect("it syncs");
    let synced = began.elapsed();
    let (cpu, events) = (cpu_seconds(), pods.status().counts.events);
    tokio::time::sleep(WHILE).await;
    let (busy, events) = (cpu_seconds() - cpu, pods.status().counts.events - events);
    let share = 100.0 * busy / WHILE.as_secs_f64();
    let rate = events / WHILE.as_secs();
    let status = pods.status();
    let restored = status.restored.map_or(0, |restored| restored.objects);
    let file = status.saving.map_or(0, |saving| saving.file_bytes) / (1 << 20);
    println!(
        "{keep:>7} {}: {restored} restored in {loaded:.0?}, synced after {synced:.0?}; {share:.1} % of a core at {rate} events/s; \
         file {file} MiB",
        if folder.is_some() { " saved" } else { "not saved" }
    );
    pods.stop().await;
}

/// What the system says that this process has used of its processors.
fn cpu_seconds() -> f64 {
    let stat = fs::read_to_string("/proc/self/stat").expect("this is Linux");
    let fields: Vec<&str> = stat.rsplit(')').next().expect("a name in brackets").split_whitespace().collect();
    let ticks: f64 =
        fields[11..13].iter().map(|ticks| ticks.parse::<f64>().expect("a number of ticks")).sum();
    ticks / 100.0
}

fn main() {
    if apart::served() {
        return;
    }
    let arguments: Vec<_> = env::args().collect();
    if let Some(place) = arguments.iter().position(|argument| argument == "live") {
        let folder = arguments.get(place + 3).map(PathBuf::from);
        return live(&arguments[place + 1], &arguments[place + 2], folder.as_ref());
    }
    let count = env::var("PODS").ok().and_then(|count| count.parse().ok()).unwrap_or(PODS);
    let server = Apart::churning(count, RATE);
    for keep in ["compact", "whole"] {
        let folder = env::temp_dir().join(format!("bench-restart-{}-{keep}", std::process::id()));
        let program = env::current_exe().expect("a program has a path");
        let folder_argument = folder.to_str().expect("a plain path").to_owned();
        for folder in [vec![], vec![folder_argument.clone()], vec![folder_argument]] {
            let life = Command::new(&program).args(["live", &server.url, keep]).args(folder).status();
            assert!(life.expect("this program starts again").success());
        }
        fs::remove_dir_all(folder).expect("it was saved to");
    }
}
