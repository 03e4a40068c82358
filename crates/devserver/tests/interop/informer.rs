//! Informers of client-go receive a thousand changes exactly, with every list mode and encoding.

use kube_devserver::{Fault, Verb};

use crate::{
    churn::Churn,
    client_go::{ClientGoInformer, InformerOptions},
    cluster::Cluster,
};

fn check(cluster: &Cluster, resource: &'static str, options: InformerOptions) {
    // This fault has no effect on clients, and counts the lists.
    let lists = cluster.server.faults().inject(Fault::pieces(1000).on(Verb::List).of(resource));
    let mut churn = Churn::new(cluster, resource, 7);
    churn.make(200);

    let mut informer = ClientGoInformer::start(cluster, resource, options);
    informer.wait_for_sync();
    assert_eq!(lists.hits() == 0, options.watch_list, "an unexpected list mode");
    assert_eq!(informer.events.iter().filter(|event| event.initial).count(), 200);
    assert_eq!(informer.contents, cluster.contents(resource));

    churn.change(1000);
    churn.end();
    let contents = cluster.contents(resource);
    informer.wait_for_contents(&contents);
    assert_eq!(informer.changes(), churn.changes[200..]);
    assert_eq!(informer.end(), contents);
}

#[test]
fn receives_json_after_a_list() {
    check(&Cluster::start(), "pods", InformerOptions { accept: "json", watch_list: false });
}

#[test]
fn receives_json_after_a_streaming_list() {
    check(&Cluster::start(), "configmaps", InformerOptions { accept: "json", watch_list: true });
}

#[test]
fn receives_protobuf_or_json_after_a_list() {
    check(&Cluster::start(), "configmaps", InformerOptions { accept: "protobuf", watch_list: false });
}

#[test]
fn receives_protobuf_or_json_after_a_streaming_list() {
    check(&Cluster::start(), "pods", InformerOptions { accept: "protobuf", watch_list: true });
}

#[test]
fn receives_changes_over_tls_and_http_2() {
    check(&Cluster::start_secure(), "pods", InformerOptions { accept: "protobuf", watch_list: true });
    check(&Cluster::start_secure(), "pods", InformerOptions { accept: "json", watch_list: false });
}
