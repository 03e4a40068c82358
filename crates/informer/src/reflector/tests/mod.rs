//! Tests of a reflector with a scripted source and a recording sink, with paused time.

mod list;
mod watch;
mod stream;
mod lifecycle;
mod consistency;
mod observe;
mod resume;
mod dead_watch;
mod request_rates;

use super::{Config, Reflector, ReflectorStatus, Report, Sink, Strategy};
use crate::{
    delta::{Delta, DeltaBatch},
    object::Listing,
    source::{BoxError, Error, Script, ScriptedWatch},
    testing::{brief, rv},
};
use k8s_openapi::api::core::v1::Pod;
use kube_core::{
    Status,
    response::{StatusCause, StatusDetails},
};
use kube_informer_wire::WatchEvent;
use std::{
    io,
    sync::{Arc, Mutex},
    time::Duration,
};
use tokio::{task::JoinHandle, time::Instant};
use tokio_util::sync::CancellationToken;

/// Records each call as text.
#[derive(Clone, Debug, Default)]
struct Recorder {
    calls: Arc<Mutex<Vec<String>>>,
    /// Prefixes of calls that fail, once each.
    failures: Arc<Mutex<Vec<&'static str>>>,
}

impl Recorder {
    fn record(&self, call: String) -> Result<(), BoxError> {
        let mut failures = self.failures.lock().unwrap();
        if let Some(index) = failures.iter().position(|prefix| call.starts_with(prefix)) {
            failures.remove(index);
            return Err("sink failed".into());
        }
        self.calls.lock().unwrap().push(call);
        Ok(())
    }

    fn calls(&self) -> Vec<String> {
        self.calls.lock().unwrap().clone()
    }

    fn fail_once(&self, prefix: &'static str) {
        self.failures.lock().unwrap().push(prefix);
    }
}

impl Sink<Pod> for Recorder {
    async fn replace(&mut self, listing: Listing<Pod>) -> Result<(), BoxError> {
        let objects: Vec<_> = listing.objects.iter().map(|(_, pod)| brief(pod.object().get())).collect();
        let version = listing.version.map_or("-".into(), |version| version.to_string());
        self.record(format!("replace {version} [{}]", objects.join(" ")))
    }

    async fn apply(&mut self, batch: DeltaBatch<Pod>) -> Result<(), BoxError> {
        let mut last = None;
        for delta in batch.deltas {
            last = match &delta {
                Delta::Added(_, pod) | Delta::Updated(_, pod) | Delta::Deleted(_, Some(pod)) => {
                    pod.get().metadata.resource_version.clone()
                }
                Delta::Deleted(_, None) | Delta::Skipped(_) => None,
            };
            self.record(match delta {
                Delta::Added(_, pod) => format!("add {}", brief(pod.get())),
                Delta::Updated(_, pod) => format!("update {}", brief(pod.get())),
                Delta::Deleted(_, Some(pod)) => format!("delete {}", brief(pod.get())),
                Delta::Deleted(key, None) => format!("delete {key}"),
                Delta::Skipped(key) => format!("skip {key}"),
            })?;
        }
        match batch.version.map(|version| version.to_string()) {
            Some(version) if last.as_ref() != Some(&version) => self.record(format!("version {version}")),
            Some(_) | None => Ok(()),
        }
    }

    async fn resumed(&mut self) -> Result<(), BoxError> {
        self.record("resumed".into())
    }

    async fn resync(&mut self) -> Result<(), BoxError> {
        self.record("resync".into())
    }
}

/// A running reflector.
struct Run {
    script: Arc<Script<Pod>>,
    sink: Recorder,
    errors: Arc<Mutex<Vec<String>>>,
    status: tokio::sync::watch::Receiver<ReflectorStatus>,
    started_at: Instant,
    cancel: CancellationToken,
    task: JoinHandle<()>,
}

fn list_config() -> Config {
    Config { strategy: Strategy::List, ..Config::default() }
}

fn start(script: Script<Pod>, config: Config) -> Run {
    start_into(script, config, Recorder::default())
}

fn start_into(script: Script<Pod>, config: Config, sink: Recorder) -> Run {
    start_with(script, config, sink, |reflector| reflector)
}

type Scripted = Reflector<Pod, Arc<Script<Pod>>, Recorder>;

