//! Objects that were skipped are missing in the saved cache, and are requested by the next process.

use crate::{
    cluster::Cluster,
    restart::{Folder, abc, maps},
};
use k8s_openapi::api::core::v1::ConfigMap;
use kube_informer::{Informer, Storage, informer::Save, reflector::Strategy};

/// Starts an informer whose transform fails for the value `refused`, unless `reads_all`.
fn reading(cluster: &Cluster, folder: &Folder, storage: Storage, reads_all: bool) -> Informer<ConfigMap> {
    let refuses = move |map: ConfigMap| {
        let says = map.data.as_ref().and_then(|data| data.get("value")).map(String::as_str);
        if !reads_all && says == Some("refused") { Err("refused".into()) } else { Ok(map) }
    };
    let save = Save::from(folder).transform("refuses");
    maps(cluster).storage(storage).strategy(Strategy::List).transform(refuses).save_to(save).start().unwrap()
}

fn names(maps: &Informer<ConfigMap>) -> Vec<String> {
    let mut names: Vec<_> = maps.store().keys().iter().map(|key| key.name().to_owned()).collect();
    names.sort();
    names
}

/// Checks that the cache has the newest version of `b`.
async fn check_b(cluster: &Cluster, maps: &Informer<ConfigMap>) {
    let version = maps.list().iter().find_map(|map| {
        let is_b = map.metadata.name.as_deref() == Some("b");
        is_b.then(|| map.metadata.resource_version.clone().unwrap())
    });
    assert_eq!(version.as_ref(), cluster.versions().await.get("default/b"));
}

#[tokio::test(start_paused = true)]
async fn objects_skipped_by_a_list_are_requested_by_the_next_process() {
    for storage in [Storage::Decoded, Storage::Compressed] {
        let (cluster, folder) = (abc().await, Folder::new());
        cluster.change("b", "refused").await;
        for _ in 0..2 {
            let failing = reading(&cluster, &folder, storage, false);
            assert!(failing.synced().await.unwrap_err().is_skipped(), "in each process");
            assert_eq!(names(&failing), ["a", "c"]);
            failing.stop();
            failing.stopped().await;
        }
        let complete = reading(&cluster, &folder, storage, true);
        complete.synced().await.unwrap();
        assert_eq!(names(&complete), ["a", "b", "c"]);
        check_b(&cluster, &complete).await;
        complete.stop();
        complete.stopped().await;
        // Afterwards no list is needed.
        let again = reading(&cluster, &folder, storage, true);
        again.synced().await.unwrap();
        assert_eq!([&complete, &again].map(|maps| maps.status().counts.lists), [1, 0]);
    }
}

#[tokio::test(start_paused = true)]
async fn objects_skipped_by_a_watch_are_requested_by_the_next_process() {
    for (storage, is_fixed) in
        [(Storage::Decoded, false), (Storage::Compressed, false), (Storage::Decoded, true)]
    {
        let (cluster, folder) = (abc().await, Folder::new());
        let failing = reading(&cluster, &folder, storage, false);
        failing.synced().await.unwrap();
        cluster.change("b", "refused").await;
        if is_fixed {
            cluster.change("b", "fine").await;
        }
        let last = cluster.change("a", "later").await;
        failing.wait_for(&last.metadata.resource_version.unwrap().parse().unwrap()).await.unwrap();
        failing.stop();
        failing.stopped().await;
        let complete = reading(&cluster, &folder, storage, true);
        complete.synced().await.unwrap();
        check_b(&cluster, &complete).await;
        assert_eq!(complete.status().counts.lists, u64::from(!is_fixed), "{storage:?}");
    }
}
