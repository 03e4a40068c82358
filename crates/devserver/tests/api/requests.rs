//! The log of requests, faults for some of them, and the clock.

use crate::probe::{MAPS, PODS, Probe, named, refusal};
use http::{Method, Request};
use kube::client::Body;
use kube_devserver::{Fault, Verb};
use serde_json::json;
use std::time::Duration;

#[tokio::test]
async fn requests_are_logged_with_their_codes() {
    let probe = Probe::new();
    probe.make_maps(["a"]).await;
    probe.get(&format!("{PODS}/none/status")).await;
    let user = Probe { client: probe.server.client_as("alice"), server: kube_devserver::DevServer::start() };
    user.get(MAPS).await;
    let log = probe.server.requests();
    let lines: Vec<_> = log
        .iter()
        .map(|one| {
            let verb = one.verb.map_or("", Verb::as_str);
            format!(
                "{verb} {} {} {} {} {} {}",
                one.resource, one.namespace, one.name, one.subresource, one.user, one.code
            )
        })
        .collect();
    assert_eq!(
        lines,
        [
            "create configmaps default   system:admin 201",
            "get pods default none status system:admin 404",
            "list configmaps default   alice 403",
        ]
    );
    assert_eq!((log[0].method.as_str(), log[0].path.as_str()), ("POST", MAPS));
    probe.server.clear_requests();
    assert_eq!(probe.server.requests(), []);
    for number in 0..5000 {
        probe.get(&format!("/version?{number}")).await;
    }
    let log = probe.server.requests();
    assert_eq!((log.len(), log[0].path.as_str()), (4096, "/version?904"));
}

/// Returns which of these requests meet a fault.
async fn struck(fault: Fault) -> Vec<&'static str> {
    let probe = Probe::new();
    probe.make("/api/v1/namespaces", named("ops")).await;
    probe.server.faults().inject(fault);
    let mut struck = Vec::new();
    let ask = async |name: &'static str, method: Method, path: &str, agent: &str| {
        let request = Request::builder().method(method).uri(path).header("user-agent", agent);
        let response = probe.send(request.body(Body::empty()).unwrap()).await;
        (response.status() == 418).then_some(name)
    };
    struck.extend(ask("list", Method::GET, MAPS, "one/1").await);
    struck.extend(ask("get", Method::GET, &format!("{MAPS}/a"), "one/1").await);
    struck.extend(ask("other", Method::GET, &format!("{MAPS}/b"), "one/1").await);
    struck.extend(ask("status", Method::GET, &format!("{PODS}/a/status"), "one/1").await);
    struck.extend(ask("ops", Method::GET, "/api/v1/namespaces/ops/configmaps/a", "one/1").await);
    struck.extend(ask("two", Method::GET, &format!("{MAPS}/c"), "two/1").await);
    struck
}

#[tokio::test]
async fn faults_select_by_name_namespace_subresource_and_client() {
    let fault = || Fault::answer(418);
    assert_eq!(struck(fault().named("a")).await, ["get", "status", "ops"]);
    assert_eq!(struck(fault().in_namespace("ops")).await, ["ops"]);
    assert_eq!(struck(fault().subresource("status")).await, ["status"]);
    assert_eq!(struck(fault().by_client("two")).await, ["two"]);
    assert_eq!(struck(fault().by_client("system:admin").of("pods")).await, ["status"]);
    assert_eq!(struck(fault().by_client("nobody")).await, [""; 0]);
    assert_eq!(struck(fault().of("configmaps").in_namespace("default").named("a")).await, ["get"]);
}

#[tokio::test]
async fn an_unknown_selector_is_an_error() {
    let read = |text: &str| Fault::from_json(text);
    let sound =
        r#"{"fault":"answer","code":500,"name":"a","namespace":"b","subresource":"status","client":"c"}"#;
    let expected = Fault::answer(500).named("a").in_namespace("b").subresource("status").by_client("c");
    assert_eq!(read(sound).unwrap(), expected);
    let error = read(r#"{"fault":"answer","code":500,"named":"a"}"#).unwrap_err().to_string();
    assert!(
        error.contains("unknown field \"named\"; expected one of fault, code, retryAfter, verb"),
        "{error}"
    );
    assert!(read(r#"{"fault":"dropBookmarks","seconds":3}"#).is_err());
    let probe = Probe::of(kube_devserver::DevServer::builder().control().start().await.unwrap());
    let answer = probe.post("/devserver/faults", json!({ "fault": "answer", "code": 500, "nam": "a" })).await;
    assert_eq!(refusal(&answer), (400, "BadRequest"));
}

#[tokio::test]
async fn a_client_can_be_exempt_from_faults() {
    let probe = Probe::new();
    let exempt =
        Probe { client: probe.server.client_without_faults(), server: kube_devserver::DevServer::start() };
    let fault = probe.server.faults().inject(Fault::answer(503));
    let refused = probe.server.faults().inject(Fault::refuse_connections(Duration::from_secs(3600)));
    exempt.make_maps(["a"]).await;
    refused.withdraw();
    assert_eq!(probe.get(MAPS).await.0, 503);
    assert_eq!(exempt.get(MAPS).await.0, 200);
    assert_eq!(fault.hits(), 1);
}

#[tokio::test(start_paused = true)]
async fn the_time_in_objects_is_that_of_the_paused_clock() {
    let probe = Probe::new();
    let time = |object: &serde_json::Value| -> jiff::Timestamp {
        object["metadata"]["creationTimestamp"].as_str().unwrap().parse().unwrap()
    };
    let first = time(&probe.make(MAPS, named("a")).await);
    tokio::time::advance(Duration::from_secs(86_400)).await;
    let second = time(&probe.make(MAPS, named("b")).await);
    let days = second.duration_since(first).as_secs();
    assert!((86_399..=86_401).contains(&days), "{days}");
}
