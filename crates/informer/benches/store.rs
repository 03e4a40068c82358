//! Compares the store with a locked map and a general persistent map, with one writer and readers that list all objects in a loop.
//!
//! `cargo bench -p kube-informer --bench store` prints writes and lists per second, and the writes relative to the locked map. The
//! objects are small pods, created before the measurement.

use arc_swap::ArcSwap;
use k8s_openapi::api::core::v1::Pod;
use kube_informer::{
    cache::{Store, Writer},
    wire::{Key, KeyHasher, KeyMap},
};
use std::{
    hash::BuildHasherDefault,
    hint::black_box,
    sync::{
        Arc, Mutex, RwLock,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};

const OBJECTS: u64 = 10_000;
const PERIOD: Duration = Duration::from_millis(1500);

/// A store with batch writes and full lists.
trait Candidate: Send + Sync {
    fn write(&self, pods: &[Arc<Pod>]);
    fn list(&self) -> usize;
}

struct Locked(RwLock<KeyMap<Arc<Pod>>>);

impl Candidate for Locked {
    fn write(&self, pods: &[Arc<Pod>]) {
        for pod in pods {
            let key = Key::of(&**pod).expect("a pod with a name");
            self.0.write().expect("no panic").insert(key, Arc::clone(pod));
        }
    }

    fn list(&self) -> usize {
        black_box(self.0.read().expect("no panic").values().cloned().collect::<Vec<_>>()).len()
    }
}

type Persistent =
    imbl::GenericHashMap<Key, Arc<Pod>, BuildHasherDefault<KeyHasher>, imbl::shared_ptr::DefaultSharedPtr>;

#[derive(Default)]
struct General {
    published: ArcSwap<Persistent>,
    working: Mutex<Persistent>,
}

impl Candidate for General {
    fn write(&self, pods: &[Arc<Pod>]) {
        let mut working = self.working.lock().expect("no panic");
        for pod in pods {
            working.insert(Key::of(&**pod).expect("a pod with a name"), Arc::clone(pod));
        }
        self.published.store(Arc::new(working.clone()));
    }

    fn list(&self) -> usize {
        black_box(self.published.load().values().cloned().collect::<Vec<_>>()).len()
    }
}

struct Ours {
    store: Store<Pod>,
    writer: Mutex<Writer<Pod>>,
}

impl Candidate for Ours {
    fn write(&self, pods: &[Arc<Pod>]) {
        let mut writer = self.writer.lock().expect("no panic");
        let mut edit = writer.edit();
        for pod in pods {
            edit.insert(Arc::clone(pod)).expect("a pod with a name");
        }
    }

    fn list(&self) -> usize {
        black_box(self.store.list()).len()
    }
}

fn pod(number: u64, version: u64) -> Arc<Pod> {
    let mut pod = Pod::default();
    pod.metadata.namespace = Some(format!("ns-{}", number % 40));
    pod.metadata.name = Some(format!("pod-{number}"));
    pod.metadata.resource_version = Some(version.to_string());
    Arc::new(pod)
}

/// Returns the writes and the lists per second.
fn measure(candidate: &dyn Candidate, readers: usize, batch: usize) -> (f64, f64) {
    let (stop, lists) = (AtomicBool::new(false), AtomicU64::new(0));
    candidate.write(&(0..OBJECTS).map(|number| pod(number, 1)).collect::<Vec<_>>());
    // Created in advance, so that only the store is measured.
    let pods: Vec<_> = (0..OBJECTS * 2).map(|number| pod(number * 7919 % OBJECTS, number + 2)).collect();
    std::thread::scope(|scope| {
        for _ in 0..readers {
            scope.spawn(|| {
                while !stop.load(Ordering::Relaxed) {
                    black_box(candidate.list());
                    lists.fetch_add(1, Ordering::Relaxed);
                }
            });
        }
        let begin = Instant::now();
        let mut writes = 0;
        while begin.elapsed() < PERIOD {
            let from = writes % (pods.len() - batch);
            candidate.write(&pods[from..from + batch]);
            writes += batch;
        }
        let seconds = begin.elapsed().as_secs_f64();
        stop.store(true, Ordering::Relaxed);
        (writes as f64 / seconds, lists.load(Ordering::Relaxed) as f64 / seconds)
    })
}

fn main() {
    println!("{OBJECTS} objects; writes/s, lists/s, and writes relative to the locked map\n");
    println!(
        "{:>7} {:>5}  {:>24} {:>32} {:>32}",
        "readers", "batch", "locked map", "general persistent map", "this store"
    );
    for (readers, batch) in [(0, 1), (0, 64), (1, 1), (1, 64), (10, 1), (10, 64)] {
        let (store, writer) = Store::builder().build().expect("no index conflicts");
        let locked = measure(&Locked(RwLock::default()), readers, batch);
        let general = measure(&General::default(), readers, batch);
        let ours = measure(&Ours { store, writer: Mutex::new(writer) }, readers, batch);
        print!("{readers:>7} {batch:>5}  {:>12.0} {:>11.0}", locked.0, locked.1);
        for (writes, lists) in [general, ours] {
            print!("  {writes:>10.0} {lists:>8.0} {:>9.2}x", writes / locked.0);
        }
        println!();
    }
}
