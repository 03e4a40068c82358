//! Random writes and faults, with subscribers that are added and removed: the events of each add up to the cache.

use crate::cluster::{Cluster, ReceivedState, versions};
use k8s_openapi::api::core::v1::ConfigMap;
use kube_devserver::{Fault, Verb, Versions};
use kube_informer::{
    Informer, Storage,
    reflector::{self, Config},
    subscription::{Policy, SubscribeOptions, Subscription},
};
use proptest::prelude::*;
use std::time::Duration;
use tokio::time::timeout;

/// A step of a random history.
#[derive(Clone, Debug)]
enum Act {
    Write(u8),
    Delete(u8),
    Cut,
    Compact,
    Restart,
    Answer(u16),
    CutAfter(u64),
    Join(Policy),
    Leave(usize),
    Read(usize, usize),
    Pass(u64),
}

fn act() -> impl Strategy<Value = Act> {
    let policy = prop_oneof![
        Just(Policy::Unbounded),
        (1_usize..20).prop_map(Policy::coalesce),
        // Larger than the number of events, because a full subscriber blocks the informer. Another test covers that.
        Just(Policy::block(10_000)),
    ];
    prop_oneof![
        12 => (0_u8..12).prop_map(Act::Write),
        5 => (0_u8..12).prop_map(Act::Delete),
        1 => Just(Act::Cut),
        1 => Just(Act::Compact),
        1 => Just(Act::Restart),
        1 => prop_oneof![Just(429_u16), Just(500), Just(503)].prop_map(Act::Answer),
        1 => (0_u64..4).prop_map(Act::CutAfter),
        2 => policy.prop_map(Act::Join),
        1 => (0_usize..8).prop_map(Act::Leave),
        5 => (0_usize..8, 1_usize..10).prop_map(|(who, events)| Act::Read(who, events)),
        3 => (1_u64..3000).prop_map(Act::Pass),
    ]
}

/// A subscription, and the state that results from its events.
struct TestSubscriber {
    events: Subscription<ConfigMap>,
    received: ReceivedState,
}

impl TestSubscriber {
    /// Receives the pending events, at most this number.
    async fn read(&mut self, events: usize) {
        for _ in 0..events {
            match timeout(Duration::ZERO, self.events.next()).await {
                Ok(Some(event)) => self.received.apply(&event),
                Ok(None) | Err(_) => return,
            }
        }
    }
}

async fn run_history(strategy: reflector::Strategy, storage: Storage, acts: Vec<Act>) {
    let cluster = Cluster::new();
    let mut config = Config::default();
    config.strategy = strategy;
    config.backoff.cap = Duration::from_secs(1);
    let maps = Informer::<ConfigMap>::builder(cluster.server.client()).config(config).storage(storage);
    let maps = maps.on_error(|_| {}).start().unwrap();
    let mut subscribers =
        vec![TestSubscriber { events: maps.subscribe(), received: ReceivedState::default() }];
    let fault = |fault: Fault| drop(cluster.server.faults().inject(fault.of("configmaps").times(1)));
    for (turn, act) in acts.into_iter().enumerate() {
        match act {
            Act::Write(number) => {
                let name = format!("m{number}");
                match cluster.maps.get_opt(&name).await {
                    Ok(None) => {
                        drop(cluster.maps.create(&<_>::default(), &crate::cluster::named(&name)).await)
                    }
                    Ok(Some(mut map)) => {
                        map.data = Some([("turn".to_owned(), turn.to_string())].into());
                        drop(cluster.maps.replace(&name, &<_>::default(), &map).await);
                    }
                    Err(_) => {}
                }
            }
            // A fault may also hit this request.
            Act::Delete(number) => drop(cluster.maps.delete(&format!("m{number}"), &<_>::default()).await),
            Act::Cut => cluster.server.cut_watches(),
            Act::Compact => cluster.server.compact(),
            Act::Restart => cluster.server.restart(Versions::Kept),
            Act::Answer(code) => fault(Fault::answer(code).on(Verb::Watch)),
            Act::CutAfter(events) => fault(Fault::cut_after_events(events).on(Verb::Watch)),
            Act::Join(policy) => {
                let events = maps.subscribe_with(SubscribeOptions::new().policy(policy));
                subscribers.push(TestSubscriber { events, received: ReceivedState::default() });
            }
            Act::Leave(who) => {
                if who < subscribers.len() {
                    subscribers.swap_remove(who);
                }
            }
            Act::Read(who, events) => {
                if let Some(one) = subscribers.get_mut(who) {
                    one.read(events).await;
                }
            }
            Act::Pass(millis) => tokio::time::advance(Duration::from_millis(millis)).await,
        }
    }
    cluster.server.faults().clear();
    let last = cluster.create("last").await.metadata.resource_version.unwrap();
    timeout(Duration::from_secs(3600), maps.wait_for(&last.parse().unwrap()))
        .await
        .expect("received in time")
        .unwrap();
    let server = cluster.versions().await;
    assert_eq!(versions(maps.list().iter().map(|map| &**map)), server, "the cache equals the server");
    for one in &mut subscribers {
        one.read(usize::MAX).await;
        assert_eq!(one.received.known, server, "the events add up to the cache");
        assert!(one.events.registration().has_synced());
    }
    maps.stop();
    maps.stopped().await;
    assert_eq!(maps.tasks(), 0);
    cluster.server.stop().await;
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]

    #[test]
    fn the_events_of_every_subscriber_add_up_to_the_cache(
        acts in prop::collection::vec(act(), 1..150),
        streams: bool,
        compressed: bool,
    ) {
        let strategy = if streams { reflector::Strategy::Stream } else { reflector::Strategy::List };
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build().unwrap();
        let storage = if compressed { Storage::Compressed } else { Storage::Decoded };
        runtime.block_on(run_history(strategy, storage, acts));
    }
}
