//! Connections that are cut, stalled, split and delayed, from a seed.

use crate::maps::Maps;
use k8s_openapi::api::core::v1::ConfigMap;
use kube::api::ListParams;
use kube_conformance::{CheckedInformer, Disturbance, Random, Server, claims, strategies};

claims! {
    shared: [
        watches_continue_after_their_connections_are_cut,
        a_stalled_connection_loses_nothing,
        after_many_writes_the_cache_equals_the_server,
    ],
    alone: [],
}

async fn watches_continue_after_their_connections_are_cut(server: &Server) {
    let maps = Maps::<ConfigMap>::new(server).await;
    for config in strategies() {
        let proxy = server.proxy(1).await;
        let informer = CheckedInformer::start(maps.source_through(server.client_through(&proxy)), config);
        informer.synced().await;
        for turn in 0..5 {
            maps.create(&format!("a{turn}")).await;
            informer.settled(&maps.api, &ListParams::default()).await;
            proxy.cut();
            maps.create(&format!("b{turn}")).await;
            maps.delete(&format!("a{turn}")).await;
            informer.settled(&maps.api, &ListParams::default()).await;
            maps.delete(&format!("b{turn}")).await;
        }
        informer.settled(&maps.api, &ListParams::default()).await;
        assert_eq!(informer.lists(), 1, "a cut costs no list: {:#?}", informer.reports());
        assert!(proxy.connections() >= 6);
        informer.stop().await;
    }
}

async fn a_stalled_connection_loses_nothing(server: &Server) {
    let maps = Maps::<ConfigMap>::new(server).await;
    for config in strategies() {
        let proxy = server.proxy(2).await;
        let informer = CheckedInformer::start(maps.source_through(server.client_through(&proxy)), config);
        informer.synced().await;
        proxy.stall();
        for number in 0..50 {
            maps.create(&format!("m{number}")).await;
        }
        proxy.resume();
        informer.settled(&maps.api, &ListParams::default()).await;
        assert_eq!(informer.lists(), 1, "{:#?}", informer.reports());
        for number in 0..50 {
            maps.delete(&format!("m{number}")).await;
        }
        informer.settled(&maps.api, &ListParams::default()).await;
        informer.stop().await;
    }
}

async fn after_many_writes_the_cache_equals_the_server(server: &Server) {
    let maps = Maps::<ConfigMap>::new(server).await;
    for (seed, config) in (1..).zip(strategies().into_iter().cycle().take(4)) {
        let (proxy, mut random) = (server.proxy(seed).await, Random::new(seed));
        proxy.disturb(if seed % 2 == 0 { Disturbance::RandomDelays } else { Disturbance::RandomFailures });
        let informer = CheckedInformer::start(maps.source_through(server.client_through(&proxy)), config);
        let mut alive = [false; 10];
        for turn in 0..300 {
            let number = random.below(10) as usize;
            let name = format!("m{number}");
            match (alive[number], random.below(4)) {
                (false, _) => drop(maps.create(&name).await),
                (true, 0) => maps.delete(&name).await,
                (true, _) => drop(maps.change(&name, &format!("{seed}-{turn}")).await),
            }
            alive[number] = !alive[number] || maps.api.get_opt(&name).await.unwrap().is_some();
        }
        proxy.disturb(Disturbance::None);
        informer.settled(&maps.api, &ListParams::default()).await;
        let replaces = informer.counts().replaces;
        assert!(replaces <= informer.allowed_lists(), "{replaces} lists: {:#?}", informer.reports());
        informer.stop().await;
        for name in (0..10).filter(|number| alive[*number]).map(|number| format!("m{number}")) {
            maps.delete(&name).await;
        }
    }
}
