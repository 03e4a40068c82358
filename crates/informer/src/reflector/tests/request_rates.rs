//! The number of requests to a server that fails in the same way all the time.

use super::{Config, Recorder, Strategy, added, error, expired, failure, refused, status};
use crate::{
    boxed::BoxFuture,
    reflector::Reflector,
    source::{Error, ListerWatcher, OnItem, Watch},
    testing::{PodBuilder, pod, rv},
};
use futures_util::stream;
use k8s_openapi::api::core::v1::Pod;
use kube_informer_wire::{Items, ListMeta, ListOptions, WatchEvent, WatchOptions};
use std::{
    collections::HashMap,
    sync::{Arc, Mutex},
    time::Duration,
};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

/// The way in which a server fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mode {
    ClosedPort,
    /// Every request fails with this code.
    Status(u16),
    /// Every request fails with 429 and this `Retry-After`.
    RetryAfter(u64),
    /// Lists succeed, and every watch fails with this code.
    WatchStatus(u16),
    /// Lists succeed, and every watch sends an error event with this code.
    ErrorEvent(u16),
    /// Every watch ends after its headers.
    CutAfterHeaders,
    /// Every watch ends after one event.
    CutAfterOneEvent,
    /// Every watch ends after an object without a name.
    NamelessEvent,
    /// Every watch ends after an event of an unknown type.
    UnknownEvent,
    /// Every page has the same continue token.
    RepeatedToken,
    /// Every page is empty and has another continue token.
    EmptyPages,
    /// Every page after the first has expired, and there is always another one.
    ExpiredPages,
    /// The responses cannot be parsed.
    Garbage,
}

/// The modes with their names in [`CLIENT_GO`].
const MODES: [(&str, Mode); 21] = [
    ("closed_port", Mode::ClosedPort),
    ("status_401", Mode::Status(401)),
    ("status_403", Mode::Status(403)),
    ("status_404", Mode::Status(404)),
    ("status_410", Mode::Status(410)),
    ("status_429", Mode::Status(429)),
    ("retry_after_1", Mode::RetryAfter(1)),
    ("retry_after_30", Mode::RetryAfter(30)),
    ("status_500", Mode::Status(500)),
    ("status_503", Mode::Status(503)),
    ("watch_410", Mode::WatchStatus(410)),
    ("watch_500", Mode::WatchStatus(500)),
    ("error_event_410", Mode::ErrorEvent(410)),
    ("cut_after_headers", Mode::CutAfterHeaders),
    ("cut_after_one_event", Mode::CutAfterOneEvent),
    ("nameless_event", Mode::NamelessEvent),
    ("unknown_event", Mode::UnknownEvent),
    ("repeated_token", Mode::RepeatedToken),
    ("empty_pages", Mode::EmptyPages),
    ("expired_pages", Mode::ExpiredPages),
    ("garbage", Mode::Garbage),
];

/// The mean number of requests of client-go 0.36 in 60 s, by mode. Recorded with `cd interop && go run ./requests`.
const CLIENT_GO: &str = include_str!("client_go_requests.txt");

