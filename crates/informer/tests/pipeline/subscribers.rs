//! Subscribers of an informer: order, initial events, resync, and slow subscribers.

use crate::cluster::{Cluster, ReceivedState, named};
use k8s_openapi::api::core::v1::ConfigMap;
use kube::api::PostParams;
use kube_devserver::{Fault, Verb};
use kube_informer::{
    Event, Informer, Storage,
    event::Phase,
    informer::{InformerBuilder, Synced},
    subscription::{Policy, SubscribeOptions, Subscription},
    wire::ManagedFields,
};
use std::{collections::BTreeMap, time::Duration};
use tokio::time::{Instant, timeout};

/// This file is compiled twice, once for each storage.
fn storage() -> Storage {
    if module_path!().ends_with("compressed") { Storage::Compressed } else { Storage::Decoded }
}

fn builder(cluster: &Cluster) -> InformerBuilder<ConfigMap> {
    Informer::builder(cluster.server.client()).storage(storage())
}

fn informer(cluster: &Cluster) -> Informer<ConfigMap> {
    builder(cluster).start().unwrap()
}

fn name(event: &Event<ConfigMap>) -> String {
    event.key().name().to_owned()
}

/// Receives events, and returns their names with a prefix for the type.
async fn next(events: &mut Subscription<ConfigMap>, count: usize) -> Vec<String> {
    let mut received = Vec::new();
    while received.len() < count {
        let event =
            timeout(Duration::from_secs(600), events.next()).await.expect("an event is delivered").unwrap();
        received.push(match &event {
            Event::Added { phase: Phase::Initial, .. } => format!("+{} initial", name(&event)),
            Event::Added { .. } => format!("+{}", name(&event)),
            Event::Updated { .. } if event.is_resync() => format!("={}", name(&event)),
            Event::Updated { .. } => format!("~{}", name(&event)),
            Event::Deleted { .. } => format!("-{}", name(&event)),
            other => panic!("{other:?}"),
        });
    }
    received
}

/// Returns whether no event is delivered within this time.
async fn is_quiet(events: &mut Subscription<ConfigMap>, time: Duration) -> bool {
    timeout(time, events.next()).await.is_err()
}

// R124, R125
#[tokio::test(start_paused = true)]
async fn subscribers_before_and_after_the_start_receive_everything_once() {
    let cluster = Cluster::new();
    cluster.create("a").await;
    let maps = builder(&cluster).build().unwrap();
    let mut early = maps.subscribe();
    maps.start();
    maps.synced().await.unwrap();
    let mut late = maps.subscribe();
    for events in [&mut early, &mut late] {
        assert_eq!(next(events, 1).await, ["+a initial"]);
        assert!(events.registration().depth() == 0);
    }
    cluster.create("b").await;
    cluster.change("a", "1").await;
    cluster.delete("b").await;
    for events in [&mut early, &mut late] {
        assert_eq!(next(events, 3).await, ["+b", "~a", "-b"]);
        assert!(is_quiet(events, Duration::from_secs(1)).await);
        assert!(events.registration().has_synced());
    }
}

/// Returns the times of resyncs, in seconds since the call.
async fn resyncs(mut events: Subscription<ConfigMap>, until: Duration) -> Vec<u64> {
    let (began, mut times) = (Instant::now(), Vec::new());
    while let Ok(Some(event)) = timeout(until.saturating_sub(began.elapsed()), events.next()).await {
        if event.is_resync() {
            times.push(began.elapsed().as_secs());
        }
    }
    times
}

