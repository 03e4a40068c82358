//! Sharded lists and watches: every object is in exactly one shard.

use crate::maps::{Maps, page};
use k8s_openapi::api::core::v1::ConfigMap;
use kube::api::ListParams;
use kube_conformance::{CheckedInformer, Server, claims, eventually, strategies, versions};
use kube_informer::{Informer, source::ListWatch, wire::ListOptions, wire::ShardSelector};
use std::collections::BTreeSet;

claims! {
    shared: [shards_are_disjoint_and_complete, caches_of_shards_contain_their_objects],
    alone: [],
}

/// The minor version since which kube-apiserver has the feature gate `ShardedListAndWatch`. Older servers ignore the selector and send all
/// objects, so that only an informer, which checks each object, has a shard.
const SHARDED_SINCE: u32 = 36;

/// Two shards of the resource, by the hash of the uid.
fn halves(maps: &Maps<ConfigMap>) -> [ListWatch<ConfigMap>; 2] {
    ["'0x0000000000000000', '0x8000000000000000'", "'0x8000000000000000', '0x10000000000000000'"].map(
        |range| {
            let shard: ShardSelector = format!("shardRange(object.metadata.uid, {range})").parse().unwrap();
            let of_watch = shard.clone();
            let source =
                maps.source().modify_list(move |options| options.shard_selector = Some(shard.clone()));
            source.modify_watch(move |options| options.shard_selector = Some(of_watch.clone()))
        },
    )
}

async fn shards_are_disjoint_and_complete(server: &Server) {
    let maps = Maps::<ConfigMap>::new(server).await;
    for number in 0..40 {
        maps.create(&format!("m{number:02}")).await;
    }
    let mut all = BTreeSet::new();
    for half in halves(&maps) {
        let (names, _) = page(&half, &ListOptions::default()).await.unwrap();
        if server.is_older_than(SHARDED_SINCE) {
            assert_eq!(names.len(), 40, "a server without shards ignores the selector");
            continue;
        }
        assert!((5..=35).contains(&names.len()), "{} of 40 are in one half", names.len());
        for name in names {
            assert!(all.insert(name.clone()), "{name} is in both halves");
        }
    }
    assert_eq!(all.len(), if server.is_older_than(SHARDED_SINCE) { 0 } else { 40 });
}

async fn caches_of_shards_contain_their_objects(server: &Server) {
    let maps = Maps::<ConfigMap>::new(server).await;
    for config in strategies() {
        // As an informer, which also checks each object, then with the selector of the server only.
        let part = |index| {
            CheckedInformer::of(Informer::from_source(maps.source()).config(config.clone()).shard(index, 2))
        };
        let mut informers = vec![[part(0), part(1)]];
        if !server.is_older_than(SHARDED_SINCE) {
            informers.push(halves(&maps).map(|half| CheckedInformer::start(half, config.clone())));
        }
        for number in 0..20 {
            maps.create(&format!("m{number:02}")).await;
        }
        for number in 0..20 {
            let name = format!("m{number:02}");
            if number % 3 == 0 { maps.delete(&name).await } else { drop(maps.change(&name, "1").await) }
        }
        let listed = versions(&maps.api.list(&ListParams::default()).await.unwrap().items);
        eventually("the union of both caches", async || {
            for pair in &informers {
                let mut union = std::collections::BTreeMap::new();
                for informer in pair {
                    for (key, version) in versions(informer.store.list().iter().map(|map| &**map)) {
                        assert_eq!(union.insert(key.clone(), version), None, "{key} is in both");
                    }
                }
                if union != listed {
                    return Err(format!("{union:?}"));
                }
            }
            Ok(())
        })
        .await;
        for informer in informers.into_iter().flatten() {
            assert_eq!(informer.lists(), 1, "{:#?}", informer.reports());
            informer.stop().await;
        }
        for name in listed.keys().map(|key| key.rsplit('/').next().unwrap()) {
            maps.delete(name).await;
        }
    }
}
