//! Connections that are cut, stalled, split and delayed, from a seed.

use crate::maps::Maps;
use k8s_openapi::api::core::v1::ConfigMap;
use kube::api::ListParams;
use kube_conformance::{Disturbance, Follower, Random, Server, claims, strategies};

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
        let follower = Follower::start(maps.source_through(server.client_through(&proxy)), config);
        follower.synced().await;
        for turn in 0..5 {
            maps.create(&format!("a{turn}")).await;
            follower.settled(&maps.api, &ListParams::default()).await;
            proxy.cut();
            maps.create(&format!("b{turn}")).await;
            maps.delete(&format!("a{turn}")).await;
            follower.settled(&maps.api, &ListParams::default()).await;
            maps.delete(&format!("b{turn}")).await;
        }
        follower.settled(&maps.api, &ListParams::default()).await;
        assert_eq!(follower.asked(), 1, "a cut costs no list: {:#?}", follower.reports());
        assert!(proxy.connections() >= 6);
        follower.stop().await;
    }
}

async fn a_stalled_connection_loses_nothing(server: &Server) {
    let maps = Maps::<ConfigMap>::new(server).await;
    for config in strategies() {
        let proxy = server.proxy(2).await;
        let follower = Follower::start(maps.source_through(server.client_through(&proxy)), config);
        follower.synced().await;
        proxy.stall();
        for number in 0..50 {
            maps.create(&format!("m{number}")).await;
        }
        proxy.resume();
        follower.settled(&maps.api, &ListParams::default()).await;
        assert_eq!(follower.asked(), 1, "{:#?}", follower.reports());
        for number in 0..50 {
            maps.delete(&format!("m{number}")).await;
        }
        follower.settled(&maps.api, &ListParams::default()).await;
        follower.stop().await;
    }
}

async fn after_many_writes_the_cache_equals_the_server(server: &Server) {
    let maps = Maps::<ConfigMap>::new(server).await;
    for (seed, config) in (1..).zip(strategies().into_iter().cycle().take(4)) {
        let (proxy, mut random) = (server.proxy(seed).await, Random::new(seed));
        proxy.disturb(if seed % 2 == 0 { Disturbance::RandomDelays } else { Disturbance::RandomFailures });
        let follower = Follower::start(maps.source_through(server.client_through(&proxy)), config);
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
        follower.settled(&maps.api, &ListParams::default()).await;
        let replaces = follower.counts().replaces;
        assert!(replaces <= follower.allowed(), "{replaces} lists: {:#?}", follower.reports());
        follower.stop().await;
        for name in (0..10).filter(|number| alive[*number]).map(|number| format!("m{number}")) {
            maps.delete(&name).await;
        }
    }
}
