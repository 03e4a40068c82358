//! Replicas against the devserver over HTTP and in the process.

#![expect(clippy::unwrap_used, reason = "helpers of tests fail the test")]

use k8s_openapi::api::coordination::v1::{Lease, LeaseSpec};
use k8s_openapi::api::core::v1::ConfigMap;
use kube_client::api::{Api, DeleteParams, ListParams, Patch, PatchParams, PostParams};
use kube_client::client::retry::RetryPolicy;
use kube_client::{Client, Config};
use kube_devserver::{DevServer, Fault, Verb, Versions};
use kube_leases::{LeaseError, Leases, LeasesBuilder, ShardChange, ShardKey, TokioClock};
use serde_json::json;
use std::future::pending;
use std::time::Duration;
use tokio::time::{Instant, sleep, timeout};
use tower::retry::Retry;
use tower::{BoxError, service_fn};

const SECOND: Duration = Duration::from_secs(1);

/// Starts a replica under paused time.
fn start(builder: LeasesBuilder, identity: &str, server: &DevServer) -> Leases {
    builder.identity(identity).clock(TokioClock::new()).start(server.client()).unwrap()
}

/// Waits until a condition on the state of a replica holds.
async fn wait_until(leases: &Leases, condition: impl Fn(&Leases) -> bool) {
    let wait = async {
        while !condition(leases) {
            sleep(Duration::from_millis(20)).await;
        }
    };
    let waited = timeout(Duration::from_secs(120), wait).await;
    assert!(waited.is_ok(), "{:#?} {:?}", leases.status(), leases.problem());
}

fn lease_api(server: &DevServer) -> Api<Lease> {
    Api::default_namespaced(server.client())
}

async fn spec(server: &DevServer, name: &str) -> LeaseSpec {
    lease_api(server).get(name).await.unwrap().spec.unwrap()
}

#[tokio::test(start_paused = true)]
async fn a_leader_renews_its_lease_at_a_third_of_the_duration() {
    let server = DevServer::start();
    let leases = start(Leases::leader("web"), "a", &server);
    let leadership = leases.acquired().await.unwrap();
    assert_eq!((leadership.index(), leadership.token()), (0, 0));
    let first = spec(&server, "web").await;
    assert_eq!(first.holder_identity.as_deref(), Some("a"));
    assert_eq!(first.lease_duration_seconds, Some(15));
    assert_eq!(first.lease_transitions, Some(0));
    assert_eq!(first.acquire_time, first.renew_time);

    let writes = leases.status().writes;
    sleep(60 * SECOND).await;
    assert!(leadership.is_held());
    let renewals = leases.status().writes - writes;
    assert!((11..=12).contains(&renewals), "{renewals}");
    assert_eq!(spec(&server, "web").await.acquire_time, first.acquire_time);
}

#[tokio::test(start_paused = true)]
async fn a_successor_leads_at_once_after_a_release() {
    let server = DevServer::start();
    let first = start(Leases::leader("web"), "a", &server);
    let leadership = first.acquired().await.unwrap();
    let second = start(Leases::leader("web"), "b", &server);
    sleep(30 * SECOND).await;
    assert!(second.held().is_empty());
    assert_eq!(second.status().shards[0].holder.as_deref(), Some("a"));

    first.stop();
    leadership.draining().await;
    assert!(leadership.is_held(), "work in progress may end");
    sleep(SECOND).await;
    assert!(second.held().is_empty(), "the lease is not released before the handle is dropped");
    drop(leadership);
    let start = Instant::now();
    first.stopped().await;
    let leadership = second.acquired().await.unwrap();
    assert!(start.elapsed() < SECOND, "{:?}", start.elapsed());
    assert_eq!(leadership.token(), 1);
    assert!(matches!(first.acquired().await, Err(LeaseError::Stopped)));
}

#[tokio::test(start_paused = true)]
async fn a_release_is_that_of_client_go() {
    let server = DevServer::start();
    let leases = start(Leases::leader("web"), "a", &server);
    drop(leases.acquired().await.unwrap());
    leases.stop();
    leases.stopped().await;
    let released = spec(&server, "web").await;
    assert_eq!(released.holder_identity.as_deref(), Some(""));
    assert_eq!(released.lease_duration_seconds, Some(1));
    assert_eq!(released.lease_transitions, Some(0));
}

