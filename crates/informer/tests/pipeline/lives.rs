//! Random histories, with processes that stop and are killed at random points: whoever kept what it was told knows what the server has.

use crate::{
    cluster::{Cluster, Told, Versions, versions},
    restarts::{Folder, maps},
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
    /// Makes the map of this number, or changes it if it is there.
    Touch(u8),
    Delete(u8),
    /// The follower handles what there is.
    Handle,
    Forget,
    Stop,
    Kill,
}

fn op() -> impl Strategy<Value = Op> {
    prop_oneof![
        6 => (0_u8..6).prop_map(Op::Touch),
        3 => (0_u8..6).prop_map(Op::Delete),
        3 => Just(Op::Handle),
        1 => Just(Op::Forget),
        2 => Just(Op::Stop),
        2 => Just(Op::Kill),
    ]
}

/// An informer, and a follower that keeps what it is told beyond it.
struct Life {
    folder: Folder,
    maps: Informer<ConfigMap>,
    changes: Subscription<ConfigMap>,
    told: Told,
}

impl Life {
    async fn begin(cluster: &Cluster, keep: Storage, folder: Folder, known: Option<Versions>) -> Self {
        let maps = maps(cluster).storage(keep).save_to(&folder).build().unwrap();
        let restored = versions(maps.list().iter().map(|map| &**map));
        let known = known.unwrap_or_else(|| restored.clone());
        let changes = maps.subscribe_with(SubscribeOptions::new().replay(Replay::Differences));
        maps.start();
        Self { folder, maps, changes, told: Told { known, ..Told::default() } }
    }

    /// Lets the follower handle all that the server has.
    async fn handle(&mut self, cluster: &Cluster) {
        self.maps.synced().await.unwrap();
        let server = cluster.maps.list(&ListParams::default()).await.unwrap();
        let version = server.metadata.resource_version.unwrap().parse().unwrap();
        self.maps.wait_for(&version).await.unwrap();
        while self.changes.registration().depth() > 0 {
            let event = self.changes.next().await.unwrap();
            self.told.hear(&event);
        }
        assert_eq!(self.told.known, versions(server.items.iter()));
        // Who asks for the next has handled the last.
        let mut next = std::pin::pin!(self.changes.next());
        assert!(futures_util::poll!(next.as_mut()).is_pending());
    }
}

async fn live(ops: Vec<Op>, keep: Storage) {
    let cluster = Cluster::new();
    let mut there = [false; 6];
    let mut life = Life::begin(&cluster, keep, Folder::new(), None).await;
    for (turn, op) in ops.into_iter().enumerate() {
        match op {
            Op::Touch(number) if there[usize::from(number)] => {
                cluster.change(&format!("m{number}"), &turn.to_string()).await;
            }
            Op::Touch(number) => {
                cluster.create(&format!("m{number}")).await;
                there[usize::from(number)] = true;
            }
            Op::Delete(number) if there[usize::from(number)] => {
                cluster.delete(&format!("m{number}")).await;
                there[usize::from(number)] = false;
            }
            Op::Delete(_) => {}
            Op::Handle => life.handle(&cluster).await,
            Op::Forget => cluster.server.compact(),
            Op::Stop => {
                // One that is told differences alone is ahead of nothing that is saved once it has handled all.
                life.handle(&cluster).await;
                life.maps.stop();
                life.maps.stopped().await;
                life = Life::begin(&cluster, keep, life.folder, Some(life.told.known)).await;
            }
            Op::Kill => {
                // One that keeps its state together with the cache, so to speak.
                let left = life.folder.killed();
                life.maps.stop();
                life.maps.stopped().await;
                life = Life::begin(&cluster, keep, left, None).await;
            }
        }
    }
    life.handle(&cluster).await;
    let cache = versions(life.maps.list().iter().map(|map| &**map));
    assert_eq!(cache, cluster.versions().await);
    life.maps.stop();
    life.maps.stopped().await;
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, failure_persistence: None, ..ProptestConfig::default() })]
    #[test]
    fn whoever_kept_what_it_was_told_knows_what_the_server_has(
        ops in prop::collection::vec(op(), 1..30),
        keep in prop_oneof![Just(Storage::Decoded), Just(Storage::Compressed)],
    ) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().start_paused(true).build().unwrap();
        runtime.block_on(live(ops, keep));
    }
}
