//! What a cache of pods takes, whole and compact, and what reading it costs.
//!
//! `cargo bench -p kube-informer --bench compact` prints the resident memory of a process with 20,000 pods of the corpus: what
//! each pod takes over that of a process with 2,000, what is resident in the calm after the first list, and how much more
//! at the height of that list, and of a relist that shows one pod in a thousand changed. The server is another process, and so
//! is each line. The bars: 1 KB a pod compact, 0.8 KB without managed fields, and 1.15 times the calm at the height.

mod apart;

use apart::Apart;
use k8s_openapi::api::core::v1::Pod;
use kube_informer::{Informer, Storage, reflector::Strategy, wire::{Key, ManagedFields}};
use std::{
    env, fs,
    hint::black_box,
    process::Command,
    time::{Duration, Instant},
};

const PODS: u64 = 20_000;
const FEW: u64 = 2_000;

/// Measures one way, in this process.
#[tokio::main(flavor = "current_thread")]
async fn measure(keep: &str, fields: &str, strategy: &str, few: Option<f64>) {
    let count = if few.is_some() { PODS } else { FEW };
    let mut server = Apart::with_pods(count);
    let builder = Informer::<Pod>::builder(apart::client(&server.url));
    let builder = if fields == "managed" { builder.managed_fields(ManagedFields::Keep) } else { builder };
    let builder = builder.storage(if keep == "whole" { Storage::Decoded } else { Storage::Compressed });
    let builder = builder.strategy(if strategy == "list" { Strategy::List } else { Strategy::Stream });
    let began = Instant::now();
    let pods = builder.start().expect("a good plan");
    pods.synced().await.expect("it syncs");
    let took = began.elapsed();
    assert_eq!(pods.len() as u64, count);
    let height = memory("VmHWM");
    tokio::time::sleep(Duration::from_secs(1)).await;
    let calm = memory("VmRSS");
    let Some(few) = few else { return println!("{calm}") };
    let packed = pods.snapshot().compact_bytes() as f64 / PODS as f64;
    let each = (calm - few) * 1024.0 * 1024.0 / (PODS - FEW) as f64;
    println!(
        "{keep:>7} {fields:>9} {strategy:>6}: {each:.0} B a pod ({packed:.0} packed), calm {calm:.1} MiB, \
         {few:.1} MiB with a tenth of them, height {:.3}, {:.1} s",
        height / calm,
        took.as_secs_f64()
    );
    for turn in 1..=2 {
        tokio::time::sleep(Duration::from_secs(1)).await;
        let calm = memory("VmRSS");
        fs::write("/proc/self/clear_refs", "5").expect("the height can be forgotten");
        let (began, mut status) = (Instant::now(), pods.watch_status());
        server.expire_and_change(PODS / 1000);
        status.wait_for(|status| status.counts.replaces > turn).await;
        let took = began.elapsed();
        println!("{:>25} relist {turn}: height {:.3}, {took:.1?}", "", memory("VmHWM") / calm);
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
    time("get, one again and again", 1000, &mut || {
        (0..1000).for_each(|_| drop(black_box(pods.get(&keys[0]))));
    });
    time("get, each once", keys.len(), &mut || keys.iter().for_each(|key| drop(black_box(pods.get(key)))));
    let before = memory("VmRSS");
    time("visit all", keys.len(), &mut || {
        pods.snapshot().iter().for_each(|entry| drop(black_box(entry.object())));
    });
    println!("{:>25} visiting all took {:.1} MiB", "", memory("VmRSS") - before);
}

/// Measures one way in processes of their own, with few pods and with many.
fn compare(keep: &str, fields: &str, strategy: &str) {
    let again = || Command::new(env::current_exe().expect("a program has a path"));
    let few = again().args(["measure", keep, fields, strategy]).output().expect("this program starts again");
    let few = String::from_utf8(few.stdout).expect("a figure");
    let ended = again().args(["measure", keep, fields, strategy, few.trim()]).status();
    assert!(ended.expect("this program starts again").success());
}

/// A figure of this process, in MiB.
fn memory(name: &str) -> f64 {
    let text = fs::read_to_string("/proc/self/status").expect("Linux");
    let line = text.lines().find(|line| line.starts_with(name)).expect("a known figure");
    let kibibytes = line.split_whitespace().nth(1).and_then(|number| number.parse::<f64>().ok());
    kibibytes.expect("a number") / 1024.0
}

fn main() {
    let arguments: Vec<_> = env::args().collect();
    let measured = arguments.iter().position(|argument| argument == "measure");
    if apart::served() {
    } else if let Some(place) = measured {
        let few = arguments.get(place + 4).map(|few| few.parse().expect("a figure"));
        measure(&arguments[place + 1], &arguments[place + 2], &arguments[place + 3], few);
    } else {
        for strategy in ["list", "stream"] {
            for keep in ["compact", "whole"] {
                for fields in ["managed", "unmanaged"] {
                    compare(keep, fields, strategy);
                }
            }
        }
    }
}
