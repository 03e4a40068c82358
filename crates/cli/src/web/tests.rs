//! Tests of the page's server: both sources, the API, the stream and access over HTTP.

use super::{
    access::{Access, Transport},
    api::answer,
    change::ObjectId,
    live::{Live, LiveKind, LiveOptions, prepared},
    log::{ChangeLog, tests::change},
    recorded::Recorded,
    server::Site,
    source::{ChangeSource, KindInfo, Owner, SourceError, Status},
    stream::STALLED,
};
use crate::kinds::Kind;
use crate::meter::MetricValues;
use jiff::Timestamp;
use kube_client::{
    Api, Client,
    api::{DeleteParams, Patch, PatchParams, PostParams},
};
use kube_core::DynamicObject;
use kube_devserver::{AllowedHosts, Controllers, DevServer};
use kube_informer::Informer;
use kube_informer_wire::{EventType, Format, Key, Raw};
use serde_json::{Value, json};
use std::{
    sync::{
        Arc, RwLock, RwLockReadGuard,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};
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
        Self::with([]).await
    }

    /// Starts with objects that exist before the caches.
    async fn with(objects: impl IntoIterator<Item = (Kind, Value)>) -> Self {
        // Without the garbage collector, objects may have owners that do not exist.
        let server = DevServer::builder().controllers(Controllers::None).start().await.unwrap();
        let client = server.client();
        for (kind, object) in objects {
            let api = Api::namespaced_with(client.clone(), "default", &kind.api_resource());
            let object: DynamicObject = serde_json::from_value(object).unwrap();
            api.create(&PostParams::default(), &object).await.unwrap();
        }
        let follow = |kind: Kind| {
            let informer = Informer::<DynamicObject>::dynamic(client.clone(), kind.api_resource());
            LiveKind { kind, informer: prepared(informer).build().unwrap() }
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

/// Returns a ConfigMap with owners.
fn owned(name: &str, owners: &[DynamicObject]) -> Value {
    let reference = |owner: &DynamicObject| json!({"apiVersion": "v1", "kind": "ConfigMap", "name": owner.metadata.name, "uid": owner.metadata.uid});
    let references: Vec<_> = owners.iter().map(reference).collect();
    json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "namespace": "default", "ownerReferences": references}})
}

#[tokio::test(flavor = "multi_thread")]
async fn live_causes_have_the_children_of_every_owner() {
    let fixture = Fixture::start().await;
    let maps = kind("configmaps", "ConfigMap");
    let mut owners = Vec::new();
    for name in ["first", "second", "third"] {
        fixture.create(&maps, name, json!({})).await;
        owners.push(fixture.api(&maps).get(name).await.unwrap());
    }
    for name in ["child", "deleted"] {
        let object = serde_json::from_value(owned(name, &owners)).unwrap();
        fixture.api(&maps).create(&PostParams::default(), &object).await.unwrap();
    }
    fixture.changes(5).await;
    fixture.api(&maps).delete("deleted", &DeleteParams::default()).await.unwrap();
    fixture.changes(6).await;
    for owner in ["first", "second", "third"] {
        let name = owner.to_owned();
        let found = fixture.source.children(&Owner {
            kind: "ConfigMap".into(),
            namespace: Some("default".into()),
            name,
        });
        let mut names: Vec<_> = found.iter().map(|object| object.key.name().to_owned()).collect();
        names.sort();
        assert_eq!(names, ["child", "deleted"], "{owner}");
    }
    let tree = fixture.get("cause", "kind=configmaps&key=default/third");
    // The owner that counts first is the root; the others have no owners.
    let keys = |tree: &Value| -> Vec<String> {
        tree["nodes"]
            .as_array()
            .unwrap()
            .iter()
            .map(|node| node["key"].as_str().unwrap().to_owned())
            .collect()
    };
    assert_eq!(keys(&tree), ["default/third", "default/child", "default/deleted"]);
    assert!(tree["nodes"][1]["changes"][0]["latency"].as_i64().unwrap() >= 0);
    let tree = fixture.get("cause", "kind=configmaps&key=default/child");
    assert_eq!(tree["root"], "configmaps default/first");
    let other = Owner { kind: "ConfigMap".into(), namespace: Some("other".into()), name: "third".into() };
    assert!(fixture.source.children(&other).is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn live_causes_have_children_that_have_not_changed() {
    let maps = kind("configmaps", "ConfigMap");
    let owner = json!({"metadata": {"name": "owner", "uid": "1"}});
    let mut child = owned("child", &[serde_json::from_value(owner).unwrap()]);
    child["metadata"]["ownerReferences"][0]["kind"] = "Unknown".into();
    let fixture = Fixture::with([(maps, child)]).await;
    let owner = Owner { kind: "Unknown".into(), namespace: Some("default".into()), name: "owner".into() };
    let found = fixture.source.children(&owner);
    assert_eq!(found.iter().map(|object| object.key.as_str()).collect::<Vec<_>>(), ["default/child"]);
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
            "resourceVersion": version.to_string(), "ownerReferences": [
                {"apiVersion": "a/v1", "kind": "Other", "name": "one", "uid": "3"}, {"apiVersion": "a/v1", "kind": "Other", "name": "two", "uid": "4"},
                {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "set", "uid": "2", "controller": true}]},
            "status": {"phase": phase}});
        Raw::new(Format::Json, json.to_string().into())
    };
    let mut recorder = Recorder::open(&folder, RecorderOptions::default(), second(0)).unwrap();
    let pods = recorder.add_kind(Kind::new("", "v1", "Pod", "pods"), second(0)).unwrap();
    let list = List { kind: pods, namespace: None, version: None, objects: [pod(5, "Pending")] };
    recorder.list(list, second(0)).unwrap();
    recorder.change(pods, EventType::Modified, &pod(8, "Running"), second(2)).unwrap();
    recorder.flush(second(2)).unwrap();

    let source = Recorded::open(&folder).unwrap();
    let children = |source: &Recorded, kind: &str, name: &str| {
        let owner = Owner { kind: kind.into(), namespace: Some("web".into()), name: name.into() };
        source.children(&owner).iter().map(|object| object.key.to_string()).collect::<Vec<_>>()
    };
    assert_eq!(children(&source, "Other", "two"), ["web/a"], "no change has been read");
    source.load().unwrap();
    for (kind, name) in [("ReplicaSet", "set"), ("Other", "one"), ("Other", "two")] {
        assert_eq!(children(&source, kind, name), ["web/a"]);
    }
    assert!(children(&source, "Other", "three").is_empty());
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

