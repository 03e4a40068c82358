//! The memory of a cache of pods, decoded and compressed, and the time to read it.
//!
//! `cargo bench -p kube-informer --bench compressed` prints the resident memory of a process with 20,000 pods of the corpus: per pod
//! (compared with a process with 2,000 pods), after the first list, and the peak during that list and during a relist
//! with one changed pod in a thousand. The server and each measurement run in separate processes. The goals: 1 KB per compressed pod,
//! 0.8 KB without managed fields, and a peak of 1.15 times the steady state.

mod server_process;

use k8s_openapi::api::core::v1::Pod;
use kube_informer::{
    Informer, Storage,
    reflector::Strategy,
    wire::{Key, ManagedFields},
};
use server_process::ServerProcess;
use std::{
    env, fs,
    hint::black_box,
    process::Command,
    time::{Duration, Instant},
};

const PODS: u64 = 20_000;
const FEW: u64 = 2_000;

/// Measures one configuration in this process.
#[tokio::main(flavor = "current_thread")]
async fn measure(storage: &str, fields: &str, strategy: &str, few: Option<f64>) {
    let count = if few.is_some() { PODS } else { FEW };
    let mut server = ServerProcess::with_pods(count);
    let builder = Informer::<Pod>::builder(server_process::client(&server.url));
    let builder = if fields == "managed" { builder.managed_fields(ManagedFields::Keep) } else { builder };
    let builder = builder.storage(if storage == "decoded" { Storage::Decoded } else { Storage::Compressed });
    let builder = builder.strategy(if strategy == "list" { Strategy::List } else { Strategy::Stream });
    let began = Instant::now();
    let pods = builder.start().expect("a valid configuration");
    pods.synced().await.expect("it syncs");
    let took = began.elapsed();
    assert_eq!(pods.len() as u64, count);
    let peak = memory("VmHWM");
    tokio::time::sleep(Duration::from_secs(1)).await;
    let steady = memory("VmRSS");
    let Some(few) = few else { return println!("{steady}") };
    let bytes = pods.snapshot().compact_bytes() as f64 / PODS as f64;
    let each = (steady - few) * 1024.0 * 1024.0 / (PODS - FEW) as f64;
    println!(
        "{storage:>10} {fields:>9} {strategy:>6}: {each:.0} B per pod ({bytes:.0} compressed), steady {steady:.1} MiB, \
         {few:.1} MiB with a tenth of the pods, peak {:.3}, {:.1} s",
        peak / steady,
        took.as_secs_f64()
    );
    for turn in 1..=2 {
        tokio::time::sleep(Duration::from_secs(1)).await;
        let steady = memory("VmRSS");
        fs::write("/proc/self/clear_refs", "5").expect("the peak can be reset");
        let (began, mut status) = (Instant::now(), pods.watch_status());
        server.expire_and_change(PODS / 1000);
        status.wait_for(|status| status.counts.replaces > turn).await;
        let took = began.elapsed();
        println!("{:>25} relist {turn}: peak {:.3}, {took:.1?}", "", memory("VmHWM") / steady);
    }
    read(&pods, &pods.store().keys());
    pods.stop();
    pods.stopped().await;
}

fn read(pods: &Informer<Pod>, keys: &[Key]) {
    let time = |name: &str, count: usize, work: &mut dyn FnMut()| {
        let began = Instant::now();
        work();
        let each = began.elapsed().as_nanos() as f64 / count as f64 / 1000.0;
        println!("{:>25} {name}: {each:.2} us", "");
    };
    time("get, the same object", 1000, &mut || {
        (0..1000).for_each(|_| drop(black_box(pods.get(&keys[0]))));
    });
    time("get, each object once", keys.len(), &mut || {
        keys.iter().for_each(|key| drop(black_box(pods.get(key))))
    });
    let before = memory("VmRSS");
    time("iterate", keys.len(), &mut || {
        pods.snapshot().iter().for_each(|entry| drop(black_box(entry.object())));
    });
    println!("{:>25} iterating allocated {:.1} MiB", "", memory("VmRSS") - before);
}

/// Measures one configuration in two processes: with few pods and with many.
fn compare(storage: &str, fields: &str, strategy: &str) {
    let process = || Command::new(env::current_exe().expect("the executable has a path"));
    let few = process().args(["measure", storage, fields, strategy]).output().expect("the process starts");
    let few = String::from_utf8(few.stdout).expect("a number");
    let ended = process().args(["measure", storage, fields, strategy, few.trim()]).status();
    assert!(ended.expect("the process starts").success());
}

/// Returns a memory statistic of this process in MiB.
fn memory(name: &str) -> f64 {
    let text = fs::read_to_string("/proc/self/status").expect("Linux");
    let line = text.lines().find(|line| line.starts_with(name)).expect("a known statistic");
    let kibibytes = line.split_whitespace().nth(1).and_then(|number| number.parse::<f64>().ok());
    kibibytes.expect("a number") / 1024.0
}

fn main() {
    let arguments: Vec<_> = env::args().collect();
    let measured = arguments.iter().position(|argument| argument == "measure");
    if server_process::serve_if_requested() {
    } else if let Some(position) = measured {
        let few = arguments.get(position + 4).map(|few| few.parse().expect("a number"));
        measure(&arguments[position + 1], &arguments[position + 2], &arguments[position + 3], few);
    } else {
        for strategy in ["list", "stream"] {
            for storage in ["compressed", "decoded"] {
                for fields in ["managed", "unmanaged"] {
                    compare(storage, fields, strategy);
                }
            }
        }
    }
}
