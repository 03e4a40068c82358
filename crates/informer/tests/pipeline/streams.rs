//! Servers and proxies that do not stream the initial state as they should.

use crate::world::World;
use kube_devserver::{DevServer, Fault, Verb};
use kube_informer::reflector::{Config, Consistency};
use std::time::Duration;

async fn world_with(fault: Fault) -> World {
    let server = DevServer::start();
    server.faults().inject(fault);
    let world = World::on(server, Config::default());
    world.create("a").await;
    world.settled().await;
    world
}

#[tokio::test(start_paused = true)]
async fn a_server_that_does_not_stream_is_listed() {
    let world = world_with(Fault::refuse_streaming_lists()).await;
    assert_eq!(world.asked(), (1, 1));
    world.stop().await;
}

/// k9s, GKE Autopilot, Teleport: the bookmark that ends the initial state is dropped on the way.
#[tokio::test(start_paused = true)]
async fn a_proxy_that_drops_the_end_bookmark_is_got_around() {
    let began = tokio::time::Instant::now();
    let world = world_with(Fault::drop_initial_events_end()).await;
    assert_eq!(world.asked(), (1, 3), "three streams, then a list");
    assert!(began.elapsed() < Duration::from_secs(240), "{:?}", began.elapsed());
    world.stop().await;
}

#[tokio::test(start_paused = true)]
async fn an_end_bookmark_that_is_late_is_waited_for() {
    let world = world_with(Fault::delay_initial_events_end(Duration::from_secs(50))).await;
    assert_eq!(world.asked(), (0, 1));
    world.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_stream_that_is_cut_before_its_end_begins_anew() {
    let server = DevServer::start();
    let seed = World::on(server, crate::world::listing());
    for number in 0..10 {
        seed.create(&format!("m{number}")).await;
    }
    seed.settled().await;
    let cut =
        seed.server.faults().inject(Fault::cut_after_events(3).on(Verb::Watch).of("configmaps").times(2));
    let source = kube_informer::source::ListWatch::<k8s_openapi::api::core::v1::ConfigMap>::namespaced(
        seed.server.client(),
        "default",
    );
    let (store, writer) = kube_informer::cache::Store::builder().build().unwrap();
    let reflector = kube_informer::reflector::Reflector::new(source, writer);
    let mut status = reflector.status();
    let cancel = tokio_util::sync::CancellationToken::new();
    let task = tokio::spawn(reflector.run(cancel.clone()));
    status.wait_for(|status| status.counts.replaces >= 1).await.unwrap();
    assert_eq!((cut.hits(), status.borrow().counts.streams), (2, 3));
    assert_eq!(store.len(), seed.store.len());
    cancel.cancel();
    task.await.unwrap();
    seed.stop().await;
}

// R54
#[tokio::test(start_paused = true)]
async fn what_is_streamed_is_what_a_list_finds() {
    let mut config = Config::default();
    config.consistency = Consistency::Checked;
    let server = DevServer::start();
    let refused = server.faults().inject(Fault::answer(503).on(Verb::List).of("configmaps").times(1));
    let world = World::on(server, config);
    refused.hit(1).await;
    for number in 0..20 {
        world.create(&format!("m{number}")).await;
    }
    world.server.cut_watches();
    world.server.compact();
    world.settled().await;
    let reports = world.reports();
    assert!(reports.iter().any(|report| report.starts_with("Check: server answered 503")), "{reports:?}");
    assert!(!reports.iter().any(|report| report.contains("not what a list finds")), "{reports:?}");
    world.stop().await;
}
