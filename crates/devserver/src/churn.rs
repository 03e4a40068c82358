//! Creates realistic pods and changes them at a rate.

use crate::corpus::{Checksum, Pods, mutate};
use crate::object::{NewObject, complete};
use crate::registry::Resource;
use crate::storage::{CollectionId, Content, Write, WriteError};
use crate::verb::{Cluster, encode, encode_change, encode_json, now};
use kube_informer_wire::Key;
use serde_json::json;
use std::{
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    thread::ScopedJoinHandle,
    time::Duration,
};
use tokio::{
    task::JoinHandle,
    time::{Instant, MissedTickBehavior},
};

/// The interval of changes. At a higher rate, several changes are made at once.
const TICK: Duration = Duration::from_millis(10);
/// The number of pods that a thread generates before they are stored.
const SHARE: u64 = 2048;
/// One in this number of changes deletes its pod, and a later one creates it again.
const DELETIONS: u64 = 50;

/// The pods of a server, and the rate of their changes.
#[derive(Clone, Debug)]
#[must_use = "churn does nothing until a server takes it"]
pub struct Churn {
    seed: u64,
    pods: u64,
    rate: f64,
}

/// Running changes, which end when this is stopped or dropped.
#[derive(Debug)]
pub struct Churning {
    churn: Churn,
    changes: Arc<AtomicU64>,
    task: Option<JoinHandle<()>>,
}

impl Churn {
    /// Creates this number of pods of the corpus, without changes.
    pub fn pods(pods: u64) -> Self {
        Self { seed: 1, pods, rate: 0.0 }
    }

    /// Sets the seed. The default is 1.
    pub fn seed(self, seed: u64) -> Self {
        Self { seed, ..self }
    }

    /// Sets the number of changes per second, at most a million.
    pub fn rate(self, rate: f64) -> Self {
        Self { rate: rate.min(1e6), ..self }
    }

    /// Fills a cluster, and starts the changes if there is a rate.
    pub(crate) fn start(self, cluster: &Arc<Cluster>) -> Churning {
        let pods = Pods::new(self.seed);
        let mut pod_set = PodSet::new(Arc::clone(cluster), pods);
        pod_set.load(self.pods);
        let changes = Arc::new(AtomicU64::new(0));
        let is_changing = self.rate > 0.0 && self.pods > 0;
        let run = || tokio::spawn(pod_set.run(self.clone(), Arc::clone(&changes)));
        let task = is_changing.then(run);
        Churning { churn: self, changes, task }
    }
}

impl Churning {
    /// Returns the checksum of the pods before their first change, which identifies the corpus.
    ///
    /// Each call computes it, which takes a few seconds for a hundred thousand pods.
    #[must_use]
    pub fn checksum(&self) -> Checksum {
        Pods::new(self.churn.seed).checksum(self.churn.pods)
    }

    /// Returns the number of changes.
    #[must_use]
    pub fn changes(&self) -> u64 {
        self.changes.load(Ordering::Relaxed)
    }

    /// Stops the changes, and waits for their end.
    pub async fn stop(mut self) {
        if let Some(task) = self.task.take() {
            task.abort();
            // The task ends because it was aborted.
            let _ = task.await;
        }
    }
}

impl Drop for Churning {
    fn drop(&mut self) {
        if let Some(task) = &self.task {
            task.abort();
        }
    }
}

/// The pods of a corpus in a cluster.
struct PodSet {
    cluster: Arc<Cluster>,
    resource: Arc<Resource>,
    collection: CollectionId,
    pods: Pods,
    /// The key of each pod, by its index.
    keys: Vec<Key>,
}

impl PodSet {
    fn new(cluster: Arc<Cluster>, pods: Pods) -> Self {
        let resource = cluster.registry().resource("", "v1", "pods").expect("pods are built in").clone();
        let collection = CollectionId::from(resource.storage());
        Self { cluster, resource, collection, pods, keys: Vec::new() }
    }