fn start_with(
    script: Script<Pod>,
    config: Config,
    sink: Recorder,
    with: impl FnOnce(Scripted) -> Scripted,
) -> Run {
    let script = Arc::new(script);
    let errors = Arc::new(Mutex::new(Vec::new()));
    let reported = Arc::clone(&errors);
    let reflector = Reflector::with_config(Arc::clone(&script), sink.clone(), config).on_error(
        move |report: &Report<'_>| {
            reported.lock().unwrap().push(format!("{:?}: {}", report.activity, report.cause));
        },
    );
    let reflector = with(reflector);
    let status = reflector.status();
    let cancel = CancellationToken::new();
    let task = tokio::spawn(reflector.run(cancel.clone()));
    Run { script, sink, errors, status, started_at: Instant::now(), cancel, task }
}

impl Run {
    /// Waits until `holds`, which is checked after each change of the status. Paused time advances while all tasks are idle.
    async fn until(&mut self, mut holds: impl FnMut(&Self) -> bool) {
        while !holds(self) {
            let changed = tokio::time::timeout(Duration::from_secs(10_000), self.status.changed()).await;
            assert!(
                changed.is_ok_and(|changed| changed.is_ok()),
                "stuck after {:?} {:?}",
                self.all_requests(),
                self.sink.calls()
            );
        }
    }

    /// Waits for `count` requests, stops, and returns them.
    async fn requests(&mut self, count: usize) -> Vec<String> {
        self.until(|run| run.script.requests().len() >= count).await;
        self.stop().await;
        self.all_requests()
    }

    /// Waits for `count` calls of the sink, stops, and returns them.
    async fn calls(&mut self, count: usize) -> Vec<String> {
        self.until(|run| run.sink.calls().len() >= count).await;
        self.stop().await;
        self.sink.calls()
    }

    async fn stop(&mut self) {
        self.cancel.cancel();
        (&mut self.task).await.unwrap();
    }

    fn all_requests(&self) -> Vec<String> {
        self.script.requests().iter().map(ToString::to_string).collect()
    }

    fn errors(&self) -> Vec<String> {
        self.errors.lock().unwrap().clone()
    }

    fn seconds(&self) -> f64 {
        self.started_at.elapsed().as_secs_f64()
    }
}

fn failure(code: u16, reason: &str, message: &str) -> Error {
    Error::status(status(code, reason, message))
}

fn status(code: u16, reason: &str, message: &str) -> Status {
    Status::failure(message, reason).with_code(code)
}

fn expired() -> Error {
    failure(410, "Expired", "too old resource version")
}

fn throttled() -> Error {
    failure(429, "TooManyRequests", "slow down")
}

fn refused() -> Error {
    Error::Transport(Box::new(io::Error::from(io::ErrorKind::ConnectionRefused)))
}

/// Returns a "too large resource version" error in each of its three encodings.
fn too_large() -> [Error; 3] {
    let details = |reason: &str, message: &str| StatusDetails {
        name: String::new(),
        group: String::new(),
        kind: String::new(),
        uid: String::new(),
        causes: vec![StatusCause { reason: reason.into(), message: message.into(), field: String::new() }],
        retry_after_seconds: 0,
    };
    let timeout = |message: &str| status(504, "Timeout", message);
    [
        Error::status(timeout("x").with_details(details("ResourceVersionTooLarge", ""))),
        Error::status(timeout("x").with_details(details("", "Too large resource version"))),
        Error::status(timeout("Too large resource version: 5, current: 4").with_details(details("", ""))),
    ]
}

fn added(pod: Pod) -> WatchEvent<Pod> {
    WatchEvent::Added(pod)
}

fn modified(pod: Pod) -> WatchEvent<Pod> {
    WatchEvent::Modified(pod)
}

fn deleted(pod: Pod) -> WatchEvent<Pod> {
    WatchEvent::Deleted(pod)
}

fn bookmark(version: u64) -> WatchEvent<Pod> {
    WatchEvent::Bookmark { version: rv(version), initial_events_end: false }
}

fn complete(version: u64) -> WatchEvent<Pod> {
    WatchEvent::Bookmark { version: rv(version), initial_events_end: true }
}

fn error(code: u16, reason: &str) -> WatchEvent<Pod> {
    WatchEvent::Error(Box::new(status(code, reason, "it failed")))
}

/// Returns a watch that stays open and sends no events.
fn idle() -> ScriptedWatch<Pod> {
    ScriptedWatch::open([])
}
