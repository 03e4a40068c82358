//! Random histories with processes that stop or are killed: a subscriber that persists its state ends up with that of the server.

use crate::{
    cluster::{Cluster, ReceivedState, Versions, versions},
    restart::{Folder, maps},
};
use k8s_openapi::api::core::v1::ConfigMap;
use kube::api::ListParams;
use kube_informer::{
    Informer, Storage,
    subscription::{Replay, SubscribeOptions, Subscription},
};
use proptest::prelude::*;

#[derive(Clone, Copy, Debug)]
enum Op {
    /// Creates the map with this number, or changes it if it exists.
    Touch(u8),
    Delete(u8),
    /// The subscriber handles all pending events.
    Handle,
    Compact,
    Stop,
    Kill,
}

fn op() -> impl Strategy<Value = Op> {
    prop_oneof![
        6 => (0_u8..6).prop_map(Op::Touch),
        3 => (0_u8..6).prop_map(Op::Delete),
        3 => Just(Op::Handle),
        1 => Just(Op::Compact),
        2 => Just(Op::Stop),
        2 => Just(Op::Kill),
    ]
}

/// An informer, and a subscriber whose state outlives it.
struct Process {
    folder: Folder,
    maps: Informer<ConfigMap>,
    changes: Subscription<ConfigMap>,
    received: ReceivedState,
}

impl Process {
    async fn start(cluster: &Cluster, storage: Storage, folder: Folder, known: Option<Versions>) -> Self {
        let maps = maps(cluster).storage(storage).save_to(&folder).build().unwrap();
        let restored = versions(maps.list().iter().map(|map| &**map));
        let known = known.unwrap_or_else(|| restored.clone());
        let changes = maps.subscribe_with(SubscribeOptions::new().replay(Replay::Differences));
        maps.start();
        Self { folder, maps, changes, received: ReceivedState { known, ..ReceivedState::default() } }
    }

    /// Handles all events up to the version of the server.
    async fn handle(&mut self, cluster: &Cluster) {
        self.maps.synced().await.unwrap();
        let server = cluster.maps.list(&ListParams::default()).await.unwrap();
        let version = server.metadata.resource_version.unwrap().parse().unwrap();
        self.maps.wait_for(&version).await.unwrap();
        while self.changes.registration().depth() > 0 {
            let event = self.changes.next().await.unwrap();
            self.received.apply(&event);
        }
        assert_eq!(self.received.known, versions(server.items.iter()));
        // A request for the next event acknowledges the last one.
        let mut next = std::pin::pin!(self.changes.next());
        assert!(futures_util::poll!(next.as_mut()).is_pending());
    }
}

async fn run_history(ops: Vec<Op>, storage: Storage) {
    let cluster = Cluster::new();
    let mut exists = [false; 6];
    let mut process = Process::start(&cluster, storage, Folder::new(), None).await;
    for (turn, op) in ops.into_iter().enumerate() {
        match op {
            Op::Touch(number) if exists[usize::from(number)] => {
                cluster.change(&format!("m{number}"), &turn.to_string()).await;
            }
            Op::Touch(number) => {
                cluster.create(&format!("m{number}")).await;
                exists[usize::from(number)] = true;
            }
            Op::Delete(number) if exists[usize::from(number)] => {
                cluster.delete(&format!("m{number}")).await;
                exists[usize::from(number)] = false;
            }
            Op::Delete(_) => {}
            Op::Handle => process.handle(&cluster).await,
            Op::Compact => cluster.server.compact(),
            Op::Stop => {
                // After all events are handled, the saved state is that of the subscriber.
                process.handle(&cluster).await;
                process.maps.stop();
                process.maps.stopped().await;
                process =
                    Process::start(&cluster, storage, process.folder, Some(process.received.known)).await;
            }
            Op::Kill => {
                // The subscriber loses its state as well.
                let left = process.folder.killed();
                process.maps.stop();
                process.maps.stopped().await;
                process = Process::start(&cluster, storage, left, None).await;
            }
        }
    }
    process.handle(&cluster).await;
    let cache = versions(process.maps.list().iter().map(|map| &**map));
    assert_eq!(cache, cluster.versions().await);
    process.maps.stop();
    process.maps.stopped().await;
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, failure_persistence: None, ..ProptestConfig::default() })]
    #[test]
    fn persisted_subscriber_state_converges_to_the_server(
        ops in prop::collection::vec(op(), 1..30),
        storage in prop_oneof![Just(Storage::Decoded), Just(Storage::Compressed)],
    ) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().start_paused(true).build().unwrap();
        runtime.block_on(run_history(ops, storage));
    }
}