/// A request: its kind, and when it was sent.
type Sent = (&'static str, Instant);

#[derive(Debug)]
struct FailingServer {
    mode: Mode,
    sent: Arc<Mutex<Vec<Sent>>>,
}

impl FailingServer {
    /// Records a request, and returns how many were sent before.
    fn record(&self, kind: &'static str) -> u64 {
        let mut sent = self.sent.lock().unwrap();
        sent.push((kind, Instant::now()));
        sent.len() as u64
    }

    fn failure(&self) -> Option<Error> {
        match self.mode {
            Mode::ClosedPort => Some(refused()),
            Mode::Status(410) => Some(expired()),
            Mode::Status(429) => Some(failure(429, "TooManyRequests", "slow down")),
            Mode::Status(code) => Some(failure(code, "", "no")),
            Mode::RetryAfter(seconds) => Some(Error::Status {
                status: Box::new(status(429, "TooManyRequests", "slow down")),
                retry_after: Some(Duration::from_secs(seconds)),
            }),
            Mode::WatchStatus(_)
            | Mode::ErrorEvent(_)
            | Mode::CutAfterHeaders
            | Mode::CutAfterOneEvent
            | Mode::NamelessEvent
            | Mode::UnknownEvent
            | Mode::RepeatedToken
            | Mode::EmptyPages
            | Mode::ExpiredPages
            | Mode::Garbage => None,
        }
    }

    fn page(&self, options: &ListOptions, on_item: OnItem<'_, Pod>) -> Result<ListMeta, Error> {
        let number = self.record(if options.continue_token.is_some() { "PAGE" } else { "LIST" });
        if let Some(error) = self.failure() {
            return Err(error);
        }
        let mut meta = ListMeta::default();
        meta.version = Some(rv(10));
        match self.mode {
            Mode::Garbage => {
                let mut items = Items::json_with_limit(1 << 20);
                items.push("garbage".into());
                return Err(items.finish().unwrap_err().into());
            }
            Mode::ExpiredPages if options.continue_token.is_some() => return Err(expired()),
            Mode::EmptyPages => {}
            _ => on_item(Ok(pod("a").version(1).into())),
        }
        meta.continue_token = match self.mode {
            Mode::RepeatedToken | Mode::ExpiredPages => Some("C".into()),
            Mode::EmptyPages => Some(format!("C{number}")),
            _ => None,
        };
        Ok(meta)
    }

    fn events(&self, options: &WatchOptions) -> Result<Vec<Result<WatchEvent<Pod>, Error>>, Error> {
        let is_stream = options.send_initial_events == Some(true);
        let number = self.record(if is_stream { "STREAM" } else { "WATCH" });
        if let Some(error) = self.failure() {
            return Err(error);
        }
        let event = match self.mode {
            // The server does not support streaming lists, so that the other failures are reached.
            _ if is_stream => return Err(failure(422, "Invalid", "sendInitialEvents is forbidden")),
            Mode::WatchStatus(410) => return Err(expired()),
            Mode::WatchStatus(code) => return Err(failure(code, "InternalError", "no")),
            Mode::ErrorEvent(code) => Ok(error(code, "Expired")),
            Mode::CutAfterOneEvent => Ok(added(pod("a").version(10 + number))),
            Mode::NamelessEvent => Ok(added(Pod::default())),
            Mode::UnknownEvent => Ok(WatchEvent::Unknown { kind: "RENAMED".into(), version: Some(rv(11)) }),
            Mode::Garbage => Err(Error::Event(WatchEvent::<Pod>::decode(b"garbage").unwrap_err())),
            Mode::ClosedPort
            | Mode::Status(_)
            | Mode::RetryAfter(_)
            | Mode::CutAfterHeaders
            | Mode::RepeatedToken
            | Mode::EmptyPages
            | Mode::ExpiredPages => return Ok(Vec::new()),
        };
        Ok(vec![event])
    }
}

impl ListerWatcher<Pod> for FailingServer {
    fn list<'a>(
        &'a self,
        options: &'a ListOptions,
        on_item: OnItem<'a, Pod>,
    ) -> BoxFuture<'a, Result<ListMeta, Error>> {
        Box::pin(async move { self.page(options, on_item) })
    }

    fn watch<'a>(&'a self, options: &'a WatchOptions) -> BoxFuture<'a, Result<Watch<Pod>, Error>> {
        Box::pin(async move { Ok(Watch::new(stream::iter(self.events(options)?))) })
    }
}

/// Returns the requests in `time` to a server that fails in this way.
async fn requests(mode: Mode, strategy: Strategy, time: Duration) -> Vec<Sent> {
    let sent = Arc::new(Mutex::new(Vec::new()));
    let server = FailingServer { mode, sent: Arc::clone(&sent) };
    let config = Config { strategy, ..Config::default() };
    let reflector = Reflector::with_config(server, Recorder::default(), config).on_error(|_| {});
    let cancel = CancellationToken::new();
    let task = tokio::spawn(reflector.run(cancel.clone()));
    tokio::time::sleep(time).await;
    cancel.cancel();
    task.await.unwrap();
    let sent = sent.lock().unwrap();
    sent.clone()
}

// A8
#[tokio::test(start_paused = true)]
async fn at_most_five_requests_of_a_kind_are_sent_in_any_ten_seconds_to_a_failing_server() {
    for (_, mode) in MODES {
        for strategy in [Strategy::List, Strategy::Stream, Strategy::StreamOnly] {
            let sent = requests(mode, strategy, Duration::from_secs(600)).await;
            for kind in ["LIST", "PAGE", "STREAM", "WATCH"] {
                let times: Vec<_> =
                    sent.iter().filter(|(sent, _)| *sent == kind).map(|(_, at)| *at).collect();
                for window in times.windows(6) {
                    let time = window[5] - window[0];
                    assert!(time >= Duration::from_secs(10), "{mode:?} {strategy:?}: six {kind} in {time:?}");
                }
            }
        }
    }
}

// A8
#[tokio::test(start_paused = true)]
async fn a_failing_server_gets_no_more_requests_than_from_client_go() {
    const RUNS: usize = 40;
    let client_go: HashMap<&str, f64> = CLIENT_GO
        .lines()
        .filter_map(|line| line.split_once(' '))
        .map(|(mode, count)| (mode, count.parse().unwrap()))
        .collect();
    let mut excess = Vec::new();
    for (name, mode) in MODES {
        let mut total = 0;
        for _ in 0..RUNS {
            total += requests(mode, Strategy::Stream, Duration::from_secs(60)).await.len();
        }
        let mean = total as f64 / RUNS as f64;
        // Delays are random, so the means of two equal clients differ slightly.
        let limit = client_go[name] * 1.1 + 1.0;
        if mean > limit {
            excess.push(format!("{name}: {mean} requests in 60 s, client-go {}", client_go[name]));
        }
    }
    assert!(excess.is_empty(), "{excess:#?}");
}
