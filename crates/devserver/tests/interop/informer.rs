//! client-go informers in every manner of listing and decoding follow a thousand changes exactly.

use kube_devserver::{Fault, Verb};

use crate::{
    churn::Churn,
    cluster::Cluster,
    follow::{Follower, Manner},
};

fn check(cluster: &Cluster, resource: &'static str, manner: Manner) {
    // It changes nothing that a client may notice, and counts the lists.
    let lists = cluster.server.faults().inject(Fault::pieces(1000).on(Verb::List).of(resource));
    let mut churn = Churn::new(cluster, resource, 7);
    churn.make(200);

    let mut follower = Follower::start(cluster, resource, manner);
    follower.synced();
    assert_eq!(lists.hits() == 0, manner.watch_list, "a streaming list is no list");
    assert_eq!(follower.events.iter().filter(|event| event.initial).count(), 200);
    assert_eq!(follower.folded, cluster.contents(resource));

    churn.change(1000);
    churn.end();
    let contents = cluster.contents(resource);
    follower.reached(&contents);
    assert_eq!(follower.changes(), churn.changes[200..]);
    assert_eq!(follower.end(), contents);
}

#[test]
fn json_after_a_list() {
    check(&Cluster::start(), "pods", Manner { accept: "json", watch_list: false });
}

#[test]
fn json_after_a_streaming_list() {
    check(&Cluster::start(), "configmaps", Manner { accept: "json", watch_list: true });
}

#[test]
fn protobuf_or_json_after_a_list() {
    check(&Cluster::start(), "configmaps", Manner { accept: "protobuf", watch_list: false });
}

#[test]
fn protobuf_or_json_after_a_streaming_list() {
    check(&Cluster::start(), "pods", Manner { accept: "protobuf", watch_list: true });
}

#[test]
fn over_tls_and_so_over_http_2() {
    check(&Cluster::start_secure(), "pods", Manner { accept: "protobuf", watch_list: true });
    check(&Cluster::start_secure(), "pods", Manner { accept: "json", watch_list: false });
}
