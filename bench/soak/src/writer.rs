//! Fills a server, and changes what is in it at a rate.

use crate::{fold::SENT, options::Options};
use futures_util::{StreamExt, TryStreamExt, stream};
use http::{Method, Request, StatusCode, header::CONTENT_TYPE};
use kube_client::{Client, client::Body};
use kube_informer_bench_client::seen::now;
use serde_json::json;
use std::{
    collections::HashSet,
    sync::atomic::{AtomicBool, AtomicU64, Ordering},
    time::Duration,
};
use tokio::time::{Instant, MissedTickBehavior, interval};

/// Writes come in bursts so far apart, each with all that is due; at the highest rates a burst has dozens.
const TICK: Duration = Duration::from_millis(5);
/// So many writes are under way at most.
const AT_ONCE: usize = 32;
/// One write in so many deletes its object, and the next of the same object brings it back: a pod's life has about as many.
///
/// A handler that is stuck holds the last state of each object whose end it has not been told, so the more there are, the sooner
/// it has come to its size.
const DELETIONS: u64 = 8;
/// Objects follow each other in steps of a prime, so that none is written twice in a burst, and neighbours are of different
/// namespaces.
const STEP: u64 = 7_919;
/// How many letters an object has beside its metadata.
const TEXT: usize = 700;

/// What was written, and whether it goes on.
#[derive(Debug, Default)]
pub(crate) struct Written {
    pub(crate) writes: AtomicU64,
    pub(crate) is_stopped: AtomicBool,
}

/// Objects, and who writes them.
pub(crate) struct Writer {
    client: Client,
    options: Options,
    /// Those that are deleted at present.
    gone: HashSet<u64>,
    /// Letters that repeat after a long time only, of which each object has a piece.
    letters: String,
    turn: u64,
}

/// One write, as it is sent.
struct Write {
    method: Method,
    path: String,
    body: Vec<u8>,
}

impl Writer {
    pub(crate) fn new(client: Client, options: Options) -> Self {
        let letters = (0..16_384_u64).map(|turn| format!("{:016x}", mix(turn))).collect();
        Self { client, options, gone: HashSet::new(), letters, turn: 0 }
    }

    /// Creates all namespaces and objects.
    pub(crate) async fn fill(&self) -> Result<(), String> {
        for number in 0..self.options.informers {
            let name = Options::namespace(number);
            let body =
                json!({ "apiVersion": "v1", "kind": "Namespace", "metadata": { "name": name } }).to_string();
            let path = "/api/v1/namespaces".to_owned();
            send(&self.client, Write { method: Method::POST, path, body: body.into_bytes() }).await?;
        }
        let create = |index: u64| send(&self.client, self.write(Method::POST, index));
        stream::iter(0..self.options.objects).map(create).buffer_unordered(AT_ONCE).try_collect().await
    }

    /// Writes at the rate until it is stopped.
    ///
    /// A burst that took long is made up for at once, so that the rate holds as long as the server can follow.
    pub(crate) async fn run(mut self, written: &Written) -> Result<(), String> {
        let mut ticks = interval(TICK);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let began = Instant::now();
        while !written.is_stopped.load(Ordering::Relaxed) {
            ticks.tick().await;
            let due = (began.elapsed().as_secs_f64() * self.options.rate) as u64;
            // No more than a second's worth, or a stop would be noticed late.
            let due = due.min(self.turn + self.options.rate as u64);
            let burst: Vec<_> = (self.turn..due).map(|turn| self.next(turn)).collect();
            self.turn = due;
            let send = |write| send(&self.client, write);
            stream::iter(burst).map(send).buffered(AT_ONCE).try_for_each(async |()| Ok(())).await?;
            written.writes.store(self.turn, Ordering::Relaxed);
        }
        Ok(())
    }

    fn next(&mut self, turn: u64) -> Write {
        let index = turn.wrapping_mul(STEP) % self.options.objects;
        let method = if self.gone.remove(&index) {
            Method::POST
        } else if mix(turn).is_multiple_of(DELETIONS) {
            self.gone.insert(index);
            Method::DELETE
        } else {
            Method::PUT
        };
        self.write(method, index)
    }

    fn write(&self, method: Method, index: u64) -> Write {
        let namespace = Options::namespace(index % self.options.informers);
        let name = format!("map-{}", index / self.options.informers);
        let all = format!("/api/v1/namespaces/{namespace}/configmaps");
        let path = if method == Method::POST { all } else { format!("{all}/{name}") };
        let body = if method == Method::DELETE { Vec::new() } else { self.body(&namespace, &name) };
        Write { method, path, body }
    }

    /// An object, with the time of now in it. It is written by hand: this is done thousands of times a second.
    fn body(&self, namespace: &str, name: &str) -> Vec<u8> {
        let now = now();
        let begin = (mix(now) % (self.letters.len() - TEXT) as u64) as usize;
        let text = &self.letters[begin..begin + TEXT];
        format!(
            r#"{{"apiVersion":"v1","kind":"ConfigMap","metadata":{{"name":"{name}","namespace":"{namespace}","labels":{{"app":"soak"}}}},"data":{{"{SENT}":"{now}","text":"{text}"}}}}"#
        )
        .into_bytes()
    }
}

async fn send(client: &Client, Write { method, path, body }: Write) -> Result<(), String> {
    let request = Request::builder().method(method).uri(&path).header(CONTENT_TYPE, "application/json");
    let request = request.body(Body::from(body)).map_err(|error| error.to_string())?;
    let answer = client.send(request).await.map_err(|error| format!("{path}: {error}"))?;
    match answer.status() {
        status if status.is_success() => Ok(()),
        // It is there from an earlier write of the same.
        StatusCode::CONFLICT => Ok(()),
        status => Err(format!("{path} was answered with {status}")),
    }
}

/// SplitMix64.
fn mix(mut bits: u64) -> u64 {
    bits = bits.wrapping_add(0x9e37_79b9_7f4a_7c15);
    bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    bits ^ (bits >> 31)
}
