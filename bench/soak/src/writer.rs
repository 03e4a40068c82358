//! Creates the objects of the server, and changes them at a rate.

use crate::{event_state::SENT, options::Load};
use futures_util::{StreamExt, TryStreamExt, stream};
use http::{Method, Request, StatusCode, header::CONTENT_TYPE};
use kube_client::{Client, client::Body};
use kube_informer_bench_client::{fingerprint::fnv, recorder::now};
use serde_json::json;
use std::{
    collections::HashSet,
    sync::atomic::{AtomicBool, AtomicU64, Ordering},
    time::Duration,
};
use tokio::time::{Instant, MissedTickBehavior, interval};

/// The time between two bursts of writes; each burst contains all writes that are due.
const TICK: Duration = Duration::from_millis(5);
/// The maximum number of concurrent requests.
const CONCURRENT_REQUESTS: usize = 32;
/// One in this number of writes deletes its object; the next write of the same object creates it again.
///
/// For a blocked handler, the informer retains the last state of each deleted object. With more deletions, this reaches its maximum sooner.
const WRITES_PER_DELETION: u64 = 8;
/// The distance between the indexes of consecutive writes: a prime, so that no object is written twice in a burst, and consecutive
/// writes are in different namespaces.
const STEP: u64 = 7_919;
/// The size of the text in an object.
const TEXT_BYTES: usize = 700;

/// The number of writes so far, and whether to stop.
#[derive(Debug, Default)]
pub(crate) struct Progress {
    pub(crate) writes: AtomicU64,
    pub(crate) is_stopped: AtomicBool,
}

/// Writes objects to a server.
pub(crate) struct Writer {
    client: Client,
    load: Load,
    /// The indexes of objects that do not exist at the moment.
    deleted: HashSet<u64>,
    /// A text without short repetitions, from which each object has a part.
    letters: String,
    turn: u64,
}

/// One request.
struct Write {
    method: Method,
    path: String,
    body: Vec<u8>,
}

impl Writer {
    pub(crate) fn new(client: Client, load: Load) -> Self {
        let letters = (0..16_384_u64).map(|turn| format!("{:016x}", hash(turn))).collect();
        Self { client, load, deleted: HashSet::new(), letters, turn: 0 }
    }

    /// Creates all namespaces and objects.
    pub(crate) async fn create_all(&self) -> Result<(), String> {
        for number in 0..self.load.informers {
            let name = Load::namespace(number);
            let body =
                json!({ "apiVersion": "v1", "kind": "Namespace", "metadata": { "name": name } }).to_string();
            let path = "/api/v1/namespaces".to_owned();
            send(&self.client, Write { method: Method::POST, path, body: body.into_bytes() }).await?;
        }
        let create = |index: u64| send(&self.client, self.write(Method::POST, index));
        stream::iter(0..self.load.objects)
            .map(create)
            .buffer_unordered(CONCURRENT_REQUESTS)
            .try_collect()
            .await
    }

    /// Writes at the rate until it is stopped. Delayed writes are sent in the next burst.
    pub(crate) async fn run(mut self, progress: &Progress) -> Result<(), String> {
        let mut ticks = interval(TICK);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let start = Instant::now();
        while !progress.is_stopped.load(Ordering::Relaxed) {
            ticks.tick().await;
            let due = (start.elapsed().as_secs_f64() * self.load.rate) as u64;
            // At most one second of writes, so that a stop takes effect soon.
            let due = due.min(self.turn + self.load.rate as u64);
            let burst: Vec<_> = (self.turn..due).map(|turn| self.next(turn)).collect();
            self.turn = due;
            let send = |write| send(&self.client, write);
            stream::iter(burst)
                .map(send)
                .buffered(CONCURRENT_REQUESTS)
                .try_for_each(async |()| Ok(()))
                .await?;
            progress.writes.store(self.turn, Ordering::Relaxed);
        }
        Ok(())
    }

    fn next(&mut self, turn: u64) -> Write {
        let index = turn.wrapping_mul(STEP) % self.load.objects;
        let method = if self.deleted.remove(&index) {
            Method::POST
        } else if hash(turn).is_multiple_of(WRITES_PER_DELETION) {
            self.deleted.insert(index);
            Method::DELETE
        } else {
            Method::PUT
        };
        self.write(method, index)
    }

    fn write(&self, method: Method, index: u64) -> Write {
        let namespace = Load::namespace(index % self.load.informers);
        let name = format!("map-{}", index / self.load.informers);
        let all = format!("/api/v1/namespaces/{namespace}/configmaps");
        let path = if method == Method::POST { all } else { format!("{all}/{name}") };
        let body = if method == Method::DELETE { Vec::new() } else { self.body(&namespace, &name) };
        Write { method, path, body }
    }

    /// Returns an object with the current time, formatted without serde because this runs thousands of times per second.
    fn body(&self, namespace: &str, name: &str) -> Vec<u8> {
        let now = now();
        let start = (hash(now) % (self.letters.len() - TEXT_BYTES) as u64) as usize;
        let text = &self.letters[start..start + TEXT_BYTES];
        format!(
            r#"{{"apiVersion":"v1","kind":"ConfigMap","metadata":{{"name":"{name}","namespace":"{namespace}","labels":{{"app":"soak"}}}},"data":{{"{SENT}":"{now}","text":"{text}"}}}}"#
        )
        .into_bytes()
    }
}

async fn send(client: &Client, Write { method, path, body }: Write) -> Result<(), String> {
    let request = Request::builder().method(method).uri(&path).header(CONTENT_TYPE, "application/json");
    let request = request.body(Body::from(body)).map_err(|error| error.to_string())?;
    let response = client.send(request).await.map_err(|error| format!("{path}: {error}"))?;
    match response.status() {
        status if status.is_success() => Ok(()),
        // The namespace exists already.
        StatusCode::CONFLICT => Ok(()),
        status => Err(format!("{path}: unexpected status {status}")),
    }
}

fn hash(number: u64) -> u64 {
    fnv(&[&number.to_string()])
}