    /// Generates the pods on all cores, a few thousand at a time, and stores them in order.
    fn load(&mut self, count: u64) {
        for namespace in Pods::namespaces() {
            make_namespace(&self.cluster, namespace);
        }
        let threads = std::thread::available_parallelism().map_or(1, usize::from) as u64;
        for start in (0..count).step_by((threads * SHARE) as usize) {
            let pod_set = &*self;
            let share = |thread: u64| {
                let first = start + thread * SHARE;
                (first..(first + SHARE).min(count)).map(|index| pod_set.encoded(index))
            };
            let made = std::thread::scope(|scope| {
                let spawn = |thread| scope.spawn(move || share(thread).collect::<Vec<_>>());
                let workers: Vec<_> = (0..threads).map(spawn).collect();
                let join = |worker: ScopedJoinHandle<'_, _>| worker.join().expect("the corpus is sound");
                workers.into_iter().flat_map(join).collect::<Vec<_>>()
            });
            for content in made {
                self.keys.push(content.key().clone());
                self.store(content);
            }
        }
    }

    fn encoded(&self, index: u64) -> Box<Content> {
        encode_json(&self.resource, &self.pods.json(index)).expect("the corpus is sound")
    }

    async fn run(self, churn: Churn, changes: Arc<AtomicU64>) {
        let mut ticks = tokio::time::interval(TICK);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let (mut due, mut tick, mut last) = (0.0, 0_u64, Instant::now());
        loop {
            let now = ticks.tick().await;
            // Changes that are late are made now, except those of a stall that is longer than ten ticks.
            due += churn.rate * (now - last).min(10 * TICK).as_secs_f64();
            last = now;
            while due >= 1.0 {
                due -= 1.0;
                tick += 1;
                self.change(random_number(churn.seed ^ tick) % churn.pods, tick);
                changes.fetch_add(1, Ordering::Relaxed);
            }
        }
    }

    fn store(&self, content: Box<Content>) {
        let key = content.key().clone();
        // An existing pod is from an earlier call with the same seed.
        let _ = self.cluster.store.write(&self.collection, key.as_str(), Write::Create(content));
    }

    /// Changes, deletes or creates a pod.
    fn change(&self, index: u64, tick: u64) {
        let key = self.keys[index as usize].as_str();
        let Some(record) = self.cluster.store.get(&self.collection, key) else {
            return self.store(self.encoded(index));
        };
        let write = match tick % DELETIONS {
            0 => Write::Remove(record.version()),
            _ => match encode_change(&self.resource, &record, |object| mutate(object, tick)) {
                Ok(content) => Write::Replace(record.version(), content),
                // Another client has replaced the object by one that this task does not change.
                Err(_) => return,
            },
        };
        match self.cluster.store.write(&self.collection, key, write) {
            // Another client has changed the object in the meantime; its change is sufficient.
            Ok(_) | Err(WriteError::Changed | WriteError::Missing | WriteError::Exists) => {}
        }
    }
}

/// Creates a namespace, unless it exists.
pub(crate) fn make_namespace(cluster: &Cluster, name: &str) {
    let registry = cluster.registry();
    let resource = registry.resource("", "v1", "namespaces").expect("namespaces are built in");
    let mut object = json!({});
    let new_object = NewObject { namespace: None, name, uid: cluster.uid(), now: &now() };
    complete(resource, &mut object, &new_object);
    let Ok(key) = Key::new(None, name) else { return };
    let write = Write::Create(encode(resource, key, object));
    // An error means that the namespace exists already.
    let _ = cluster.store.write(&CollectionId::from(resource.storage()), name, write);
}

/// Returns a random number that selects the next pod, by SplitMix64.
fn random_number(mut bits: u64) -> u64 {
    bits = bits.wrapping_add(0x9e37_79b9_7f4a_7c15);
    bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    bits ^ (bits >> 31)
}
