//! Random sequences of operations that are sent to two servers, whose responses are compared.

mod kind;

mod operation;

mod normal;

mod planted_bug;

use crate::random::Random;
use kind::KINDS;
use kube::Client;
use operation::{Body, Operation};
pub use planted_bug::PlantedBug;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::fmt;

/// The number of operations in a sequence, which starts with an empty namespace.
pub const SEQUENCE: u64 = 40;

/// The result of a comparison.
#[derive(Debug, Default)]
pub struct Comparison {
    /// The number of operations for each feature.
    pub counts: BTreeMap<String, u64>,
    /// The number of operations that the first server has refused.
    pub refused: u64,
    /// The number of operations.
    pub operations: u64,
    /// The sequences that differ, each at its first difference.
    pub differences: Vec<Difference>,
    /// A bug of the second server.
    pub planted: Option<PlantedBug>,
}

/// The first difference in a sequence.
#[derive(Debug)]
pub struct Difference {
    /// The seed of the sequence.
    pub seed: u64,
    /// The position of the operation in the sequence.
    pub position: u64,
    /// The operation.
    pub operation: String,
    /// The responses of both servers, or the stored objects, normalized.
    pub states: [Value; 2],
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { seed, position, operation, states: [first, second] } = self;
        writeln!(f, "seed {seed}, operation {position}: {operation}")?;
        let mut paths = Vec::new();
        collect_paths("", first, second, &mut paths);
        if paths.is_empty() {
            // One of them has a field that is null.
            return writeln!(f, "  {first}\n  {second}");
        }
        paths.iter().try_for_each(|path| writeln!(f, "  {path}"))
    }
}

/// Lists the values at which two states differ.
fn collect_paths(path: &str, first: &Value, second: &Value, found: &mut Vec<String>) {
    match (first, second) {
        (Value::Object(a), Value::Object(b)) => {
            let names = a.keys().chain(b.keys().filter(|name| !a.contains_key(*name)));
            let null = Value::Null;
            for name in names {
                let (a, b) = (a.get(name).unwrap_or(&null), b.get(name).unwrap_or(&null));
                collect_paths(&format!("{path}/{name}"), a, b, found);
            }
        }
        (Value::Array(a), Value::Array(b)) if a.len() == b.len() => {
            for (position, (a, b)) in a.iter().zip(b).enumerate() {
                collect_paths(&format!("{path}/{position}"), a, b, found);
            }
        }
        _ if first == second => {}
        _ => found.push(format!("{path}: {first} and {second}")),
    }
}

/// One of the servers, with the objects of the current sequence.
struct Side<'c> {
    client: &'c Client,
    objects: BTreeMap<String, Value>,
    planted: Option<PlantedBug>,
}

impl Comparison {
    /// Runs the sequences with the seeds from 1 to `sequences`.
    pub async fn of_sequences(sequences: u64, clients: [&Client; 2]) -> Self {
        Self::prepare(clients).await;
        let mut comparison = Self::default();
        for seed in 1..=sequences {
            comparison.run(seed, clients).await;
        }
        comparison
    }

    /// Creates the definition of the custom resource on both servers, and waits until it is served.
    pub async fn prepare(clients: [&Client; 2]) {
        for client in clients {
            let path = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
            send(client, &Request::new("POST", path, &kind::definition())).await;
            crate::wait::eventually("the custom resource is served", async || {
                let (code, answer) =
                    send(client, &Request::new("GET", kind::CUSTOM_LIST, &Value::Null)).await;
                if code == 200 { Ok(()) } else { Err(answer.to_string()) }
            })
            .await;
        }
    }

