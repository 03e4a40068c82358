//! A client of a server in memory, which returns responses unchanged.

use bytes::Bytes;
use http::{Method, Request, Response};
use http_body_util::BodyExt;
use kube::client::{Body, Client};
use kube_devserver::DevServer;
use kube_informer_wire::JsonLines;
use serde_json::{Value, json};
use std::time::Duration;

pub(crate) struct Probe {
    pub(crate) server: DevServer,
    pub(crate) client: Client,
}

/// A response: its code and its body.
pub(crate) type Answer = (u16, Value);

impl Probe {
    pub(crate) fn new() -> Self {
        Self::of(DevServer::start())
    }

    pub(crate) fn of(server: DevServer) -> Self {
        let client = server.client();
        Self { server, client }
    }

    pub(crate) async fn send(&self, request: Request<Body>) -> Response<Body> {
        self.client.send(request).await.expect("the server answers")
    }

    pub(crate) async fn ask(&self, method: Method, path: &str, body: Option<&Value>) -> Answer {
        let media = match method {
            Method::PATCH => "application/merge-patch+json",
            _ => "application/json",
        };
        self.ask_as(media, method, path, body).await
    }

    pub(crate) async fn ask_as(
        &self,
        media: &str,
        method: Method,
        path: &str,
        body: Option<&Value>,
    ) -> Answer {
        let body = body.map(Value::to_string).unwrap_or_default().into_bytes();
        let request = Request::builder().method(method).uri(path).header("content-type", media);
        read(self.send(request.body(body.into()).unwrap()).await).await
    }

    pub(crate) async fn get(&self, path: &str) -> Answer {
        self.ask(Method::GET, path, None).await
    }

    pub(crate) async fn get_as(&self, accept: &str, path: &str) -> Answer {
        let request = Request::get(path).header("accept", accept).body(Body::empty()).unwrap();
        read(self.send(request).await).await
    }

    pub(crate) async fn post(&self, path: &str, body: Value) -> Answer {
        self.ask(Method::POST, path, Some(&body)).await
    }

    pub(crate) async fn put(&self, path: &str, body: Value) -> Answer {
        self.ask(Method::PUT, path, Some(&body)).await
    }

    pub(crate) async fn patch(&self, path: &str, body: Value) -> Answer {
        self.ask(Method::PATCH, path, Some(&body)).await
    }

    pub(crate) async fn delete(&self, path: &str) -> Answer {
        self.ask(Method::DELETE, path, None).await
    }

    /// Creates an object, which must work. A pod gets a container, and a deployment a selector and a template, if it has none.
    pub(crate) async fn make(&self, path: &str, mut body: Value) -> Value {
        complete(path, &mut body);
        let (code, object) = self.post(path, body).await;
        assert_eq!(code, 201, "{object}");
        object
    }

    /// Creates configmaps of these names in the namespace `default`.
    pub(crate) async fn make_maps<const N: usize>(&self, names: [&str; N]) {
        for name in names {
            self.make(MAPS, named(name)).await;
        }
    }

    pub(crate) async fn watch(&self, path: &str) -> Watch {
        self.watch_as("application/json", path).await
    }

    pub(crate) async fn watch_as(&self, accept: &str, path: &str) -> Watch {
        let request = Request::get(path).header("accept", accept).body(Body::empty()).unwrap();
        let response = self.send(request).await;
        assert_eq!(response.status(), 200);
        Watch { body: response.into_body(), lines: JsonLines::new() }
    }
}

pub(crate) const MAPS: &str = "/api/v1/namespaces/default/configmaps";
pub(crate) const PODS: &str = "/api/v1/namespaces/default/pods";

pub(crate) fn named(name: &str) -> Value {
    json!({ "metadata": { "name": name } })
}

pub(crate) fn labelled(name: &str, tier: &str) -> Value {
    json!({ "metadata": { "name": name, "labels": { "tier": tier } } })
}

