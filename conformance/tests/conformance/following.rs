//! A cache follows what is written, whatever the order and the number.

use k8s_openapi::api::core::v1::ConfigMap;
use kube::api::{Api, DeleteParams, ListParams, Patch, PatchParams, PostParams};
use kube_conformance::{Follower, Random, Server, on_both, strategies};
use kube_informer::{list_watch::ListWatch, reflector::Counts};
use serde_json::json;
use tokio::task::JoinSet;

on_both! {
    shared: [thousands_of_concurrent_writes_are_followed],
    alone: [],
}

/// Writers, and writes of each.
const WRITERS: u64 = 8;
const WRITES: u64 = 250;

async fn thousands_of_concurrent_writes_are_followed(server: &Server) {
    let namespace = server.namespace().await;
    let maps: Api<ConfigMap> = Api::namespaced(server.client(), &namespace);
    let followers = strategies().map(|config| {
        Follower::start(ListWatch::<ConfigMap>::namespaced(server.client(), &namespace), config)
    });
    let mut writers = JoinSet::new();
    for writer in 0..WRITERS {
        writers.spawn(write(maps.clone(), writer));
    }
    while let Some(ended) = writers.join_next().await {
        ended.unwrap();
    }
    for follower in followers {
        follower.settled(&maps, &ListParams::default()).await;
        let Counts { lists, streams, .. } = follower.counts();
        assert_eq!(lists + streams, 1, "the state was asked for once: {:#?}", follower.reports());
        assert_eq!(follower.unseen_deletions(), [""; 0]);
        follower.stop().await;
    }
}

/// Creates, changes and deletes a few objects many times.
async fn write(maps: Api<ConfigMap>, writer: u64) {
    let (mut random, mut alive) = (Random::new(writer), [false; 10]);
    for turn in 0..WRITES {
        let number = random.below(10) as usize;
        let name = format!("map-{writer}-{number}");
        match (alive[number], random.below(4)) {
            (false, _) => {
                let mut map = ConfigMap::default();
                map.metadata.name = Some(name);
                maps.create(&PostParams::default(), &map).await.unwrap();
                alive[number] = true;
            }
            (true, 0) => {
                maps.delete(&name, &DeleteParams::default()).await.unwrap();
                alive[number] = false;
            }
            (true, _) => {
                let patch = Patch::Merge(json!({ "data": { "turn": turn.to_string() } }));
                maps.patch(&name, &PatchParams::default(), &patch).await.unwrap();
            }
        }
    }
}
