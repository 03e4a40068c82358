//! `informer record`.

use crate::folder::folder;
use crate::program::{Running, end, informer, run};
use crate::recorder::{Recorder, count, read};
use crate::server::{Cluster, pod};
use kube_devserver::{Fault, Verb};
use kube_history::{Event, History};
use serde_json::{Value, json};
use std::path::Path;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
};

fn config_map(name: &str, text: &str) -> Value {
    json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"namespace": "shop", "name": name}, "data": {"text": text}})
}

fn secret() -> Value {
    json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"namespace": "shop", "name": "keys"}, "stringData": {"password": "hunter2"}})
}

/// Whether a text is in one of the objects at the end of the recording.
fn contains(dir: &Path, text: &str) -> bool {
    let history = History::open(dir).unwrap();
    let snapshot = history.at(history.span().unwrap().end).unwrap();
    let kinds = history.kinds().unwrap();
    kinds.iter().flat_map(|(kind, _)| snapshot.list(*kind, None)).any(|version| {
        let object: Value = version.unwrap().decode().unwrap();
        object.to_string().contains(text)
    })
}

#[tokio::test(flavor = "multi_thread")]
async fn everything_but_secrets_is_recorded_by_default() {
    let cluster = Cluster::start().await;
    cluster.create(pod("shop", "a")).await;
    cluster.create(secret()).await;
    let dir = folder().join("history");
    let recorder = Recorder::start_in(&cluster, dir.clone(), &[]).await;
    recorder.recorded("pods", "shop/a", Event::Added).await;
    recorder.recorded("namespaces", "shop", Event::Added).await;
    let ended = recorder.stop().await;
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    assert!(ended.stderr.contains("Secrets are not recorded"), "{}", ended.stderr);
    assert!(ended.stderr.contains("may contain secrets; --redact"), "{}", ended.stderr);
    let history = History::open(&dir).unwrap();
    assert!(history.kind("secrets").is_err());
    assert!(history.kind("deployments.apps").is_ok());
    let events = history.kinds().unwrap().into_iter().filter(|(_, kind)| kind.plural == "events").count();
    assert_eq!(events, 1, "both groups of Events have the same objects");
}

#[tokio::test(flavor = "multi_thread")]
async fn secrets_are_recorded_only_on_request() {
    let cluster = Cluster::start().await;
    cluster.create(secret()).await;
    let dir = folder().join("history");
    let arguments = ["record", "secrets", "--dir", dir.to_str().unwrap(), "--kubeconfig", cluster.config()];
    let ended = run(&arguments).await;
    assert_eq!(ended.code, Some(2), "{ended:?}");
    assert!(
        ended.stderr.contains("secrets are not recorded by default\n  add --secrets"),
        "{}",
        ended.stderr
    );
    assert!(!dir.exists());
    let recorder = Recorder::start(&cluster, "secrets", &["--secrets"]).await;
    recorder.recorded("secrets", "shop/keys", Event::Added).await;
    let ended = recorder.stop().await;
    assert!(ended.stderr.contains("warning: Secrets are recorded without encryption"), "{}", ended.stderr);
}

