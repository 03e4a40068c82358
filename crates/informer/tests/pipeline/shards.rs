//! A resource shared by several replicas: all of it, and nothing twice, whether the server helps or not.

use crate::cluster::{Cluster, Versions, versions};
use k8s_openapi::api::core::v1::ConfigMap;
use kube_devserver::Versions as Restart;
use kube_informer::{
    Informer, informer::InformerBuilder, reflector::Strategy, source::ListWatch, wire::ResourceVersion,
};

/// One that asks for a part, of a server that sends it alone or of one that does not know how.
fn begin(cluster: &Cluster, is_known: bool) -> InformerBuilder<ConfigMap> {
    let source = ListWatch::<ConfigMap>::all(cluster.server.client());
    Informer::from_source(match is_known {
        true => source,
        false => source
            .modify_list(|options| options.shard_selector = None)
            .modify_watch(|options| options.shard_selector = None),
    })
}

/// Waits until all parts have come as far, and puts them together.
async fn union(parts: &[Informer<ConfigMap>], version: &ResourceVersion) -> Versions {
    let mut all = Versions::new();
    for part in parts {
        part.wait_for(version).await.unwrap();
        let part = versions(part.list().iter().map(|map| &**map));
        let total = all.len() + part.len();
        all.extend(part);
        assert_eq!(all.len(), total, "nothing is in two parts");
    }
    all
}

#[tokio::test(start_paused = true)]
async fn the_parts_are_the_whole_and_do_not_overlap() {
    for (is_known, strategy) in
        [(true, Strategy::Stream), (true, Strategy::List), (false, Strategy::Stream), (false, Strategy::List)]
    {
        let cluster = Cluster::new();
        for number in 0..60 {
            cluster.create(&format!("m{number}")).await;
        }
        for of in [1, 3, 4] {
            let part = |index| begin(&cluster, is_known).strategy(strategy).shard(index, of).start().unwrap();
            let parts: Vec<_> = (0..of).map(part).collect();
            for part in &parts {
                part.synced().await.unwrap();
                assert!(!part.is_empty(), "a fair share");
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
            let whole = cluster.versions().await;
            // The version that a part claims says that everything up to it was looked at, its own or not.
            assert_eq!(union(&parts, &last.parse().unwrap()).await, whole);
            let bytes = parts.iter().map(|part| part.status().counts.events).sum::<u64>();
            assert!(bytes >= 1, "something was watched");
        }
    }
}