#[tokio::test(start_paused = true)]
async fn work_is_cancelled_at_the_renew_deadline_and_before_a_successor_leads() {
    let server = DevServer::start();
    let leases = start(Leases::leader("web"), "a", &server);
    let leadership = leases.acquired().await.unwrap();
    let outage = server.faults().inject(Fault::answer(503).of("leases"));
    let start_of_outage = Instant::now();
    assert!(leadership.run_while_held(pending::<()>()).await.is_err());
    let lost_after = start_of_outage.elapsed();
    assert!(lost_after <= 10 * SECOND && lost_after > 4 * SECOND, "{lost_after:?}");
    assert!(!leadership.is_held());
    outage.withdraw();
    let again = leases.acquired().await.unwrap();
    assert!(again.is_held());
    assert!(!leadership.is_held(), "an old handle stays invalid");
}

/// Renews a Lease after a first attempt that is refused with `Retry-After`, through a client that repeats
/// requests as kube's default client does. Returns the time by which the deadline was extended, and the
/// duration of the renewal.
async fn renewal_after_a_refusal(retry_after: Duration) -> [Duration; 2] {
    let server = DevServer::start();
    let inner = server.client();
    let send = service_fn(move |request| {
        let inner = inner.clone();
        async move { inner.send(request).await.map_err(BoxError::from) }
    });
    let client = Client::new(Retry::new(RetryPolicy::server_retry(), send), "default");
    let leases = Leases::leader("web").identity("a").clock(TokioClock::new()).start(client).unwrap();
    let leadership = leases.acquired().await.unwrap();
    let acquired = Instant::now();
    let first = leadership.deadline();
    let refusal = Fault::answer(503).retry_after(retry_after).on(Verb::Update).of("leases").times(1);
    let refusal = server.faults().inject(refusal);
    wait_until(&leases, |_| leadership.deadline() != first).await;
    assert_eq!(refusal.hits(), 1);
    assert!(leadership.is_held(), "the Lease was never lost");
    [leadership.deadline().since_start() - first.since_start(), acquired.elapsed()]
}

#[tokio::test(start_paused = true)]
async fn a_renewal_that_the_client_repeats_counts_from_its_first_attempt() {
    let [extended, elapsed] = renewal_after_a_refusal(2 * SECOND).await;
    assert!(elapsed >= 7 * SECOND, "the client has repeated it after two seconds: {elapsed:?}");
    assert!(extended >= 5 * SECOND && extended < 6 * SECOND, "{extended:?}");
}

#[tokio::test(start_paused = true)]
async fn a_client_that_waits_for_longer_than_the_request_timeout_does_not_delay_a_renewal() {
    let [extended, elapsed] = renewal_after_a_refusal(60 * SECOND).await;
    assert!(elapsed < 10 * SECOND, "{elapsed:?}");
    assert!(extended > 8 * SECOND, "it counts from the second attempt: {extended:?}");
}

#[tokio::test(start_paused = true)]
async fn an_expired_leader_is_replaced_after_the_lease_duration() {
    let server = DevServer::start();
    let dead = Lease {
        metadata: serde_json::from_value(json!({"name": "web"})).unwrap(),
        spec: serde_json::from_value(json!({
            "holderIdentity": "dead", "leaseDurationSeconds": 15, "leaseTransitions": 4,
            // The candidate must ignore the clock of the holder.
            "acquireTime": "2001-01-01T00:00:00.000000Z", "renewTime": "2001-01-01T00:00:00.000000Z",
        }))
        .unwrap(),
    };
    lease_api(&server).create(&PostParams::default(), &dead).await.unwrap();
    let start_time = Instant::now();
    let leases = start(Leases::leader("web"), "a", &server);
    let leadership = leases.acquired().await.unwrap();
    let waited = start_time.elapsed();
    assert!(waited >= 15 * SECOND && waited < 16 * SECOND, "{waited:?}");
    assert_eq!(leadership.token(), 5);
}

#[tokio::test(start_paused = true)]
async fn shards_are_divided_among_members_and_move_to_new_members() {
    let server = DevServer::start();
    let group = || Leases::shards("sites", 16);
    let first = start(group(), "a", &server);
    wait_until(&first, |leases| leases.held().len() == 16).await;
    let second = start(group(), "b", &server);
    wait_until(&second, |leases| leases.held().len() == 8).await;
    let third = start(group(), "c", &server);
    wait_until(&third, |leases| leases.held().len() == 5).await;
    wait_until(&first, |leases| leases.held().len() <= 6).await;
    let status = third.status();
    assert_eq!(
        status.members.iter().map(|member| member.identity.as_str()).collect::<Vec<_>>(),
        ["a", "b", "c"]
    );

    first.stop();
    first.stopped().await;
    wait_until(&second, |leases| leases.held().len() == 8).await;
    wait_until(&third, |leases| leases.held().len() == 8).await;
    let names: Vec<_> = lease_api(&server)
        .list(&ListParams::default())
        .await
        .unwrap()
        .items
        .into_iter()
        .filter_map(|lease| lease.metadata.name)
        .collect();
    assert_eq!(names.iter().filter(|name| name.contains("-member-")).count(), 2, "{names:?}");
}

