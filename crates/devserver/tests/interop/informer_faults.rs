//! client-go informers end with what the server has, whatever goes wrong on the way.

use std::time::Duration;

use kube_devserver::{Fault, Verb};

use crate::{
    churn::{Change, Churn},
    cluster::Cluster,
    follow::{Follower, Manner},
};

const LIST: Manner = Manner { accept: "protobuf", watch_list: false };
const STREAM: Manner = Manner { accept: "json", watch_list: true };

/// Starts with fifty pods and a fault in force, and compares what is held after a few hundred changes.
///
/// Returns the changes that were made since, and those that the informer told.
fn check(
    manner: Manner,
    fault: Fault,
    trouble: impl Fn(&Cluster, &mut Churn<'_>),
) -> (Vec<Change>, Vec<Change>) {
    let cluster = Cluster::start();
    let mut churn = Churn::new(&cluster, "pods", 11);
    churn.make(50);
    let injected = cluster.server.faults().inject(fault.of("pods"));
    let mut follower = Follower::start(&cluster, "pods", manner);
    follower.synced();
    // The watch runs once it has told something that no list did.
    churn.make(1);
    follower.told(churn.changes.last().unwrap());
    trouble(&cluster, &mut churn);
    churn.end();
    let contents = cluster.contents("pods");
    follower.reached(&contents);
    assert!(injected.hits() > 0, "the fault never struck");
    let changes = (churn.changes.split_off(50), follower.changes());
    assert_eq!(follower.end(), contents);
    changes
}

fn churn(_: &Cluster, churn: &mut Churn<'_>) {
    churn.change(300);
}

/// Holds the next watch back until the version that it starts from is forgotten.
///
/// The informer has begun anew once it has made so many requests with this verb.
fn forget(cluster: &Cluster, churn: &mut Churn<'_>, (verb, requests): (Verb, u64)) {
    let faults = cluster.server.faults();
    let stall = faults.inject(Fault::stall_until_withdrawn().on(Verb::Watch).of("pods"));
    // It changes nothing that a client may notice, and counts.
    let asked = faults.inject(Fault::pieces(1000).on(verb).of("pods"));
    churn.change(100);
    cluster.wait(stall.hit(1));
    cluster.server.compact();
    stall.withdraw();
    cluster.wait(asked.hit(requests));
    churn.change(100);
}

#[test]
fn a_watch_that_is_cut_continues_from_its_version() {
    for cut in [Fault::cut_after_events(60), Fault::cut_after_events(60).abruptly()] {
        let (made, told) = check(LIST, cut, churn);
        assert_eq!(made, told);
    }
}

#[test]
fn a_compacted_history_causes_a_relist() {
    let cut = || Fault::cut_after_events(60).times(1);
    check(LIST, cut(), |cluster, churn| forget(cluster, churn, (Verb::List, 1)));
    // The watch that comes too late, and the one that streams the list.
    check(STREAM, cut(), |cluster, churn| forget(cluster, churn, (Verb::Watch, 2)));
}

#[test]
fn a_refused_streaming_list_becomes_a_list() {
    check(STREAM, Fault::refuse_streaming_lists(), churn);
}

#[test]
fn a_request_to_a_busy_server_is_retried() {
    let busy = Fault::answer(429).retry_after(Duration::from_secs(1));
    check(LIST, busy.clone().on(Verb::List).times(2), churn);
    check(STREAM, busy.on(Verb::Watch).times(2), churn);
    check(LIST, Fault::answer(500).on(Verb::List).times(1), churn);
}

#[test]
fn bytes_may_come_in_any_pieces() {
    check(LIST, Fault::pieces(7), churn);
    check(STREAM, Fault::pieces(1), churn);
}

#[test]
fn a_client_reconnects_after_an_outage() {
    let away = |cluster: &Cluster, churn: &mut Churn<'_>| {
        churn.change(100);
        let faults = cluster.server.faults();
        let refused = faults.inject(Fault::refuse_connections(Duration::from_millis(500)));
        cluster.wait(refused.hit(1));
        faults.clear();
        churn.change(100);
    };
    check(LIST, Fault::pieces(1000), away);
    check(STREAM, Fault::pieces(1000), away);
}