// R127, R128, R129
#[tokio::test(start_paused = true)]
async fn each_subscriber_has_its_own_resync_period() {
    let cluster = Cluster::new();
    cluster.create("a").await;
    let maps = builder(&cluster).resync(Duration::from_secs(5)).start().unwrap();
    maps.synced().await.unwrap();
    let every = |time: Duration| maps.subscribe_with(SubscribeOptions::new().resync(time));
    let until = Duration::from_millis(6_500);
    let (never, second, two, three, default) = tokio::join!(
        resyncs(every(Duration::ZERO), until),
        resyncs(every(Duration::from_millis(1)), until),
        resyncs(every(Duration::from_secs(2)), until),
        resyncs(every(Duration::from_secs(3)), until),
        resyncs(maps.subscribe(), until),
    );
    assert_eq!(never, [0_u64; 0]);
    assert_eq!(second, [1, 2, 3, 4, 5, 6], "the minimum is one second");
    assert_eq!(two, [2, 4, 6]);
    assert_eq!(three, [3, 6]);
    assert_eq!(default, [5], "the default of the informer");
}

// R129
#[tokio::test(start_paused = true)]
async fn the_minimum_resync_period_is_one_second() {
    let cluster = Cluster::new();
    cluster.create("a").await;
    let maps = Informer::<ConfigMap>::builder(cluster.server.client()).resync(Duration::from_nanos(1));
    let maps = maps.start().unwrap();
    maps.synced().await.unwrap();
    assert_eq!(resyncs(maps.subscribe(), Duration::from_millis(2_500)).await, [1, 2]);
}

// R127
#[tokio::test(start_paused = true)]
async fn the_resync_period_starts_after_the_sync() {
    let cluster = Cluster::new();
    cluster.create("a").await;
    let maps = builder(&cluster).build().unwrap();
    let mut events = maps.subscribe_with(SubscribeOptions::new().resync(Duration::from_secs(2)));
    assert!(is_quiet(&mut events, Duration::from_secs(60)).await);
    maps.start();
    maps.synced().await.unwrap();
    let began = Instant::now();
    assert_eq!(next(&mut events, 3).await, ["+a initial", "=a", "=a"]);
    assert_eq!(began.elapsed().as_secs(), 4);
}

// R130
#[tokio::test(start_paused = true)]
async fn a_relist_delivers_changes_and_unchanged_objects_only_to_resyncing_subscribers() {
    let cluster = Cluster::new();
    for name in ["a", "b"] {
        cluster.create(name).await;
    }
    let maps = informer(&cluster);
    maps.synced().await.unwrap();
    let mut plain = maps.subscribe();
    let mut resyncing = maps.subscribe_with(SubscribeOptions::new().resync(Duration::from_secs(3600)));
    next(&mut plain, 2).await;
    next(&mut resyncing, 2).await;
    let fault = [Verb::List, Verb::Watch]
        .map(|verb| cluster.server.faults().inject(Fault::answer(503).on(verb).of("configmaps")));
    cluster.server.cut_watches();
    cluster.change("b", "1").await;
    cluster.create("c").await;
    cluster.server.compact();
    fault.iter().for_each(|fault| fault.withdraw());
    assert_eq!(next(&mut plain, 2).await, ["~b", "+c"]);
    let mut all = next(&mut resyncing, 3).await;
    all.sort();
    assert_eq!(all, ["+c", "=a", "~b"]);
    assert!(is_quiet(&mut plain, Duration::from_secs(60)).await);
}

// R131
#[tokio::test(start_paused = true)]
async fn a_stuck_subscriber_does_not_delay_others() {
    let cluster = Cluster::new();
    let maps = informer(&cluster);
    maps.synced().await.unwrap();
    let stuck = maps.subscribe_with(SubscribeOptions::new().named("stuck").policy(Policy::coalesce(10)));
    let mut others: Vec<_> = (0..9).map(|_| maps.subscribe()).collect();
    cluster.create("a").await;
    for round in 0..100 {
        cluster.change("a", &round.to_string()).await;
    }
    for events in &mut others {
        let received = next(events, 101).await;
        assert!(received[0] == "+a" && received[1..].iter().all(|received| received == "~a"));
    }
    let status = maps.status();
    let stuck_status = status.subscribers.iter().find(|subscriber| subscriber.name == "stuck").unwrap();
    assert_eq!(stuck_status.depth, stuck.registration().depth());
    assert!(stuck_status.depth <= 11, "the events of one key are merged above the limit");
}

