//! Tests of the page's server: both sources, the API, the stream and access over HTTP.

use super::{
    access::{Access, Transport},
    api::answer,
    live::{Live, LiveOptions, OWNER_NAMES},
    recorded::Recorded,
    server::Site,
    source::ChangeSource,
    stream::STALLED,
};
use crate::informers::WatchedResource;
use crate::kinds::Kind;
use crate::meter::MetricValues;
use jiff::Timestamp;
use kube_client::{
    Api, Client,
    api::{DeleteParams, Patch, PatchParams, PostParams},
};
use kube_core::DynamicObject;
use kube_devserver::{AllowedHosts, DevServer};
use kube_informer::Informer;
use kube_informer_wire::{EventType, Format, ManagedFields, Raw};
use serde_json::{Value, json};
use std::sync::Arc;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt, DuplexStream, duplex},
    sync::watch,
};

/// Live caches of ConfigMaps and Secrets.
struct Fixture {
    source: Arc<Live>,
    client: Client,
    _server: DevServer,
}

fn kind(plural: &str, name: &str) -> Kind {
    let verbs = ["list", "watch"].map(str::to_owned).to_vec();
    Kind {
        version: "v1".into(),
        plural: plural.into(),
        singular: name.to_lowercase(),
        kind: name.into(),
        has_namespaces: true,
        verbs,
        ..Kind::default()
    }
}

impl Fixture {
    async fn start() -> Self {
        let server = DevServer::start();
        let client = server.client();
        let follow = |kind: Kind| {
            let informer = Informer::<DynamicObject>::dynamic(client.clone(), kind.api_resource());
            let mut informer = informer.managed_fields(ManagedFields::Keep);
            for (name, path) in OWNER_NAMES {
                informer = informer.index_path(name, path);
            }
            WatchedResource { kind, name: None, context: None, informer: informer.build().unwrap() }
        };
        let watched = vec![follow(kind("configmaps", "ConfigMap")), follow(kind("secrets", "Secret"))];
        let (_, notice) = watch::channel(None);
        let options = LiveOptions {
            watched: watched.clone(),
            metric_values: MetricValues::default(),
            server: "test".into(),
            scope: String::new(),
            notice,
        };
        let source = Arc::new(Live::new(options));
        tokio::spawn(Arc::clone(&source).record());
        for watched in watched {
            watched.informer.start();
            watched.informer.synced().await.unwrap();
        }
        Self { source, client, _server: server }
    }

    fn api(&self, kind: &Kind) -> Api<DynamicObject> {
        Api::namespaced_with(self.client.clone(), "default", &kind.api_resource())
    }

    async fn create(&self, kind: &Kind, name: &str, data: Value) {
        let object = json!({"apiVersion": "v1", "kind": kind.kind, "metadata": {"name": name, "namespace": "default"}, "data": data});
        let object = serde_json::from_value(object).unwrap();
        self.api(kind).create(&PostParams::default(), &object).await.unwrap();
    }

    async fn patch(&self, kind: &Kind, name: &str, data: Value, manager: &str) {
        let params = PatchParams { field_manager: Some(manager.into()), ..PatchParams::default() };
        self.api(kind).patch(name, &params, &Patch::Merge(json!({"data": data}))).await.unwrap();
    }

    /// Waits until the log has this number of changes, and returns the time of the last one.
    async fn changes(&self, number: u64) -> i64 {
        self.source.progress().wait_for(|next| *next >= number).await.unwrap();
        self.source.log().end()
    }

