//! Informers of client-go end with the contents of the server under every fault.

use std::time::Duration;

use kube_devserver::{Fault, Verb};

use crate::{
    churn::{Change, Churn},
    client_go::{ClientGoInformer, InformerOptions},
    cluster::Cluster,
};

const LIST: InformerOptions = InformerOptions { accept: "protobuf", watch_list: false };
const STREAM: InformerOptions = InformerOptions { accept: "json", watch_list: true };

/// Starts an informer with fifty pods and a fault, and compares its contents with the server's after a few
/// hundred changes.
///
/// Returns the changes that were made after the start, and those that the informer reported.
fn check(
    options: InformerOptions,
    fault: Fault,
    disturb: impl Fn(&Cluster, &mut Churn<'_>),
) -> (Vec<Change>, Vec<Change>) {
    let cluster = Cluster::start();
    let mut churn = Churn::new(&cluster, "pods", 11);
    churn.make(50);
    let injected = cluster.server.faults().inject(fault.of("pods"));
    let mut informer = ClientGoInformer::start(&cluster, "pods", options);
    informer.wait_for_sync();
    // After the first change that no list contains, the watch is open.
    churn.make(1);
    informer.wait_for_change(churn.changes.last().unwrap());
    disturb(&cluster, &mut churn);
    churn.end();
    let contents = cluster.contents("pods");
    informer.wait_for_contents(&contents);
    assert!(injected.hits() > 0, "the fault had no effect");
    let changes = (churn.changes.split_off(50), informer.changes());
    assert_eq!(informer.end(), contents);
    changes
}

fn churn(_: &Cluster, churn: &mut Churn<'_>) {
    churn.change(300);
}

/// Delays the next watch until its start version has expired.
///
/// The informer has relisted when it has made this number of requests with this verb.
fn expire_watch(cluster: &Cluster, churn: &mut Churn<'_>, (verb, requests): (Verb, u64)) {
    let faults = cluster.server.faults();
    let stall = faults.inject(Fault::stall_until_withdrawn().on(Verb::Watch).of("pods"));
    // This fault has no effect on clients, and counts the requests.
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
        let (made, reported) = check(LIST, cut, churn);
        assert_eq!(made, reported);
    }
}

#[test]
fn a_compacted_history_causes_a_relist() {
    let cut = || Fault::cut_after_events(60).times(1);
    check(LIST, cut(), |cluster, churn| expire_watch(cluster, churn, (Verb::List, 1)));
    // The first request is the watch from the expired version, and the second one the streaming list.
    check(STREAM, cut(), |cluster, churn| expire_watch(cluster, churn, (Verb::Watch, 2)));
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
fn responses_can_have_chunks_of_any_size() {
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