fn site(source: Arc<dyn ChangeSource>, token: Option<&str>) -> Site {
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
    let site = site(fixture.source.clone(), Some("hunter2"));
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
    let site = site(fixture.source.clone(), None);
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

/// A source of changes without objects.
#[derive(Debug)]
pub(super) struct Scripted {
    log: RwLock<ChangeLog>,
    progress: watch::Sender<u64>,
    /// The number of times that the status was read.
    statuses: AtomicUsize,
}

impl Scripted {
    pub(super) fn with(log: ChangeLog) -> Self {
        Self {
            progress: watch::Sender::new(log.next()),
            log: RwLock::new(log),
            statuses: AtomicUsize::new(0),
        }
    }

    fn push(&self, changes: u64) {
        let mut log = self.log.write().unwrap();
        for _ in 0..changes {
            let time = i64::try_from(log.next()).unwrap();
            log.push(change("default/a-name-of-ordinary-length", time));
        }
        self.progress.send_replace(log.next());
    }
}

impl ChangeSource for Scripted {
    fn kinds(&self) -> Vec<KindInfo> {
        vec![KindInfo { resource: "pods".into(), kind: "Pod".into(), is_secret: false }]
    }

    fn log(&self) -> RwLockReadGuard<'_, ChangeLog> {
        self.log.read().unwrap()
    }

    fn progress(&self) -> watch::Receiver<u64> {
        self.progress.subscribe()
    }

    fn keys_at(&self, _kind: usize, _time: i64) -> Result<Arc<[Key]>, SourceError> {
        Ok(Arc::default())
    }

    fn state_at(&self, _object: &ObjectId, _time: i64) -> Result<Option<Value>, SourceError> {
        Ok(None)
    }

    fn children(&self, _owner: &Owner) -> Vec<ObjectId> {
        Vec::new()
    }

    fn status(&self) -> Status {
        self.statuses.fetch_add(1, Ordering::Relaxed);
        Status::default()
    }
}

/// One hundred pages are open, and one of them reads nothing. No events are created for it once the buffers of its connection are full,
/// and it is disconnected. The others receive every event.
#[tokio::test(start_paused = true)]
async fn a_page_that_does_not_read_costs_a_bounded_amount_of_memory() {
    let source = Arc::new(Scripted::with(ChangeLog::new(1 << 20, 0)));
    let site = site(Arc::clone(&source) as Arc<dyn ChangeSource>, None);
    const REQUEST: &[u8] = b"GET /api/v1/stream HTTP/1.1\r\nhost: localhost\r\n\r\n";
    let (mut stuck, serving) = connect(&site, 64);
    stuck.write_all(REQUEST).await.unwrap();
    let mut readers = Vec::new();
    for _ in 0..99 {
        let (mut client, serving) = connect(&site, 4 << 20);
        client.write_all(REQUEST).await.unwrap();
        readers.push((client, serving));
    }
    for (client, _) in &mut readers {
        read_until(client, "event: changes").await;
    }
    assert_eq!(site.streams.count(), 100);
    let started = tokio::time::Instant::now();
    let mut total = 0;
    for round in 0_u64.. {
        if serving.is_finished() {
            break;
        }
        // Events with more changes than one event shows, ten times a second, and then once a second.
        source.push(500);
        total += 500;
        tokio::time::sleep(Duration::from_millis(if round < 10 { 100 } else { 1_000 })).await;
    }
    // It is disconnected 30 seconds after the last event that was created for it: at most the ten or so of the first second.
    let elapsed = started.elapsed();
    assert!(elapsed >= STALLED && elapsed <= STALLED + Duration::from_secs(4), "{elapsed:?}");
    for (client, _) in &mut readers {
        read_until(client, &format!("\"next\":{total},")).await;
    }
    assert_eq!(site.streams.count(), 99);
    assert!(source.log().bytes() <= 1 << 20, "the changes are within their budget");
    // The pages share the status, which is read about once a second.
    let statuses = source.statuses.load(Ordering::Relaxed) as u64;
    assert!(statuses <= started.elapsed().as_secs() + 5, "{statuses}");
}

async fn read_until(client: &mut DuplexStream, wanted: &str) {
    let mut text = String::new();
    while !text.contains(wanted) {
        let mut part = [0; 32 << 10];
        let length = client.read(&mut part).await.unwrap();
        assert!(length > 0, "the connection was closed: {text}");
        text.push_str(&String::from_utf8_lossy(&part[..length]));
    }
}
