//! Servers that are killed and restarted, and servers without access to etcd.

use crate::maps::Maps;
use k8s_openapi::api::core::v1::ConfigMap;
use kube::api::ListParams;
use kube_conformance::{Follower, Server, claims, eventually, in_time, strategies};
use kube_informer::{
    source::{Error, ListerWatcher},
    wire::{WatchEvent, WatchOptions},
};

claims! {
    shared: [],
    alone: [
        a_watch_continues_after_a_restart_of_the_server,
        a_cache_recovers_from_a_pause_of_etcd,
        a_cache_recovers_from_a_restart_of_etcd,
        a_watch_from_before_a_restart_is_complete_or_expired,
    ],
}

async fn a_watch_continues_after_a_restart_of_the_server(server: &Server) {
    let maps = Maps::<ConfigMap>::new(server).await;
    maps.create("before").await;
    let followers = strategies().map(|config| Follower::start(maps.source(), config));
    for follower in &followers {
        follower.settled(&maps.api, &ListParams::default()).await;
    }
    for turn in 0..2 {
        maps.change("before", &format!("{turn}")).await;
        server.restart().await;
        maps.create(&format!("after-{turn}")).await;
        for follower in &followers {
            follower.settled(&maps.api, &ListParams::default()).await;
            // A started server has no history, so each start may lead to one list.
            let replaces = follower.counts().replaces;
            assert!(replaces <= (turn + 2).max(follower.allowed()), "{replaces}: {:#?}", follower.reports());
        }
    }
    for follower in followers {
        follower.stop().await;
    }
}

async fn a_cache_recovers_from_a_pause_of_etcd(server: &Server) {
    let maps = Maps::<ConfigMap>::new(server).await;
    maps.create("before").await;
    let followers = strategies().map(|config| Follower::start(maps.source(), config));
    for follower in &followers {
        follower.settled(&maps.api, &ListParams::default()).await;
    }
    let paused = server.pause().await;
    let api = maps.api.clone();
    let mut map = ConfigMap::default();
    map.metadata.name = Some("during".into());
    let write = tokio::spawn(async move { api.create(&Default::default(), &map).await });
    let late = Follower::start(maps.source(), strategies()[1].clone());
    for follower in &followers {
        assert_eq!(follower.store.len(), 1, "a cache answers whatever the server does");
    }
    tokio::task::yield_now().await;
    assert!(!write.is_finished(), "nothing is written meanwhile");
    drop(paused);
    in_time("the write", write).await.unwrap().unwrap();
    late.settled(&maps.api, &ListParams::default()).await;
    late.stop().await;
    for follower in followers {
        follower.settled(&maps.api, &ListParams::default()).await;
        assert_eq!(follower.asked(), 1, "{:#?}", follower.reports());
        follower.stop().await;
    }
}

async fn a_cache_recovers_from_a_restart_of_etcd(server: &Server) {
    let maps = Maps::<ConfigMap>::new(server).await;
    maps.create("before").await;
    let followers = strategies().map(|config| Follower::start(maps.source(), config));
    for follower in &followers {
        follower.synced().await;
    }
    maps.change("before", "1").await;
    for follower in &followers {
        follower.settled(&maps.api, &ListParams::default()).await;
    }
    server.restart_data().await;
    let mut map = ConfigMap::default();
    map.metadata.name = Some("after".into());
    // A server needs a moment to reconnect to etcd.
    eventually("a write", async || match maps.api.create(&Default::default(), &map).await {
        Ok(_) => Ok(()),
        // A failed request may have been executed.
        Err(kube::Error::Api(status)) if status.reason == "AlreadyExists" => Ok(()),
        Err(error) => Err(error.to_string()),
    })
    .await;
    for follower in followers {
        follower.settled(&maps.api, &ListParams::default()).await;
        let replaces = follower.counts().replaces;
        assert!(replaces <= follower.allowed(), "{replaces}: {:#?}", follower.reports());
        follower.stop().await;
    }
}

async fn a_watch_from_before_a_restart_is_complete_or_expired(server: &Server) {
    let maps = Maps::<ConfigMap>::new(server).await;
    let old = maps.create("a").await;
    maps.create("b").await;
    maps.create("c").await;
    server.restart().await;
    let mut watch = maps.source().watch(&WatchOptions::after(old)).await.unwrap();
    let first = in_time("the watch", watch.next()).await.unwrap().unwrap();
    match first {
        // The history of a watch cache starts when it is filled.
        WatchEvent::Error(status) => assert!(server.is_real() && Error::status(*status).is_expired()),
        WatchEvent::Added(map) => {
            assert!(!server.is_real());
            let map = map.into_object().unwrap();
            assert_eq!(map.metadata.name.as_deref(), Some("b"));
        }
        other => panic!("{other:?}"),
    }
}