/// Adds the required fields that a test does not care about.
fn complete(path: &str, body: &mut Value) {
    let containers = json!([{ "name": "main", "image": "none" }]);
    let path = path.split('?').next().unwrap_or_default();
    if path.ends_with("/pods") && body["spec"]["containers"].is_null() {
        body["spec"]["containers"] = containers;
    } else if path.ends_with("/deployments") && body["spec"]["template"].is_null() {
        body["spec"]["selector"] = json!({ "matchLabels": { "app": "a" } });
        body["spec"]["template"] =
            json!({ "metadata": { "labels": { "app": "a" } }, "spec": { "containers": containers } });
    }
}

/// A complete response; a body that is not JSON is a string.
pub(crate) async fn read(response: Response<Body>) -> Answer {
    let code = response.status().as_u16();
    let bytes = response.into_body().collect().await.expect("the body ends well").to_bytes();
    let text = || Value::String(String::from_utf8_lossy(&bytes).into_owned());
    (code, serde_json::from_slice(&bytes).unwrap_or_else(|_| text()))
}

/// The parts of an error response that clients read.
pub(crate) fn refusal(answer: &Answer) -> (u16, &str) {
    let (code, status) = answer;
    assert_eq!(status["kind"], "Status", "{status}");
    assert_eq!(status["status"], "Failure", "{status}");
    assert_eq!(status["code"], *code, "{status}");
    (*code, status["reason"].as_str().unwrap_or_default())
}

pub(crate) fn names(list: &Value) -> Vec<&str> {
    let items = list["items"].as_array().unwrap_or_else(|| panic!("no list: {list}"));
    items.iter().map(|item| item["metadata"]["name"].as_str().unwrap()).collect()
}

pub(crate) fn version(object: &Value) -> u64 {
    object["metadata"]["resourceVersion"].as_str().unwrap_or_else(|| panic!("{object}")).parse().unwrap()
}

const DAY: Duration = Duration::from_secs(24 * 3600);

pub(crate) struct Watch {
    body: Body,
    lines: JsonLines,
}

/// The state of a watch.
#[derive(Debug, PartialEq)]
pub(crate) enum Next {
    Event(String, Value),
    End,
    Broken,
}

impl Watch {
    pub(crate) async fn next(&mut self) -> Next {
        loop {
            if let Some(frame) = self.lines.next().unwrap() {
                let mut event: Value = serde_json::from_slice(&frame).unwrap();
                return Next::Event(event["type"].as_str().unwrap().to_owned(), event["object"].take());
            }
            // Time is paused while tasks run, so that only a watch that hangs takes this long.
            match tokio::time::timeout(DAY, self.body.frame()).await.expect("the watch goes on or ends") {
                None => return Next::End,
                Some(Err(_)) => return Next::Broken,
                Some(Ok(frame)) => self.lines.push(frame.into_data().unwrap_or_else(|_| Bytes::new())),
            }
        }
    }

    /// Returns the next event: its type and its object.
    pub(crate) async fn event(&mut self) -> (String, Value) {
        match self.next().await {
            Next::Event(kind, object) => (kind, object),
            other => panic!("the watch ended: {other:?}"),
        }
    }

    /// The next events as `TYPE name`; for a bookmark, as `BOOKMARK version`.
    pub(crate) async fn says(&mut self, count: usize) -> Vec<String> {
        let mut said = Vec::new();
        for _ in 0..count {
            let (kind, object) = self.event().await;
            let meta = &object["metadata"];
            let what = if kind == "BOOKMARK" { &meta["resourceVersion"] } else { &meta["name"] };
            said.push(format!("{kind} {}", what.as_str().unwrap_or_default()));
        }
        said
    }

    /// Returns all events until the watch ends.
    pub(crate) async fn rest(mut self) -> (Vec<(String, Value)>, Next) {
        let mut events = Vec::new();
        loop {
            match self.next().await {
                Next::Event(kind, object) => events.push((kind, object)),
                end => return (events, end),
            }
        }
    }
}