#[tokio::test(start_paused = true)]
async fn members_write_less_than_once_a_second() {
    let server = DevServer::start();
    let leases = start(Leases::shards("sites", 16), "a", &server);
    wait_until(&leases, |leases| leases.held().len() == 16).await;
    let before = leases.status().writes;
    sleep(100 * SECOND).await;
    let writes = leases.status().writes - before;
    assert!((19..=20).contains(&writes), "one write renews all 16 shards: {writes}");
}

#[tokio::test(start_paused = true)]
async fn a_shard_moves_only_after_its_work_has_drained_or_was_cancelled() {
    let server = DevServer::start();
    let group = || Leases::shards("sites", 2).drain_timeout(30 * SECOND);
    let first = start(group(), "a", &server);
    wait_until(&first, |leases| leases.held().len() == 2).await;
    let mut changes = first.changes();
    let mut handles = Vec::new();
    for _ in 0..2 {
        let Some(ShardChange::Gained(shard)) = changes.next().await else { panic!("two shards are held") };
        handles.push(shard);
    }
    let work = tokio::spawn({
        let handles = handles.clone();
        async move {
            let run = |index: usize| handles[index].run_while_held(pending::<()>());
            tokio::select! { lost = run(0) => lost.unwrap_err().shard, lost = run(1) => lost.unwrap_err().shard }
        }
    });
    let second = start(group(), "b", &server);
    let Some(ShardChange::Draining { shard: moving }) = changes.next().await else {
        panic!("one shard drains")
    };
    let drain_start = Instant::now();
    sleep(20 * SECOND).await;
    assert!(second.held().is_empty(), "the work has not ended");
    wait_until(&second, |leases| leases.held().len() == 1).await;
    assert!(drain_start.elapsed() >= 30 * SECOND);
    assert_eq!(work.await.unwrap(), moving);
    assert!(matches!(changes.next().await, Some(ShardChange::Lost { shard }) if shard == moving));
    assert_eq!(second.held()[0].index(), moving);
    assert_eq!(handles.iter().filter(|shard| shard.is_held()).count(), 1);
}

#[tokio::test(start_paused = true)]
async fn another_number_of_shards_is_refused_until_all_agree() {
    let server = DevServer::start();
    let first = start(Leases::shards("sites", 4), "a", &server);
    first.acquired().await.unwrap();
    let second = start(Leases::shards("sites", 8), "b", &server);
    let error = second.acquired().await.unwrap_err();
    assert_eq!(
        error.to_string(),
        "shard group \"sites\" has 4 shards, and this replica is configured with 8; \
         it holds no shards until all other members have stopped: a"
    );
    sleep(60 * SECOND).await;
    assert!(second.held().is_empty());
    assert_eq!(first.held().len(), 4);
    first.stop();
    first.stopped().await;
    wait_until(&second, |leases| leases.held().len() == 8).await;
    assert_eq!(second.problem(), None);
}

#[tokio::test(start_paused = true)]
async fn another_shard_key_is_refused() {
    let server = DevServer::start();
    let first = start(Leases::shards("sites", 4), "a", &server);
    first.acquired().await.unwrap();
    let second = start(Leases::shards("sites", 4).shard_by(ShardKey::Uid), "b", &server);
    let error = second.acquired().await.unwrap_err().to_string();
    assert!(error.contains("is sharded by namespace, and this replica by uid"), "{error}");
}

#[tokio::test(start_paused = true)]
async fn a_leader_and_a_shard_group_cannot_share_a_name() {
    let server = DevServer::start();
    let group = start(Leases::shards("sites", 4), "a", &server);
    group.acquired().await.unwrap();
    let leader = start(Leases::leader("sites"), "b", &server);
    let error = leader.acquired().await.unwrap_err().to_string();
    assert_eq!(
        error,
        "Lease default/sites is in use: it belongs to a group of 4 shards; use another name for one of the two"
    );

    let leader = start(Leases::leader("web"), "c", &server);
    leader.acquired().await.unwrap();
    let group = start(Leases::shards("web", 4), "d", &server);
    let error = group.acquired().await.unwrap_err().to_string();
    assert!(
        error.contains("Lease default/web is in use: it belongs to a leader election, and \"c\" holds it"),
        "{error}"
    );
}

