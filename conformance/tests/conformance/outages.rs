//! Servers that are killed and restarted, and servers without access to etcd.

use crate::maps::Maps;
use k8s_openapi::api::core::v1::ConfigMap;
use kube::api::ListParams;
use kube_conformance::{CheckedInformer, Server, claims, eventually, in_time, strategies};
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
    let informers = strategies().map(|config| CheckedInformer::start(maps.source(), config));
    for informer in &informers {
        informer.settled(&maps.api, &ListParams::default()).await;
    }
    for turn in 0..2 {
        maps.change("before", &format!("{turn}")).await;
        server.restart().await;
        maps.create(&format!("after-{turn}")).await;
        for informer in &informers {
            informer.settled(&maps.api, &ListParams::default()).await;
            // A started server has no history, so each start may lead to one list.
            let replaces = informer.counts().replaces;
            assert!(
                replaces <= (turn + 2).max(informer.allowed_lists()),
                "{replaces}: {:#?}",
                informer.reports()
            );
        }
    }
    for informer in informers {
        informer.stop().await;
    }
}

async fn a_cache_recovers_from_a_pause_of_etcd(server: &Server) {
    let maps = Maps::<ConfigMap>::new(server).await;
    maps.create("before").await;
    let informers = strategies().map(|config| CheckedInformer::start(maps.source(), config));
    for informer in &informers {
        informer.settled(&maps.api, &ListParams::default()).await;
    }
    let paused = server.pause().await;
    let api = maps.api.clone();
    let mut map = ConfigMap::default();
    map.metadata.name = Some("during".into());
    let write = tokio::spawn(async move { api.create(&Default::default(), &map).await });
    let late = CheckedInformer::start(maps.source(), strategies()[1].clone());
    for informer in &informers {
        assert_eq!(informer.store.len(), 1, "a cache answers whatever the server does");
    }
    tokio::task::yield_now().await;
    assert!(!write.is_finished(), "nothing is written meanwhile");
    drop(paused);
    in_time("the write", write).await.unwrap().unwrap();
    late.settled(&maps.api, &ListParams::default()).await;
    late.stop().await;
    for informer in informers {
        informer.settled(&maps.api, &ListParams::default()).await;
        assert_eq!(informer.lists(), 1, "{:#?}", informer.reports());
        informer.stop().await;
    }
}

async fn a_cache_recovers_from_a_restart_of_etcd(server: &Server) {
    let maps = Maps::<ConfigMap>::new(server).await;
    maps.create("before").await;
    let informers = strategies().map(|config| CheckedInformer::start(maps.source(), config));
    for informer in &informers {
        informer.synced().await;
    }
    maps.change("before", "1").await;
    for informer in &informers {
        informer.settled(&maps.api, &ListParams::default()).await;
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
    for informer in informers {
        informer.settled(&maps.api, &ListParams::default()).await;
        let replaces = informer.counts().replaces;
        assert!(replaces <= informer.allowed_lists(), "{replaces}: {:#?}", informer.reports());
        informer.stop().await;
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