    /// Sends the sequence of a seed to both servers, up to the first difference.
    pub async fn run(&mut self, seed: u64, clients: [&Client; 2]) {
        let namespace = format!("random-{seed}");
        let mut sides = clients.map(|client| Side { client, objects: BTreeMap::new(), planted: None });
        sides[1].planted = self.planted;
        for side in &sides {
            let body = json!({ "metadata": { "name": namespace } });
            let (code, answer) = send(side.client, &Request::new("POST", "/api/v1/namespaces", &body)).await;
            assert_eq!(code, 201, "{answer}");
        }
        let mut random = Random::new(seed);
        for position in 0..SEQUENCE {
            let kind = &KINDS[usize::try_from(random.below(KINDS.len() as u64)).unwrap()];
            let operation = operation::generate(&mut random, kind, &sides[0].objects);
            self.operations += 1;
            *self.counts.entry(format!("{} {}", operation.feature, kind.kind)).or_default() += 1;
            let mut states = [Value::Null, Value::Null];
            for (side, state) in sides.iter_mut().zip(&mut states) {
                *state = side.perform(&operation, &namespace).await;
            }
            self.refused += u64::from(states[0]["code"].as_u64().unwrap() >= 400);
            if states[0] != states[1] {
                self.differences.push(Difference {
                    seed,
                    position,
                    operation: operation.to_string(),
                    states,
                });
                return;
            }
        }
    }
}

impl Side<'_> {
    /// Sends an operation, and returns what is compared: the response and the stored object.
    async fn perform(&mut self, operation: &Operation, namespace: &str) -> Value {
        let folder = operation.kind.folder(namespace);
        let key = format!("{} {}", operation.kind.kind, operation.name);
        let current = self.objects.get(&key);
        let body = match &operation.body {
            Body::Exact(body) => body.clone(),
            Body::Edited(edits) => {
                let mut object = current.cloned().unwrap_or_else(|| operation.kind.object(operation.name));
                edits.iter().for_each(|edit| edit.apply(&mut object));
                object
            }
        };
        let path = match operation.method {
            "POST" => folder.clone(),
            _ => format!("{folder}/{}{}", operation.name, operation.subresource),
        };
        let mut request = Request {
            method: operation.method,
            path: format!("{path}?{}", operation.query),
            media: operation.media,
            body: operation.raw.map_or_else(|| text(&body), str::to_owned),
        };
        if let Some(bug) = self.planted {
            bug.change_request(&mut request, current);
        }
        let (code, answer) = self.send(&request).await;
        let read = Request::new("GET", &format!("{folder}/{}", operation.name), &Value::Null);
        let stored = match self.send(&read).await {
            (200, object) => Some(object),
            _ => None,
        };
        let state = json!({
            "code": code,
            "answer": normal::answer(&answer),
            "stored": stored.as_ref().map(normal::object),
        });
        match stored {
            Some(object) => drop(self.objects.insert(key, object)),
            None => drop(self.objects.remove(&key)),
        }
        state
    }

    async fn send(&self, request: &Request) -> (u16, Value) {
        let (mut code, mut answer) = send(self.client, request).await;
        if let Some(bug) = self.planted {
            bug.change_answer(request, &mut code, &mut answer);
        }
        (code, answer)
    }
}

/// A request to one of the servers.
struct Request {
    method: &'static str,
    path: String,
    media: &'static str,
    body: String,
}

impl Request {
    fn new(method: &'static str, path: &str, body: &Value) -> Self {
        Self { method, path: path.to_owned(), media: "application/json", body: text(body) }
    }
}

fn text(body: &Value) -> String {
    if body.is_null() { String::new() } else { body.to_string() }
}

/// Sends a request, and returns the code and the body of the response.
async fn send(client: &Client, request: &Request) -> (u16, Value) {
    use http_body_util::BodyExt;
    let builder = http::Request::builder().method(request.method).uri(&request.path);
    let builder = builder.header("content-type", request.media).header("user-agent", "comparison/1");
    let body = kube::client::Body::from(request.body.clone().into_bytes());
    let response = client.send(builder.body(body).unwrap()).await.unwrap();
    let code = response.status().as_u16();
    let bytes = response.into_body().collect().await.unwrap().to_bytes();
    let body = serde_json::from_slice(&bytes);
    (code, body.unwrap_or_else(|_| Value::String(String::from_utf8_lossy(&bytes).into_owned())))
}
