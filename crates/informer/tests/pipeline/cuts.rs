//! Watches that are cut, throttled, stalled and expired.

use crate::world::{World, strategies};
use kube_devserver::{DevServer, Fault, Verb, Versions};
use std::time::Duration;

#[tokio::test(start_paused = true)]
async fn a_watch_that_is_cut_goes_on_without_a_list() {
    for config in strategies() {
        for cut in [Fault::cut_after_events(2), Fault::cut_after_events(2).abruptly()] {
            let world = World::new(config.clone());
            world.settled().await;
            let fault = world.server.faults().inject(cut.clone().on(Verb::Watch).of("configmaps").times(5));
            world.server.cut_watches();
            for number in 0..12 {
                world.create(&format!("m{number}")).await;
            }
            world.settled().await;
            assert!(fault.hits() >= 3, "{}", fault.hits());
            assert_eq!(world.asked().0 + world.asked().1, 1, "no list where a watch will do");
            world.stop().await;
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_server_that_restarts_with_its_data_needs_no_list() {
    let world = World::new(kube_informer::reflector::Config::default());
    world.create("a").await;
    world.settled().await;
    world.server.restart(Versions::Kept);
    world.change("a", "1").await;
    world.settled().await;
    assert_eq!(world.asked(), (0, 1));
    world.stop().await;
}

#[tokio::test(start_paused = true)]
async fn forgotten_history_relists_and_tells_of_deletions_that_were_missed() {
    for config in strategies() {
        let world = World::new(config);
        for name in ["a", "b"] {
            world.create(name).await;
        }
        world.settled().await;
        // No watch can be opened, so what happens now is not seen.
        let fault =
            world.server.faults().inject(Fault::answer(429).on(Verb::Watch).of("configmaps").times(2));
        world.server.cut_watches();
        fault.hit(1).await;
        world.delete("a").await;
        world.change("b", "1").await;
        world.server.compact();
        world.settled().await;
        assert_eq!(world.unseen_deletions(), ["default/a"]);
        assert!(world.reports().iter().any(|report| report.contains("410")), "{:?}", world.reports());
        world.stop().await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_throttled_watch_waits_and_does_not_list() {
    for config in strategies() {
        let world = World::new(config);
        world.settled().await;
        let fault =
            world.server.faults().inject(Fault::answer(429).on(Verb::Watch).of("configmaps").times(4));
        world.server.cut_watches();
        fault.hit(4).await;
        world.create("a").await;
        world.settled().await;
        assert_eq!(world.asked().0 + world.asked().1, 1);
        assert_eq!(world.reports().len(), 4);
        world.stop().await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_connection_that_is_refused_for_a_while_is_waited_for() {
    let world = World::new(kube_informer::reflector::Config::default());
    world.create("a").await;
    world.settled().await;
    let server_gone = world.server.faults().inject(Fault::refuse_connections(Duration::from_secs(20)));
    world.server.cut_watches();
    server_gone.hit(1).await;
    tokio::time::advance(Duration::from_secs(21)).await;
    world.create("b").await;
    world.settled().await;
    assert_eq!(world.asked(), (0, 1), "no list: {:?}", world.reports());
    world.stop().await;
}

/// A connection that is dead without anyone saying so.
#[tokio::test(start_paused = true)]
async fn a_watch_that_stalls_is_noticed() {
    let server = DevServer::start();
    let world = World::on(server, crate::world::listing());
    world.settled().await;
    let stall = world
        .server
        .faults()
        .inject(Fault::stall_until_withdrawn().on(Verb::Watch).of("configmaps").times(1));
    world.server.cut_watches();
    stall.hit(1).await;
    world.create("a").await;
    let began = tokio::time::Instant::now();
    world.settled().await;
    assert!(began.elapsed() <= Duration::from_secs(631), "{:?}", began.elapsed());
    assert_eq!(world.asked(), (1, 0));
    world.stop().await;
}

#[tokio::test(start_paused = true)]
async fn bookmarks_that_do_not_come_are_done_without() {
    for fault in [Fault::drop_bookmarks(), Fault::delay_bookmarks(Duration::from_secs(30))] {
        let server = DevServer::start();
        server.faults().inject(fault);
        let world = World::on(server, crate::world::listing());
        world.create("a").await;
        world.settled().await;
        tokio::time::advance(Duration::from_secs(3600)).await;
        world.change("a", "1").await;
        world.settled().await;
        assert_eq!(world.asked(), (1, 0));
        world.stop().await;
    }
}
