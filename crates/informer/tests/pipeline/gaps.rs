//! A saved cache that is not all there was: the next process does not take it for that.

use crate::{
    cluster::Cluster,
    restarts::{Folder, abc, maps},
};
use k8s_openapi::api::core::v1::ConfigMap;
use kube_informer::{Informer, Storage, informer::Save, reflector::Strategy};

/// A cache that cannot read `b` while that says `refused`, or at all.
fn reading(cluster: &Cluster, folder: &Folder, (keep, reads_all): (Storage, bool)) -> Informer<ConfigMap> {
    let refuses = move |map: ConfigMap| {
        let says = map.data.as_ref().and_then(|data| data.get("value")).map(String::as_str);
        if !reads_all && says == Some("refused") { Err("refused".into()) } else { Ok(map) }
    };
    let save = Save::from(folder).transform("refuses");
    maps(cluster).storage(keep).strategy(Strategy::List).transform(refuses).save_to(save).start().unwrap()
}

fn names(maps: &Informer<ConfigMap>) -> Vec<String> {
    let mut names: Vec<_> = maps.store().keys().iter().map(|key| key.name().to_owned()).collect();
    names.sort();
    names
}

/// Whether `b` is as the server has it.
async fn check_b(cluster: &Cluster, maps: &Informer<ConfigMap>) {
    let version = maps.list().iter().find_map(|map| {
        let is_b = map.metadata.name.as_deref() == Some("b");
        is_b.then(|| map.metadata.resource_version.clone().unwrap())
    });
    assert_eq!(version.as_ref(), cluster.versions().await.get("default/b"));
}

#[tokio::test(start_paused = true)]
async fn what_a_list_left_out_is_asked_for_by_the_next_process() {
    for keep in [Storage::Decoded, Storage::Compressed] {
        let (cluster, folder) = (abc().await, Folder::new());
        cluster.change("b", "refused").await;
        for _ in 0..2 {
            let blind = reading(&cluster, &folder, (keep, false));
            assert!(blind.synced().await.unwrap_err().is_skipped(), "in each life");
            assert_eq!(names(&blind), ["a", "c"]);
            blind.stop();
            blind.stopped().await;
        }
        let seeing = reading(&cluster, &folder, (keep, true));
        seeing.synced().await.unwrap();
        assert_eq!(names(&seeing), ["a", "b", "c"]);
        check_b(&cluster, &seeing).await;
        seeing.stop();
        seeing.stopped().await;
        // From here on a watch suffices.
        let again = reading(&cluster, &folder, (keep, true));
        again.synced().await.unwrap();
        assert_eq!([&seeing, &again].map(|maps| maps.status().counts.lists), [1, 0]);
    }
}

#[tokio::test(start_paused = true)]
async fn what_a_watch_left_out_is_asked_for_by_the_next_process() {
    for (keep, is_heard_of) in
        [(Storage::Decoded, false), (Storage::Compressed, false), (Storage::Decoded, true)]
    {
        let (cluster, folder) = (abc().await, Folder::new());
        let blind = reading(&cluster, &folder, (keep, false));
        blind.synced().await.unwrap();
        cluster.change("b", "refused").await;
        if is_heard_of {
            cluster.change("b", "fine").await;
        }
        let last = cluster.change("a", "later").await;
        blind.wait_for(&last.metadata.resource_version.unwrap().parse().unwrap()).await.unwrap();
        blind.stop();
        blind.stopped().await;
        let seeing = reading(&cluster, &folder, (keep, true));
        seeing.synced().await.unwrap();
        check_b(&cluster, &seeing).await;
        assert_eq!(seeing.status().counts.lists, u64::from(!is_heard_of), "{keep:?}");
    }
}
