//! A consumer that receives the full state after each change, as with client-go's `UndeltaStore`.

use crate::restart::{abc, maps};
use k8s_openapi::api::core::v1::ConfigMap;
use kube_informer::{Informer, Subscription};

/// Receives one event, and returns the names and values of all objects at that moment.
async fn push(maps: &Informer<ConfigMap>, events: &mut Subscription<ConfigMap>) -> Vec<String> {
    events.next().await.unwrap();
    let describe = |map: &ConfigMap| {
        let value = map.data.as_ref().and_then(|data| data.get("value")).map_or("-", String::as_str);
        format!("{}={value}", map.metadata.name.as_ref().unwrap())
    };
    let mut state: Vec<_> = maps.snapshot().list().iter().map(|map| describe(map)).collect();
    state.sort();
    state
}

#[tokio::test(start_paused = true)]
async fn each_change_is_followed_by_the_full_state_and_reads_are_not() {
    let cluster = abc().await;
    let maps = maps(&cluster).start().unwrap();
    maps.synced().await.unwrap();
    let mut events = maps.subscribe();
    for _ in 0..3 {
        assert_eq!(push(&maps, &mut events).await, ["a=-", "b=-", "c=-"], "the initial list");
    }
    cluster.change("b", "2").await;
    assert_eq!(push(&maps, &mut events).await, ["a=-", "b=2", "c=-"], "an update");
    cluster.delete("a").await;
    assert_eq!(push(&maps, &mut events).await, ["b=2", "c=-"], "a deletion");
    cluster.create("d").await;
    assert_eq!(push(&maps, &mut events).await, ["b=2", "c=-", "d=-"], "a creation");

    let before = events.registration().depth();
    assert_eq!((maps.list().len(), maps.snapshot().keys().len()), (3, 3));
    assert!(maps.get("default/b").is_some());
    assert_eq!((before, events.registration().depth()), (0, 0), "reads");

    // A list: changes that a watch has missed.
    cluster.server.cut_watches();
    cluster.delete("c").await;
    cluster.server.compact();
    assert_eq!(push(&maps, &mut events).await, ["b=2", "d=-"]);
    maps.stop();
    maps.stopped().await;
}
