//! The reflectors of kube-rs work with the server in every list mode.

use crate::probe::{MAPS, Probe, named};
use futures_util::{StreamExt, pin_mut};
use k8s_openapi::api::core::v1::ConfigMap;
use kube::{
    Api,
    runtime::{reflector, watcher, watcher::Config},
};
use kube_devserver::Fault;
use serde_json::json;
use std::{collections::BTreeMap, time::Duration};

/// Returns the objects as listed by the server.
async fn listed(probe: &Probe) -> BTreeMap<String, String> {
    let (_, list) = probe.get(MAPS).await;
    let text = |value: &serde_json::Value| value.as_str().unwrap_or_default().to_owned();
    let items = list["items"].as_array().unwrap().iter();
    items.map(|item| (text(&item["metadata"]["name"]), text(&item["data"]["x"]))).collect()
}

/// Makes a thousand changes; the last one creates the object `last`.
async fn change(probe: &Probe) {
    for turn in 0..999_usize {
        let path = format!("{MAPS}/m{}", turn % 37);
        let (code, _) = probe.patch(&path, json!({ "data": { "x": turn.to_string() } })).await;
        if code == 404 {
            probe.make(MAPS, named(&format!("m{}", turn % 37))).await;
        } else if turn % 5 == 0 {
            probe.delete(&path).await;
        }
    }
    probe.make_maps(["last"]).await;
}

async fn check_reflector(config: Config, fault: Option<Fault>) {
    let probe = Probe::new();
    probe.make_maps(["m1", "m2", "m3"]).await;
    let fault = fault.map(|fault| probe.server.faults().inject(fault));
    let (reader, writer) = reflector::store();
    let events = watcher(Api::<ConfigMap>::namespaced(probe.client.clone(), "default"), config);
    let stream = reflector::reflector(writer, events);
    pin_mut!(stream);
    let following = async {
        while stream.next().await.is_some() {
            if reader.state().iter().any(|map| map.metadata.name.as_deref() == Some("last")) {
                return;
            }
        }
    };
    let both = async { tokio::join!(following, change(&probe)) };
    tokio::time::timeout(Duration::from_secs(3600), both).await.expect("the last change is seen");
    let seen = reader.state().into_iter().map(|map| {
        let data = map.data.as_ref().and_then(|data| data.get("x")).cloned().unwrap_or_default();
        (map.metadata.name.clone().unwrap(), data)
    });
    assert_eq!(seen.collect::<BTreeMap<_, _>>(), listed(&probe).await);
    assert!(fault.is_none_or(|fault| fault.hits() > 0));
}

#[tokio::test(start_paused = true)]
async fn a_reflector_syncs_by_pages_and_a_watch() {
    check_reflector(Config::default().page_size(2), None).await;
}

#[tokio::test(start_paused = true)]
async fn a_reflector_syncs_by_a_streaming_list() {
    check_reflector(Config::default().streaming_lists(), None).await;
}

#[tokio::test(start_paused = true)]
async fn a_reflector_syncs_when_watches_are_cut() {
    check_reflector(Config::default(), Some(Fault::cut_after_events(100).abruptly())).await;
    check_reflector(Config::default().streaming_lists(), Some(Fault::cut_after_events(100))).await;
}
