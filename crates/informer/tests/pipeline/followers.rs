//! Followers of an informer: order, replay, resync, and what a slow one does to others.

use crate::cluster::{Cluster, Told, named};
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

/// This file is compiled twice, and is about a cache of either kind.
fn keep() -> Storage {
    if module_path!().ends_with("compact") { Storage::Compressed } else { Storage::Decoded }
}

fn begin(cluster: &Cluster) -> InformerBuilder<ConfigMap> {
    Informer::builder(cluster.server.client()).storage(keep())
}

fn informer(cluster: &Cluster) -> Informer<ConfigMap> {
    begin(cluster).start().unwrap()
}

fn name(event: &Event<ConfigMap>) -> String {
    event.key().name().to_owned()
}

/// The names of the next events, each with a sign of what it is.
async fn next(events: &mut Subscription<ConfigMap>, count: usize) -> Vec<String> {
    let mut told = Vec::new();
    while told.len() < count {
        let event =
            timeout(Duration::from_secs(600), events.next()).await.expect("something is told").unwrap();
        told.push(match &event {
            Event::Added { phase: Phase::Initial, .. } => format!("+{} initial", name(&event)),
            Event::Added { .. } => format!("+{}", name(&event)),
            Event::Updated { .. } if event.is_resync() => format!("={}", name(&event)),
            Event::Updated { .. } => format!("~{}", name(&event)),
            Event::Deleted { .. } => format!("-{}", name(&event)),
            other => panic!("{other:?}"),
        });
    }
    told
}

/// Whether nothing is told for so long.
async fn is_quiet(events: &mut Subscription<ConfigMap>, time: Duration) -> bool {
    timeout(time, events.next()).await.is_err()
}

// R124, R125
#[tokio::test(start_paused = true)]
async fn who_follows_before_the_start_and_after_is_told_everything_once() {
    let cluster = Cluster::new();
    cluster.create("a").await;
    let maps = begin(&cluster).build().unwrap();
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

/// Resync times of a follower, in seconds since the beginning.
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
async fn each_follower_resyncs_in_its_own_time() {
    let cluster = Cluster::new();
    cluster.create("a").await;
    let maps = begin(&cluster).resync(Duration::from_secs(5)).start().unwrap();
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
    assert_eq!(second, [1, 2, 3, 4, 5, 6], "less than a second counts as one");
    assert_eq!(two, [2, 4, 6]);
    assert_eq!(three, [3, 6]);
    assert_eq!(default, [5], "what the informer was told");
}

// R129
#[tokio::test(start_paused = true)]
async fn an_informer_resyncs_no_more_than_once_a_second() {
    let cluster = Cluster::new();
    cluster.create("a").await;
    let maps = Informer::<ConfigMap>::builder(cluster.server.client()).resync(Duration::from_nanos(1));
    let maps = maps.start().unwrap();
    maps.synced().await.unwrap();
    assert_eq!(resyncs(maps.subscribe(), Duration::from_millis(2_500)).await, [1, 2]);
}

// R127
#[tokio::test(start_paused = true)]
async fn resyncs_are_counted_from_the_sync_and_wait_for_it() {
    let cluster = Cluster::new();
    cluster.create("a").await;
    let maps = begin(&cluster).build().unwrap();
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
async fn a_relist_tells_what_changed_and_the_rest_to_those_who_resync() {
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
    let away = [Verb::List, Verb::Watch]
        .map(|verb| cluster.server.faults().inject(Fault::answer(503).on(verb).of("configmaps")));
    cluster.server.cut_watches();
    cluster.change("b", "1").await;
    cluster.create("c").await;
    cluster.server.compact();
    away.iter().for_each(|fault| fault.withdraw());
    assert_eq!(next(&mut plain, 2).await, ["~b", "+c"]);
    let mut all = next(&mut resyncing, 3).await;
    all.sort();
    assert_eq!(all, ["+c", "=a", "~b"]);
    assert!(is_quiet(&mut plain, Duration::from_secs(60)).await);
}

// R131
#[tokio::test(start_paused = true)]
async fn a_stuck_follower_holds_up_nobody() {
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
        let told = next(events, 101).await;
        assert!(told[0] == "+a" && told[1..].iter().all(|told| told == "~a"));
    }
    let status = maps.status();
    let stuck_status = status.subscribers.iter().find(|follower| follower.name == "stuck").unwrap();
    assert_eq!(stuck_status.depth, stuck.registration().depth());
    assert!(stuck_status.depth <= 11, "one key folded, and so many that are not");
}

// R85
#[tokio::test(start_paused = true)]
async fn one_that_blocks_makes_the_reflector_wait_and_the_watch_survives() {
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
    assert!(timeout(Duration::from_secs(300), maps.wait_for(&version)).await.is_err(), "the cache waits too");
    assert!(maps.len() < 6_000, "{}", maps.len());
    let told = next(&mut blocking, last).await;
    assert!(told.iter().enumerate().all(|(number, told)| *told == format!("+m{number}")));
    maps.wait_for(&version).await.unwrap();
    assert_eq!(maps.status().counts.lists + maps.status().counts.streams, 1, "no second list was needed");
}

// R140
#[tokio::test(start_paused = true)]
async fn a_transform_is_what_followers_and_readers_see() {
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
    let maps = begin(&cluster).transform(rename).transform(note).start().unwrap();
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
async fn what_was_written_can_be_waited_for() {
    let cluster = Cluster::new();
    let maps = begin(&cluster).managed_fields(ManagedFields::Keep).start().unwrap();
    maps.synced().await.unwrap();
    let written = cluster.create("mine").await;
    maps.wait_for(&written.metadata.resource_version.as_deref().unwrap().parse().unwrap()).await.unwrap();
    assert_eq!(maps.get("default/mine").as_deref(), Some(&written));
}

#[tokio::test(start_paused = true)]
async fn selectors_narrow_what_is_followed() {
    let cluster = Cluster::new();
    for (name, tier) in [("a", "front"), ("b", "back")] {
        let mut map = named(name);
        map.metadata.labels = Some(BTreeMap::from([("tier".to_owned(), tier.to_owned())]));
        cluster.maps.create(&PostParams::default(), &map).await.unwrap();
    }
    let fronts = begin(&cluster).labels("tier=front").start().unwrap();
    let named_b = begin(&cluster).fields("metadata.name=b").start().unwrap();
    for (informer, expected) in [(fronts, "a"), (named_b, "b")] {
        informer.synced().await.unwrap();
        assert_eq!(informer.store().keys().iter().map(|key| key.name()).collect::<Vec<_>>(), [expected]);
    }
}

#[tokio::test(start_paused = true)]
async fn a_follower_that_waits_for_its_sync_is_told_when_it_has() {
    let cluster = Cluster::new();
    cluster.create("a").await;
    let maps = informer(&cluster);
    let mut events = maps.subscribe();
    let synced = Synced::synced(events.registration());
    let mut told = Told::default();
    let reading = async {
        while let Some(event) = events.next().await {
            told.hear(&event);
        }
    };
    tokio::select! {
        outcome = synced => outcome.unwrap(),
        () = reading => unreachable!("it is not stopped"),
    }
    assert_eq!(told.known.len(), 1);
}