// R85
#[tokio::test(start_paused = true)]
async fn a_blocking_subscriber_makes_the_reflector_wait_without_a_relist() {
    let cluster = Cluster::new();
    let maps = informer(&cluster);
    maps.synced().await.unwrap();
    let mut blocking = maps.subscribe_with(SubscribeOptions::new().policy(Policy::block(5)));
    let last = 12_000;
    let mut version = String::new();
    for number in 0..last {
        version = cluster.create(&format!("m{number}")).await.metadata.resource_version.unwrap();
    }
    let version = version.parse().unwrap();
    assert!(
        timeout(Duration::from_secs(300), maps.wait_for(&version)).await.is_err(),
        "the cache waits as well"
    );
    assert!(maps.len() < 6_000, "{}", maps.len());
    let received = next(&mut blocking, last).await;
    assert!(received.iter().enumerate().all(|(number, received)| *received == format!("+m{number}")));
    maps.wait_for(&version).await.unwrap();
    assert_eq!(maps.status().counts.lists + maps.status().counts.streams, 1, "no second list");
}

// R140
#[tokio::test(start_paused = true)]
async fn subscribers_and_readers_receive_transformed_objects() {
    let cluster = Cluster::new();
    cluster.create("a").await;
    let rename = |mut map: ConfigMap| {
        map.metadata.name = map.metadata.name.map(|name| name.to_uppercase());
        Ok(map)
    };
    let note = |mut map: ConfigMap| {
        map.data = Some(BTreeMap::from([("saw".to_owned(), map.metadata.name.clone().unwrap())]));
        Ok(map)
    };
    let maps = builder(&cluster).transform(rename).transform(note).start().unwrap();
    maps.synced().await.unwrap();
    let mut events = maps.subscribe();
    assert_eq!(next(&mut events, 1).await, ["+A initial"]);
    let map = maps.get("default/A").unwrap();
    assert_eq!(map.data.as_ref().unwrap()["saw"], "A");
    assert!(map.metadata.managed_fields.is_none() && maps.get("default/a").is_none());
    cluster.delete("a").await;
    assert_eq!(next(&mut events, 1).await, ["-A"]);
}

#[tokio::test(start_paused = true)]
async fn wait_for_returns_when_the_cache_has_a_write() {
    let cluster = Cluster::new();
    let maps = builder(&cluster).managed_fields(ManagedFields::Keep).start().unwrap();
    maps.synced().await.unwrap();
    let written = cluster.create("mine").await;
    maps.wait_for(&written.metadata.resource_version.as_deref().unwrap().parse().unwrap()).await.unwrap();
    assert_eq!(maps.get("default/mine").as_deref(), Some(&written));
}

#[tokio::test(start_paused = true)]
async fn selectors_restrict_the_cache() {
    let cluster = Cluster::new();
    for (name, tier) in [("a", "front"), ("b", "back")] {
        let mut map = named(name);
        map.metadata.labels = Some(BTreeMap::from([("tier".to_owned(), tier.to_owned())]));
        cluster.maps.create(&PostParams::default(), &map).await.unwrap();
    }
    let fronts = builder(&cluster).labels("tier=front").start().unwrap();
    let named_b = builder(&cluster).fields("metadata.name=b").start().unwrap();
    for (informer, expected) in [(fronts, "a"), (named_b, "b")] {
        informer.synced().await.unwrap();
        assert_eq!(informer.store().keys().iter().map(|key| key.name()).collect::<Vec<_>>(), [expected]);
    }
}

#[tokio::test(start_paused = true)]
async fn a_subscriber_can_wait_for_its_own_sync() {
    let cluster = Cluster::new();
    cluster.create("a").await;
    let maps = informer(&cluster);
    let mut events = maps.subscribe();
    let synced = Synced::synced(events.registration());
    let mut received = ReceivedState::default();
    let reading = async {
        while let Some(event) = events.next().await {
            received.apply(&event);
        }
    };
    tokio::select! {
        outcome = synced => outcome.unwrap(),
        () = reading => unreachable!("the informer is running"),
    }
    assert_eq!(received.known.len(), 1);
}
