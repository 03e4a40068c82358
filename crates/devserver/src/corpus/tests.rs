//! Tests of the corpus.

use super::{Pods, Widgets, mutate};
use proptest::prelude::*;
use serde_json::{Value, json};
use std::collections::HashSet;

fn text<'a>(pod: &'a Value, pointer: &str) -> &'a str {
    pod.pointer(pointer).and_then(Value::as_str).unwrap_or_default()
}

fn all(count: u64) -> impl Iterator<Item = Value> {
    let pods = Pods::new(1);
    (0..count).map(move |index| pods.pod(index))
}

#[test]
fn pods_have_the_size_of_real_ones() {
    let pods = Pods::new(1);
    let mut sizes: Vec<_> = (0..20_000).map(|index| pods.json(index).len()).collect();
    sizes.sort_unstable();
    let (median, mean) = (sizes[sizes.len() / 2], sizes.iter().sum::<usize>() / sizes.len());
    println!("median {median}, mean {mean}, least {}, most {}", sizes[0], sizes[sizes.len() - 1]);
    assert!((9_500..=10_500).contains(&median), "median {median}");
    assert!((10_500..=11_500).contains(&mean), "mean {mean}");
}

#[test]
fn a_pod_is_a_function_of_its_seed_and_index() {
    let (pods, again, others) = (Pods::new(7), Pods::new(7), Pods::new(8));
    for index in [0, 1, 12_345, u64::MAX] {
        assert_eq!(pods.json(index), again.json(index));
        assert_ne!(pods.json(index), others.json(index));
    }
    assert_eq!(pods.checksum(100), again.checksum(100));
    assert_ne!(pods.checksum(100), others.checksum(100));
}

#[test]
fn the_corpus_of_benchmarks_does_not_change() {
    assert_eq!(Pods::new(1).checksum(1_000).to_string(), "f5179a949888ccee");
}

#[test]
fn pods_are_decoded_by_k8s_openapi() {
    for pod in all(300) {
        let typed: k8s_openapi::api::core::v1::Pod = serde_json::from_value(pod.clone()).unwrap();
        assert_eq!(serde_json::to_value(typed).unwrap()["spec"]["containers"], pod["spec"]["containers"]);
        let managed = pod["metadata"]["managedFields"].as_array().unwrap();
        let managers: Vec<_> = managed.iter().map(|one| text(one, "/manager")).collect();
        assert_eq!(managers, ["kube-controller-manager", "kubelet"]);
        assert!(!pod.to_string().contains("${"), "a slot is left");
    }
}

#[test]
fn the_kinds_of_owners_have_the_documented_shares() {
    let pods = Pods::new(1);
    let texts: Vec<_> = (0..12_000).map(|index| pods.json(index)).collect();
    let table = [
        ("\"kind\":\"ReplicaSet\"", 82.0),
        ("\"kind\":\"DaemonSet\"", 13.0),
        ("\"kind\":\"Job\"", 5.0),
        ("\"name\":\"istio-proxy\"", 10.0),
    ];
    for (sign, expected) in table {
        let found = texts.iter().filter(|text| text.contains(sign)).count();
        let percent = found as f64 / 120.0;
        assert!((percent - expected).abs() < 4.0, "{sign}: {percent}");
    }
}

#[test]
fn names_and_uids_are_unique_and_nodes_hold_thirty() {
    let (mut names, mut uids, mut nodes, mut namespaces) =
        (HashSet::new(), HashSet::new(), HashSet::new(), HashSet::new());
    for pod in all(2_400) {
        let name = [text(&pod, "/metadata/namespace"), text(&pod, "/metadata/name")].join("/");
        assert!(names.insert(name));
        assert!(uids.insert(text(&pod, "/metadata/uid").to_owned()));
        nodes.insert(text(&pod, "/spec/nodeName").to_owned());
        namespaces.insert(text(&pod, "/metadata/namespace").to_owned());
    }
    assert_eq!(nodes.len(), 80);
    assert!(namespaces.iter().all(|name| Pods::namespaces().any(|known| known == name)));
    assert_eq!(namespaces.len(), 40);
}

#[test]
fn managed_fields_list_the_fields_of_the_object() {
    let pod = all(100).find(|pod| pod["spec"]["containers"][0]["env"].is_array()).unwrap();
    let container = &pod["spec"]["containers"][0];
    let key = format!("k:{{\"name\":{}}}", container["name"]);
    let fields = &pod["metadata"]["managedFields"][0]["fieldsV1"]["f:spec"]["f:containers"][&key];
    let env = format!("k:{{\"name\":{}}}", container["env"][0]["name"]);
    assert_eq!(fields["f:env"][&env]["f:name"], json!({}));
    assert_eq!(fields["f:image"], json!({}));
    let status = &pod["metadata"]["managedFields"][1]["fieldsV1"]["f:status"];
    assert_eq!(status["f:conditions"]["k:{\"type\":\"Ready\"}"]["f:status"], json!({}));
}

#[test]
fn custom_resources_have_the_size_of_real_ones() {
    let widgets = Widgets::new(1);
    let sizes = (0..2_000).map(|index| widgets.json(index).len());
    let mean = sizes.sum::<usize>() / 2_000;
    assert!((3_600..=4_400).contains(&mean), "mean {mean}");
    assert_eq!(text(&widgets.widget(3), "/kind"), "Widget");
    assert_eq!(crate::testing::widgets().api_version(), text(&widgets.widget(0), "/apiVersion"));
}

#[test]
fn each_tick_changes_a_pod() {
    let mut pod = Pods::new(1).pod(0);
    for tick in 0..8 {
        let before = pod.clone();
        mutate(&mut pod, tick);
        assert_ne!(pod, before, "{tick}");
        assert_eq!(pod["metadata"]["uid"], before["metadata"]["uid"]);
    }
    assert_eq!(pod["metadata"]["labels"]["kube-informer.dev/revision"], "7");
    let _: k8s_openapi::api::core::v1::Pod = serde_json::from_value(pod).unwrap();
}

proptest! {
    #[test]
    fn anything_can_be_changed(mut object in crate::testing::value(), tick: u64) {
        mutate(&mut object, tick);
        prop_assert!(object.is_object());
    }
}