#[tokio::test(start_paused = true)]
async fn an_identity_that_is_used_twice_is_reported() {
    let server = DevServer::start();
    for builder in [Leases::leader("web"), Leases::shards("sites", 4)] {
        let first = start(builder.clone(), "same", &server);
        first.acquired().await.unwrap();
        let second = start(builder, "same", &server);
        let error = second.acquired().await.unwrap_err().to_string();
        assert!(error.starts_with("identity \"same\" is used by another process"), "{error}");
        assert!(!first.held().is_empty() && second.held().is_empty());
    }
}

#[tokio::test(start_paused = true)]
async fn a_forbidden_request_is_reported_with_the_role() {
    let server = DevServer::start();
    server.faults().inject(Fault::answer(403).on(Verb::Create).of("leases"));
    let builder = Leases::shards("sites", 4).namespace("default");
    let role = builder.role("default");
    let leases = start(builder, "a", &server);
    let error = leases.acquired().await.unwrap_err();
    assert!(error.to_string().ends_with(&role), "{error}");
    assert!(role.contains("verbs: [\"get\", \"list\", \"watch\", \"create\", \"update\", \"delete\"]"));
    server.faults().clear();
    wait_until(&leases, |leases| leases.held().len() == 4).await;
    assert_eq!(leases.problem(), None);
}

#[tokio::test(start_paused = true)]
async fn a_missing_namespace_is_reported() {
    let server = DevServer::start();
    let leases = start(Leases::leader("web").namespace("nowhere"), "a", &server);
    let error = leases.acquired().await.unwrap_err().to_string();
    assert_eq!(
        error,
        "namespace \"nowhere\" not found; create it, or set the namespace of the leases to an existing one"
    );
}

#[tokio::test(start_paused = true)]
async fn invalid_settings_are_rejected_before_a_request() {
    let server = DevServer::start();
    let error = |builder: LeasesBuilder| builder.start(server.client()).unwrap_err().to_string();
    assert!(error(Leases::shards("sites", 0)).contains("has 0 shards"));
    assert!(error(Leases::shards("a".repeat(240), 4)).contains("the limit is 253"));
    assert!(error(Leases::leader("a".repeat(254))).contains("the limit is 253"));
    assert!(error(Leases::leader("Web")).contains("lower case"));
    assert!(error(Leases::leader("web").namespace("A B")).contains("invalid namespace"));
    assert!(error(Leases::leader("web").identity("")).contains("invalid identity"));
    assert!(error(Leases::leader("web").renew_deadline(15 * SECOND)).contains("renew deadline 15s"));
}

#[tokio::test(start_paused = true)]
async fn edited_leases_are_lost_or_kept_by_their_holder_field() {
    let server = DevServer::start();
    let api = lease_api(&server);
    let leases = start(Leases::leader("web"), "a", &server);
    let leadership = leases.acquired().await.unwrap();
    // Another annotation changes the version, but not the holder.
    let patch = Patch::Merge(json!({"metadata": {"annotations": {"note": "x"}}}));
    api.patch("web", &PatchParams::default(), &patch).await.unwrap();
    sleep(20 * SECOND).await;
    assert!(leadership.is_held());
    assert_eq!(api.get("web").await.unwrap().metadata.annotations.unwrap().get("note").unwrap(), "x");

    let patch = Patch::Merge(json!({"spec": {"holderIdentity": "mallory"}}));
    api.patch("web", &PatchParams::default(), &patch).await.unwrap();
    leadership.lost().await;
    let again = leases.acquired().await.unwrap();
    assert_eq!(again.token(), 1, "after the entered holder has expired");

    api.delete("web", &DeleteParams::default()).await.unwrap();
    again.lost().await;
    leases.acquired().await.unwrap();
    assert_eq!(spec(&server, "web").await.holder_identity.as_deref(), Some("a"));
}

#[tokio::test(start_paused = true)]
async fn a_deleted_shard_lease_is_lost_and_acquired_again() {
    let server = DevServer::start();
    let leases = start(Leases::shards("sites", 2), "a", &server);
    wait_until(&leases, |leases| leases.held().len() == 2).await;
    let shard = leases.held_shard(1).unwrap();
    sleep(SECOND).await;
    lease_api(&server).delete("sites-shard-1", &DeleteParams::default()).await.unwrap();
    shard.lost().await;
    wait_until(&leases, |leases| leases.held().len() == 2).await;
    assert!(!shard.is_held());
}

