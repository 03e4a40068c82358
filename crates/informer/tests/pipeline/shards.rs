//! Shards cover all objects without overlap, with and without support by the server.

use crate::cluster::{Cluster, Versions, versions};
use k8s_openapi::api::core::v1::ConfigMap;
use kube_devserver::Versions as Restart;
use kube_informer::{
    Informer, informer::InformerBuilder, reflector::Strategy, source::ListWatch, wire::ResourceVersion,
};

/// Returns a builder for a server with or without support for shards.
fn builder(cluster: &Cluster, is_supported: bool) -> InformerBuilder<ConfigMap> {
    let source = ListWatch::<ConfigMap>::all(cluster.server.client());
    Informer::from_source(match is_supported {
        true => source,
        false => source
            .modify_list(|options| options.shard_selector = None)
            .modify_watch(|options| options.shard_selector = None),
    })
}

/// Waits until all shards have this version, and returns their union.
async fn union(shards: &[Informer<ConfigMap>], version: &ResourceVersion) -> Versions {
    let mut all = Versions::new();
    for shard in shards {
        shard.wait_for(version).await.unwrap();
        let shard = versions(shard.list().iter().map(|map| &**map));
        let total = all.len() + shard.len();
        all.extend(shard);
        assert_eq!(all.len(), total, "no object is in two shards");
    }
    all
}

#[tokio::test(start_paused = true)]
async fn shards_cover_all_objects_without_overlap() {
    for (is_supported, strategy) in
        [(true, Strategy::Stream), (true, Strategy::List), (false, Strategy::Stream), (false, Strategy::List)]
    {
        let cluster = Cluster::new();
        for number in 0..60 {
            cluster.create(&format!("m{number}")).await;
        }
        for of in [1, 3, 4] {
            let shard =
                |index| builder(&cluster, is_supported).strategy(strategy).shard(index, of).start().unwrap();
            let shards: Vec<_> = (0..of).map(shard).collect();
            for shard in &shards {
                shard.synced().await.unwrap();
                assert!(!shard.is_empty(), "no shard is empty");
            }
            for round in 0..20 {
                cluster.change(&format!("m{round}"), &format!("{of} {round}")).await;
                cluster.delete(&format!("m{}", 20 + round)).await;
                cluster.create(&format!("m{}", 20 + round)).await;
                if round == 10 {
                    cluster.server.restart(Restart::Kept);
                    cluster.server.compact();
                }
            }
            let last = cluster.change("m0", &format!("{of} last")).await.metadata.resource_version.unwrap();
            let all = cluster.versions().await;
            // The version of a shard covers the changes of all shards.
            assert_eq!(union(&shards, &last.parse().unwrap()).await, all);
            let events = shards.iter().map(|shard| shard.status().counts.events).sum::<u64>();
            assert!(events >= 1, "the watches delivered events");
        }
    }
}
