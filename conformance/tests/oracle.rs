//! The devserver computes what the libraries of kube-apiserver compute.
//!
//! `cargo xtask test oracle` builds the program with these libraries, and selects this target by name.

use kube_devserver::oracle;

#[test]
fn built_in_kinds_change_as_in_kube_apiserver() {
    oracle::built_in_kinds_change_as_in_kube_apiserver();
}

#[test]
fn custom_resources_change_by_their_schema_as_in_kube_apiserver() {
    oracle::custom_resources_change_by_their_schema_as_in_kube_apiserver();
}

#[test]
fn built_in_kinds_have_the_defaults_of_kubernetes() {
    oracle::built_in_kinds_have_the_defaults_of_kubernetes();
}

#[tokio::test]
async fn objects_are_accepted_as_by_kube_apiserver() {
    oracle::objects_are_accepted_as_by_kube_apiserver().await;
}
