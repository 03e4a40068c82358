//! Lists that fail, expire and come in pieces.

use crate::world::{World, listing, strategies};
use kube_devserver::{DevServer, Fault, Verb};
use std::{num::NonZeroU64, time::Duration};

#[tokio::test(start_paused = true)]
async fn follows_what_happens() {
    for config in strategies() {
        let world = World::new(config);
        for name in ["a", "b", "c"] {
            world.create(name).await;
        }
        world.settled().await;
        world.change("a", "1").await;
        world.delete("b").await;
        world.create("d").await;
        world.settled().await;
        assert_eq!(world.asked().0 + world.asked().1, 1, "one initial state");
        assert!(world.unseen_deletions().is_empty() && world.reports().is_empty());
        world.stop().await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_list_that_fails_is_tried_again_until_it_works() {
    for code in [401, 403, 404, 429, 500, 503, 504] {
        let server = DevServer::start();
        let fault = server.faults().inject(Fault::answer(code).on(Verb::List).of("configmaps").times(3));
        let world = World::on(server, listing());
        fault.hit(3).await;
        world.create("a").await;
        // What holds lists against the cache is a list too.
        world.settled().await;
        assert_eq!(world.reports().len(), 3, "{code}: {:?}", world.reports());
        assert!(
            world.reports()[0].starts_with(&format!("List: server answered {code}")),
            "{:?}",
            world.reports()
        );
        world.stop().await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_list_waits_as_long_as_the_server_asks() {
    let server = DevServer::start();
    let busy = Fault::answer(429).retry_after(Duration::from_secs(120)).on(Verb::List).times(1);
    let fault = server.faults().inject(busy);
    let began = tokio::time::Instant::now();
    let mut world = World::on(server, listing());
    fault.hit(1).await;
    world.status.wait_for(|status| status.counts.replaces >= 1).await.unwrap();
    assert!((120..122).contains(&began.elapsed().as_secs()), "{:?}", began.elapsed());
    world.stop().await;
}

/// 25,000 pods that always expired on slow paging: the whole list in one answer ends it.
#[tokio::test(start_paused = true)]
async fn pages_that_expire_lead_to_the_whole_list() {
    let server = DevServer::start();
    let seed = World::on(server, listing());
    for number in 0..25 {
        seed.create(&format!("m{number}")).await;
    }
    // A list at any version comes in one answer; one at the newest comes in pages.
    seed.server.faults().inject(Fault::answer(410).on(Verb::List).of("configmaps").times(1));
    let fault = seed.server.faults().inject(Fault::expire_continue());
    let mut config = listing();
    config.page_size = NonZeroU64::new(10);
    let source = kube_informer::source::ListWatch::<k8s_openapi::api::core::v1::ConfigMap>::namespaced(
        seed.server.client(),
        "default",
    );
    let (store, writer) = kube_informer::cache::Store::builder().build().unwrap();
    let reflector = kube_informer::reflector::Reflector::with_config(source, writer, config);
    let mut status = reflector.status();
    let cancel = tokio_util::sync::CancellationToken::new();
    let task = tokio::spawn(reflector.run(cancel.clone()));
    status.wait_for(|status| status.counts.replaces >= 1).await.unwrap();
    fault.hit(1).await;
    // The root certificate of the namespace may be there too.
    assert!(store.len() >= 25, "{}", store.len());
    cancel.cancel();
    task.await.unwrap();
    seed.stop().await;
}

#[tokio::test(start_paused = true)]
async fn bodies_in_pieces_of_any_size_are_read() {
    for size in [1, 7, 1000] {
        for config in strategies() {
            let server = DevServer::start();
            server.faults().inject(Fault::pieces(size));
            let world = World::on(server, config);
            for name in ["a", "b"] {
                world.create(name).await;
            }
            world.settled().await;
            world.change("a", "\"}]{\\").await;
            world.settled().await;
            assert!(world.reports().is_empty(), "{:?}", world.reports());
            world.stop().await;
        }
    }
}

/// A list on which nothing comes is given up, and tried again.
#[tokio::test(start_paused = true)]
async fn a_list_that_stalls_is_noticed() {
    let server = DevServer::start();
    let stall =
        server.faults().inject(Fault::stall_until_withdrawn().on(Verb::List).of("configmaps").times(1));
    let began = tokio::time::Instant::now();
    let mut world = World::on(server, listing());
    stall.hit(1).await;
    world.status.wait_for(|status| status.counts.replaces >= 1).await.unwrap();
    assert!((90..93).contains(&began.elapsed().as_secs()), "{:?}", began.elapsed());
    world.stop().await;
}