    fn get(&self, path: &str, query: &str) -> Value {
        answer(&*self.source, path, query).unwrap()
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn live_caches_show_the_state_of_every_moment() {
    let fixture = Fixture::start().await;
    let maps = kind("configmaps", "ConfigMap");
    fixture.create(&maps, "a", json!({"x": "1"})).await;
    let created = fixture.changes(1).await;
    fixture.patch(&maps, "a", json!({"x": "2"}), "tester").await;
    let patched = fixture.changes(2).await;
    fixture.api(&maps).delete("a", &DeleteParams::default()).await.unwrap();
    let deleted = fixture.changes(3).await;

    let object = |at: i64| fixture.get("object", &format!("kind=configmaps&key=default/a&at={at}"));
    let line = |at: i64| object(at)["yaml"].as_array().unwrap().iter().any(|line| line == "  x: \"2\"");
    assert!(!line(created) && line(patched));
    assert_eq!(object(deleted)["deleted"], deleted);
    assert!(line(deleted), "a deleted object is shown as it was");
    let before =
        answer(&*fixture.source, "object", &format!("kind=configmaps&key=default/a&at={}", created - 1));
    assert_eq!(before.unwrap()["exists"], false);

    let rows = |at: i64| fixture.get("objects", &format!("kind=configmaps&q=default/a&at={at}"));
    assert_eq!(rows(created - 1)["total"], 0);
    assert_eq!(rows(patched)["rows"][0]["deleted"], Value::Null);
    assert_eq!(rows(deleted)["rows"][0]["deleted"], deleted);

    let diff = fixture.get("diff", &format!("kind=configmaps&key=default/a&from={created}&to={patched}"));
    assert_eq!(diff["fields"], json!([{"path": "data.x", "old": "1", "new": "2"}]));
    let changes = fixture.get("changes", "kind=configmaps&manager=tester");
    assert_eq!(changes["changes"].as_array().unwrap().len(), 1);
    assert_eq!(changes["changes"][0]["fields"], json!(["data.x"]));
    let compared = fixture.get("compare", &format!("from={created}&to={deleted}"));
    assert_eq!(compared["differences"][0]["what"], "deleted");
    // It existed at neither moment.
    assert_eq!(fixture.get("compare", &format!("from={}&to={deleted}", created - 1))["total"], 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn no_response_contains_a_value_of_a_secret() {
    let fixture = Fixture::start().await;
    let secrets = kind("secrets", "Secret");
    fixture.create(&secrets, "db", json!({"password": "aHVudGVyMg=="})).await;
    fixture.patch(&secrets, "db", json!({"password": "aHVudGVyMw=="}), "tester").await;
    let end = fixture.changes(2).await;
    let object = "kind=secrets&key=default/db";
    for (path, query) in [
        ("object", object.to_owned()),
        ("diff", format!("{object}&from=0&to={end}")),
        ("diff", format!("{object}&from={}&to={end}", end - 1)),
        ("changes", String::new()),
        ("objects", String::new()),
        ("compare", String::new()),
        ("churn", String::new()),
        ("cause", object.to_owned()),
        ("timeline", "lanes=object".to_owned()),
    ] {
        let response = fixture.get(path, &query).to_string();
        assert!(!response.contains("aHVudGVy"), "{path}?{query}: {response}");
    }
    let diff = fixture.get("diff", &format!("{object}&from={}&to={end}", end - 1));
    assert_eq!(diff["fields"][0]["path"], "data.password");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_field_that_two_managers_write_alternately_is_a_fight() {
    let fixture = Fixture::start().await;
    let maps = kind("configmaps", "ConfigMap");
    fixture.create(&maps, "a", json!({"x": "0"})).await;
    for round in 1..=6 {
        let manager = if round % 2 == 0 { "even" } else { "odd" };
        fixture.patch(&maps, "a", json!({"x": round.to_string()}), manager).await;
        fixture.changes(round + 1).await;
    }
    let fights = fixture.get("fights", "");
    assert_eq!(fights[0]["field"], "data.x");
    assert_eq!(fights[0]["managers"], json!(["even", "odd"]));
    assert_eq!(fights[0]["switches"], 5);
}

#[tokio::test(flavor = "multi_thread")]
async fn invalid_requests_are_refused() {
    let fixture = Fixture::start().await;
    let code = |path: &str, query: &str| answer(&*fixture.source, path, query).unwrap_err().code;
    assert_eq!(code("timeline", "lanes=color"), 400);
    assert_eq!(code("nothing", ""), 404);
    assert_eq!(code("object", "kind=pods&key=a"), 400);
    assert_eq!(code("object", "kind=configmaps"), 400);
    assert_eq!(code("object", "kind=configmaps&key=missing"), 404);
    assert_eq!(code("change", "n=7"), 404);
    assert_eq!(code("changes", "verb=moved"), 400);
}

#[test]
fn a_recorded_history_is_shown_while_it_is_recorded() {
    use kube_history::{Kind, List, Recorder, RecorderOptions};
    let folder = std::env::temp_dir().join(format!("informer-web-{}", std::process::id()));
    let _ = std::fs::remove_dir_all(&folder);
    let second = |second: i64| Timestamp::from_second(1_800_000_000 + second).unwrap();
    let pod = |version: u64, phase: &str| {
        let json = json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a", "namespace": "web", "uid": "1",
            "resourceVersion": version.to_string(), "ownerReferences": [{"kind": "ReplicaSet", "name": "set", "uid": "2"}]},
            "status": {"phase": phase}});
        Raw::new(Format::Json, json.to_string().into())
    };
    let mut recorder = Recorder::open(&folder, RecorderOptions::default(), second(0)).unwrap();
    let pods = recorder.add_kind(Kind::new("", "v1", "Pod", "pods"), second(0)).unwrap();
    let list = List { kind: pods, namespace: None, version: None, objects: [pod(5, "Pending")] };
    recorder.list(list, second(1)).unwrap();
    recorder.change(pods, EventType::Modified, &pod(8, "Running"), second(2)).unwrap();
    recorder.flush(second(2)).unwrap();

    let source = Recorded::open(&folder).unwrap();
    source.load().unwrap();
    let get = |path: &str, query: &str| answer(&source, path, query).unwrap();
    let micros = |at: i64| second(at).as_microsecond();
    assert_eq!(get("changes", "")["changes"][0]["words"], "phase Pending -> Running");
    let diff = get("diff", &format!("kind=pods&key=web/a&from={}&to={}", micros(1), micros(2)));
    assert_eq!(diff["fields"], json!([{"path": "status.phase", "old": "Pending", "new": "Running"}]));

    recorder.change(pods, EventType::Deleted, &pod(9, "Succeeded"), second(3)).unwrap();
    recorder.watch_lost(pods, None, "disconnected", second(4)).unwrap();
    recorder.flush(second(4)).unwrap();
    source.load().unwrap();
    assert_eq!(get("objects", "")["rows"][0]["deleted"], micros(3));
    assert_eq!(get("objects", &format!("at={}", micros(2)))["rows"][0]["deleted"], Value::Null);
    assert_eq!(get("timeline", "lanes=owner")["lanes"][0]["label"], "ReplicaSet/set");
    let before = source.log().next();
    source.load().unwrap();
    assert_eq!(source.log().next(), before, "changes are read once");
    assert_eq!(source.status().gaps.last().unwrap().reason, "disconnected");
    std::fs::remove_dir_all(&folder).unwrap();
}

/// Serves one connection of a site.
fn connect(site: &Site, buffer: usize) -> (DuplexStream, tokio::task::JoinHandle<()>) {
    let (client, server) = duplex(buffer);
    (client, tokio::spawn(site.clone().serve(server)))
}

fn site(source: Arc<Live>, token: Option<&str>) -> Site {
    let hosts = AllowedHosts::new([127, 0, 0, 1].into(), [""; 0]);
    Site::new(source, Access::new(hosts, Transport::Plain, token.map(str::to_owned)))
}

/// Sends a request, and returns the response as text.
async fn request(site: &Site, head: &str, body: &str) -> String {
    let (mut client, serving) = connect(site, 1 << 20);
    let length = body.len();
    let text =
        format!("{head}\r\nhost: localhost\r\nconnection: close\r\ncontent-length: {length}\r\n\r\n{body}");
    client.write_all(text.as_bytes()).await.unwrap();
    let mut response = Vec::new();
    client.read_to_end(&mut response).await.unwrap();
    serving.await.unwrap();
    String::from_utf8_lossy(&response).into_owned()
}

#[tokio::test(flavor = "multi_thread")]
async fn the_api_needs_a_session_if_there_is_a_token() {
    let fixture = Fixture::start().await;
    let site = site(Arc::clone(&fixture.source), Some("hunter2"));
    let page = request(&site, "GET / HTTP/1.1", "").await;
    assert!(page.starts_with("HTTP/1.1 200") && page.contains("script-src 'self';"), "{page}");
    assert!(
        page.contains("x-content-type-options: nosniff") && page.contains("cache-control: no-store"),
        "{page}"
    );
    for path in ["status", "changes", "stream", "export", "objects"] {
        let refused = request(&site, &format!("GET /api/v1/{path} HTTP/1.1"), "").await;
        assert!(refused.starts_with("HTTP/1.1 401"), "{path}: {refused}");
    }
    let login = "POST /api/v1/login HTTP/1.1\r\ncontent-type: application/json";
    assert!(request(&site, login, r#"{"token":"hunter3"}"#).await.starts_with("HTTP/1.1 403"));
    assert!(
        request(&site, login, &format!(r#"{{"token":"{}"}}"#, "x".repeat(9_000)))
            .await
            .starts_with("HTTP/1.1 400")
    );
    assert!(
        request(&site, "POST /api/v1/login HTTP/1.1", r#"{"token":"hunter2"}"#)
            .await
            .starts_with("HTTP/1.1 415")
    );
    let answer = request(&site, login, r#"{"token":"hunter2"}"#).await;
    let cookie = answer.lines().find_map(|line| line.strip_prefix("set-cookie: ")).unwrap();
    let cookie = cookie.split(';').next().unwrap();
    let status = request(&site, &format!("GET /api/v1/status HTTP/1.1\r\ncookie: {cookie}"), "").await;
    assert!(status.starts_with("HTTP/1.1 200") && !status.contains("hunter2"), "{status}");
}

#[tokio::test(flavor = "multi_thread")]
async fn requests_are_limited() {
    let fixture = Fixture::start().await;
    let site = site(Arc::clone(&fixture.source), None);
    let code = async |head: String| request(&site, &head, "").await.split(' ').nth(1).unwrap().to_owned();
    assert_eq!(code(format!("GET /api/v1/changes?q={} HTTP/1.1", "x".repeat(9_000))).await, "414");
    assert_eq!(code("GET /api/v1/changes?limit=x HTTP/1.1".into()).await, "400");
    assert_eq!(code("DELETE /api/v1/changes HTTP/1.1".into()).await, "405");
    assert_eq!(code("POST / HTTP/1.1".into()).await, "405");
    assert_eq!(code("GET /../etc/passwd HTTP/1.1".into()).await, "404");
    assert_eq!(code("GET /api/v1/status HTTP/1.1\r\norigin: http://localhost:3000".into()).await, "403");
    assert_eq!(code("GET /api/v1/status HTTP/1.1\r\nsec-fetch-site: cross-site".into()).await, "403");
    let mut evil = connect(&site, 1 << 16).0;
    evil.write_all(b"GET / HTTP/1.1\r\nhost: evil.example\r\nconnection: close\r\n\r\n").await.unwrap();
    let mut response = String::new();
    evil.read_to_string(&mut response).await.unwrap();
    assert!(response.starts_with("HTTP/1.1 403") && response.contains("evil.example"), "{response}");
}

/// One hundred pages are open and one of them reads nothing: the others receive every event, and the one is disconnected.
#[tokio::test(start_paused = true)]
async fn a_page_that_does_not_read_is_disconnected() {
    let fixture = Fixture::start().await;
    let site = site(Arc::clone(&fixture.source), None);
    const REQUEST: &[u8] = b"GET /api/v1/stream HTTP/1.1\r\nhost: localhost\r\n\r\n";
    let (mut stuck, serving) = connect(&site, 64);
    stuck.write_all(REQUEST).await.unwrap();
    let mut readers = Vec::new();
    for _ in 0..99 {
        let (mut client, serving) = connect(&site, 1 << 20);
        client.write_all(REQUEST).await.unwrap();
        readers.push((client, serving));
    }
    for (client, _) in &mut readers {
        read_until(client, "event: changes").await;
    }
    assert_eq!(site.streams.count(), 100);
    fixture.create(&kind("configmaps", "ConfigMap"), "a", json!({})).await;
    for (client, _) in &mut readers {
        read_until(client, "default/a").await;
    }
    let started = tokio::time::Instant::now();
    serving.await.unwrap();
    // A connection buffers some seconds of events before it stops reading them from the stream.
    assert!(started.elapsed() <= STALLED * 3, "{:?}", started.elapsed());
    let (mut client, _) = readers.pop().unwrap();
    read_until(&mut client, "event: changes").await;
}

async fn read_until(client: &mut DuplexStream, wanted: &str) {
    let mut text = String::new();
    while !text.contains(wanted) {
        let mut part = [0; 4096];
        let length = client.read(&mut part).await.unwrap();
        assert!(length > 0, "the connection was closed: {text}");
        text.push_str(&String::from_utf8_lossy(&part[..length]));
    }
}