/// Restores a server with lower versions of all Leases.
fn restore(server: &DevServer) {
    server.restart(Versions::Reset);
}

#[tokio::test(start_paused = true)]
async fn a_leader_leads_again_after_a_restore_with_lower_versions() {
    let server = DevServer::start();
    let leases = start(Leases::leader("web"), "a", &server);
    let leadership = leases.acquired().await.unwrap();
    sleep(60 * SECOND).await;
    restore(&server);
    let start_time = Instant::now();
    leadership.lost().await;
    assert!(start_time.elapsed() <= 10 * SECOND, "{:?}", start_time.elapsed());
    drop(leadership);
    let before = leases.status().writes;
    wait_until(&leases, |leases| leases.held().len() == 1).await;
    assert!(start_time.elapsed() <= 30 * SECOND, "{:?}", start_time.elapsed());
    assert!(leases.status().writes <= before + 2, "it does not retry with an old version");
    sleep(60 * SECOND).await;
    assert_eq!(leases.held().len(), 1, "it is renewed");
}

#[tokio::test(start_paused = true)]
async fn shards_are_held_again_after_a_restore_with_lower_versions() {
    let server = DevServer::start();
    let group = || Leases::shards("sites", 8);
    let first = start(group(), "a", &server);
    let second = start(group(), "b", &server);
    let is_balanced = || first.held().len() == 4 && second.held().len() == 4;
    wait_until(&first, |_| is_balanced()).await;
    sleep(60 * SECOND).await;
    for _ in 0..2 {
        restore(&server);
        wait_until(&first, |_| !is_balanced()).await;
        let start_time = Instant::now();
        wait_until(&first, |_| is_balanced()).await;
        assert!(start_time.elapsed() <= 40 * SECOND, "{:?}", start_time.elapsed());
    }
    // A release works as before the restore.
    second.stop();
    second.stopped().await;
    wait_until(&first, |leases| leases.held().len() == 8).await;
}

#[tokio::test(start_paused = true)]
async fn fenced_writes_need_the_lease_and_the_version_that_was_read() {
    let server = DevServer::start();
    let leases = start(Leases::leader("web"), "a", &server);
    let leadership = leases.acquired().await.unwrap();
    let maps: Api<ConfigMap> = Api::default_namespaced(server.client());
    let map: ConfigMap = serde_json::from_value(json!({"metadata": {"name": "m"}})).unwrap();
    let error = leadership.replace(&maps, &map).await.unwrap_err();
    assert_eq!(
        error.to_string(),
        "object \"m\" has no metadata.resourceVersion; read it from the API server before a fenced write"
    );
    let read = maps.create(&PostParams::default(), &map).await.unwrap();
    let written = leadership.merge_patch(&maps, &read, json!({"data": {"a": "1"}})).await.unwrap();
    assert!(
        leadership.merge_patch(&maps, &read, json!({"data": {"a": "2"}})).await.unwrap_err().is_conflict()
    );
    assert!(leadership.replace(&maps, &read).await.unwrap_err().is_conflict());
    let written = leadership.replace(&maps, &written).await.unwrap();
    assert_eq!(written.data.unwrap()["a"], "1");

    leases.stop();
    sleep(25 * SECOND).await;
    assert_eq!(leadership.replace(&maps, &read).await.unwrap_err().to_string(), "lease of shard 0 was lost");
}

#[tokio::test]
async fn replicas_elect_and_replace_leaders_on_real_connections() {
    let server = DevServer::builder().listen("127.0.0.1:0").start().await.unwrap();
    let client = || Client::try_from(Config::new(server.url().unwrap().parse().unwrap())).unwrap();
    let short = |builder: LeasesBuilder| {
        builder
            .namespace("default")
            .lease_duration(SECOND)
            .renew_deadline(Duration::from_millis(700))
            .retry_period(Duration::from_millis(100))
    };
    let first = short(Leases::shards("sites", 4)).start(client()).unwrap();
    wait_until(&first, |leases| leases.held().len() == 4).await;
    let second = short(Leases::shards("sites", 4)).start(client()).unwrap();
    wait_until(&second, |leases| leases.held().len() == 2).await;
    server.cut_watches();
    assert_ne!(first.identity(), second.identity());
    first.stop();
    first.stopped().await;
    wait_until(&second, |leases| leases.held().len() == 4).await;
}