#[tokio::test(flavor = "multi_thread")]
async fn redacted_values_are_not_written() {
    let cluster = Cluster::start().await;
    cluster.create(config_map("settings", "hunter2")).await;
    let recorder = Recorder::start(&cluster, "configmaps", &["--redact", "configmaps:/data/*"]).await;
    recorder.recorded("configmaps", "shop/settings", Event::Added).await;
    let dir = recorder.dir.clone();
    assert!(contains(&dir, "REDACTED") && !contains(&dir, "hunter2"));
    let ended = recorder.stop().await;
    assert!(!ended.stderr.contains("may contain secrets"), "{}", ended.stderr);
    let wrong = run(&["record", "--dir", "x", "--redact", "data"]).await;
    assert_eq!(wrong.code, Some(2));
    assert!(wrong.stderr.contains("invalid redaction path \"data\""), "{}", wrong.stderr);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_folder_has_one_recorder() {
    let cluster = Cluster::start().await;
    let first = Recorder::start(&cluster, "pods", &[]).await;
    let ended = run(&["record", "pods", "--dir", first.dir(), "--kubeconfig", cluster.config()]).await;
    assert_eq!(ended.code, Some(1));
    assert!(ended.stderr.contains("is locked by another recorder"), "{}", ended.stderr);
    assert!(ended.stderr.contains("use another --dir"), "{}", ended.stderr);
    assert_eq!(first.stop().await.code, Some(0));
}

#[tokio::test(flavor = "multi_thread")]
async fn the_next_recording_continues_with_a_gap() {
    let cluster = Cluster::start().await;
    cluster.create(pod("shop", "a")).await;
    let first = Recorder::start(&cluster, "pods", &[]).await;
    first.recorded("pods", "shop/a", Event::Added).await;
    let dir = first.dir.clone();
    assert_eq!(first.stop().await.code, Some(0));
    cluster.delete(&pod("shop", "a")).await;
    let second = Recorder::start_in(&cluster, dir, &["pods"]).await;
    second.recorded("pods", "shop/a", Event::Deleted).await;
    let ended = read(second.dir(), &["changes", "--since", "1h"]).await;
    assert!(ended.stdout.contains("missing in a list; the deletion itself was not received"), "{ended:?}");
    assert!(ended.stderr.contains("recorder was not running"), "{}", ended.stderr);
    assert!(ended.stderr.contains("pods: changes may be missing from "), "{}", ended.stderr);
    assert_eq!(second.stop().await.code, Some(0));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_watch_that_cannot_be_continued_is_a_gap() {
    let cluster = Cluster::start().await;
    cluster.create(pod("shop", "a")).await;
    let recorder = Recorder::start(&cluster, "pods", &[]).await;
    recorder.recorded("pods", "shop/a", Event::Added).await;
    // The version of the last event has expired.
    cluster.create(config_map("other", "")).await;
    cluster.server.compact();
    cluster.server.cut_watches();
    cluster.patch(&pod("shop", "a"), json!({"metadata": {"labels": {"after": "expiry"}}})).await;
    let is_gap = |history: &History| {
        let gaps = history.gaps().unwrap();
        gaps.iter().any(|gap| gap.reason != "not listed yet" && gap.to.is_some())
    };
    recorder.until(is_gap).await;
    recorder.until(|_| contains(&recorder.dir, "expiry")).await;
    assert_eq!(recorder.stop().await.code, Some(0));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_definition_that_is_deleted_deletes_its_objects() {
    let definition = json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": "sites.example.com"},
        "spec": {
            "group": "example.com", "scope": "Namespaced",
            "names": {"plural": "sites", "kind": "Site", "shortNames": ["si"]},
            "versions": [{
                "name": "v1", "served": true, "storage": true,
                "schema": {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": true}},
                "additionalPrinterColumns": [{"name": "Host", "type": "string", "jsonPath": ".spec.host"}],
            }],
        },
    });
    let site = json!({"apiVersion": "example.com/v1", "kind": "Site", "metadata": {"namespace": "shop", "name": "a"}, "spec": {"host": "a"}});
    let cluster = Cluster::start().await;
    let dir = folder().join("history");
    let recorder = Recorder::start_in(&cluster, dir, &["--discover-every", "200ms"]).await;
    for round in 1..=2 {
        cluster.create(definition.clone()).await;
        cluster.create(site.clone()).await;
        recorder.until(|history| count(history, "si", "shop/a", Event::Added) == round).await;
        cluster.delete(&definition).await;
        recorder.until(|history| count(history, "si", "shop/a", Event::Deleted) == round).await;
    }
    let history = History::open(&recorder.dir).unwrap();
    let (_, kind) = history.kinds().unwrap().into_iter().find(|(_, kind)| kind.plural == "sites").unwrap();
    assert_eq!(kind.printer_columns[0]["jsonPath"], ".spec.host");
    assert_eq!(recorder.stop().await.code, Some(0));
}

async fn request(address: &str, path: &str) -> String {
    let mut socket = TcpStream::connect(address).await.unwrap();
    socket.write_all(format!("GET {path} HTTP/1.1\r\nHost: {address}\r\n\r\n").as_bytes()).await.unwrap();
    let mut response = String::new();
    socket.read_to_string(&mut response).await.unwrap();
    response
}

#[tokio::test(flavor = "multi_thread")]
async fn the_page_of_the_recording_is_served_while_it_is_written() {
    let cluster = Cluster::start().await;
    cluster.create(pod("shop", "a")).await;
    let dir = folder().join("history");
    let arguments = ["record", "pods", "--dir", dir.to_str().unwrap(), "--kubeconfig", cluster.config()];
    let mut running = Running::start(&[&arguments[..], &["--web", "127.0.0.1:0"]].concat());
    let mut line = running.line().await;
    while !line.starts_with("listening on ") {
        line = running.line().await;
    }
    let address = line.trim_start_matches("listening on http://").trim_end_matches('/').to_owned();
    let get = async |path: &str| {
        let mut socket = TcpStream::connect(&address).await.unwrap();
        let head = format!("GET {path} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n");
        socket.write_all(head.as_bytes()).await.unwrap();
        let mut response = String::new();
        socket.read_to_string(&mut response).await.unwrap();
        response
    };
    assert!(get("/").await.contains("<html"));
    cluster.create(pod("shop", "b")).await;
    let mut ticks = tokio::time::interval(std::time::Duration::from_millis(100));
    loop {
        let objects = get("/api/v1/objects?kind=pods").await;
        if objects.contains("shop/b") {
            break;
        }
        assert!(!running.has_ended(), "{objects}");
        ticks.tick().await;
    }
    running.signal("INT").await;
    assert_eq!(running.end().await.code, Some(0));
    let exposed = run(&[&arguments[..], &["--web", "0.0.0.0:0"]].concat()).await;
    assert_eq!(exposed.code, Some(2));
    assert!(exposed.stderr.contains("is not a loopback address"), "{}", exposed.stderr);
}

#[tokio::test(flavor = "multi_thread")]
async fn probes_and_metrics_are_served() {
    let cluster = Cluster::start().await;
    cluster.create(pod("shop", "a")).await;
    let dir = folder().join("history");
    let arguments = ["record", "pods", "--dir", dir.to_str().unwrap(), "--metrics", "127.0.0.1:0"];
    let mut running = Running::start(&[&arguments[..], &["--kubeconfig", cluster.config()]].concat());
    let line = running.line().await;
    let address = line.rsplit_once("http://").unwrap().1.to_owned();
    let mut metrics = String::new();
    let mut ticks = tokio::time::interval(std::time::Duration::from_millis(20));
    while !metrics.contains("\ninformer_record_objects 1\n") {
        ticks.tick().await;
        metrics = request(&address, "/metrics").await;
    }
    assert!(metrics.contains("\ninformer_record_changes_total 1\n"), "{metrics}");
    assert!(metrics.contains("\ninformer_record_lag_seconds "), "{metrics}");
    for path in ["/healthz", "/readyz"] {
        assert!(request(&address, path).await.starts_with("HTTP/1.1 200 OK"), "{path}");
    }
    assert!(request(&address, "/other").await.starts_with("HTTP/1.1 404"));
    running.signal("TERM").await;
    assert_eq!(running.end().await.code, Some(0));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_recorder_is_ready_without_the_resources_that_it_may_not_read() {
    let cluster = Cluster::start().await;
    for verb in [Verb::List, Verb::Watch] {
        cluster.server.faults().inject(Fault::answer(403).on(verb).of("configmaps"));
    }
    let dir = folder().join("history");
    let arguments = ["record", "--dir", dir.to_str().unwrap(), "--metrics", "127.0.0.1:0"];
    let mut running = Running::start(&[&arguments[..], &["--kubeconfig", cluster.config()]].concat());
    let line = running.line().await;
    let address = line.rsplit_once("http://").unwrap().1.to_owned();
    let mut ticks = tokio::time::interval(std::time::Duration::from_millis(20));
    // From the first response on, it is not ready before all lists were received or denied.
    while !request(&address, "/readyz").await.starts_with("HTTP/1.1 200 OK") {
        ticks.tick().await;
    }
    let metrics = request(&address, "/metrics").await;
    assert!(metrics.contains("\ninformer_record_denied 1\n"), "{metrics}");
    assert!(metrics.contains("\ninformer_record_unlisted 0\n"), "{metrics}");
    running.signal("TERM").await;
    let ended = running.end().await;
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert!(ended.stderr.contains("configmaps: server returned 403"), "{}", ended.stderr);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_last_recording_of_the_context_is_read_by_default() {
    let cluster = Cluster::start().await;
    cluster.create(pod("shop", "a")).await;
    let home = folder();
    let command = |arguments: &[&str]| {
        let mut command = informer(arguments);
        command.env("HOME", &home).env("KUBECONFIG", cluster.config());
        command
    };
    let ended = end(command(&["get", "pods", "--at", "now"])).await;
    assert_eq!(ended.code, Some(2), "{ended:?}");
    assert!(ended.stderr.contains("no recording of devserver is known\n  set --dir"), "{}", ended.stderr);
    let dir = home.join("history");
    let ended = end(command(&["record", "pods", "--timeout", "3s", "--dir", dir.to_str().unwrap()])).await;
    assert_eq!(ended.code, Some(0), "{ended:?}");
    let ended = end(command(&["get", "pods", "--at", "now"])).await;
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert!(ended.stdout.contains("shop       a"), "{ended:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_named_resource_that_may_not_be_read_is_an_error() {
    let cluster = Cluster::start().await;
    let denied = Fault::answer(403).on(Verb::List).of("pods");
    cluster.server.faults().inject(denied);
    let denied = Fault::answer(403).on(Verb::Watch).of("pods");
    cluster.server.faults().inject(denied);
    let dir = folder().join("history");
    let ended =
        run(&["record", "pods", "--dir", dir.to_str().unwrap(), "--kubeconfig", cluster.config()]).await;
    assert_eq!(ended.code, Some(5), "{ended:?}");
    assert!(ended.stderr.contains("pods cannot be recorded: server returned 403"), "{}", ended.stderr);
}
