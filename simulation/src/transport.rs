//! A client that observes requests and responses, and injects faults into bodies.

use crate::{
    action::RequestType,
    history::{History, Rule},
    planted_bug::PlantedBug,
};
use bytes::Bytes;
use http_body::Frame;
use kube::{Client, client::Body};
use std::{
    collections::BTreeMap,
    error::Error,
    io,
    pin::Pin,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    task::{Context, Poll},
    time::Duration,
};
use tokio::time::{Instant, Sleep, sleep};
use tower_service::Service;

type BoxError = Box<dyn Error + Send + Sync>;

/// The observed connections of one informer.
#[derive(Clone, Debug)]
pub(crate) struct Transport(Arc<TransportState>);

/// A fault of the next body of a type.
#[derive(Clone, Copy, Debug)]
pub(crate) struct BodyFault {
    pub(crate) request_type: RequestType,
    /// The number of bytes before the fault.
    pub(crate) bytes: usize,
    pub(crate) effect: BodyEffect,
}

/// The effect of a [`BodyFault`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum BodyEffect {
    /// The body ends without an error.
    End,
    /// The connection is reset.
    Reset,
    /// The connection stays open and transmits no further byte.
    Dead,
}

/// The state of the server's side of all connections.
#[derive(Debug)]
pub(crate) struct ConnectionState {
    pub(crate) faults: Vec<BodyFault>,
    /// The content that the server serves, see [`ContentRewriter`].
    pub(crate) generation: u8,
    pub(crate) planted: Option<PlantedBug>,
}

/// Shared by all informers of a scenario.
pub(crate) type Connections = Arc<Mutex<ConnectionState>>;

/// The text before the generation in each object.
pub(crate) const GENERATION_PREFIX: &str = "@generation-";

/// The maximum time for which an informer reads a connection without data.
const MAX_SILENCE: Duration = Duration::from_secs(91);

#[derive(Debug)]
struct TransportState {
    history: History,
    connections: Connections,
    is_over: AtomicBool,
    open: Mutex<BTreeMap<RequestKey, u32>>,
    last_request: Mutex<Option<Instant>>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum RequestClass {
    List,
    Watch,
    /// The request for the identity of the cluster.
    Cluster,
}

/// The path of a request, and its class.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct RequestKey {
    path: String,
    class: RequestClass,
}

impl Transport {
    pub(crate) fn new(history: History, connections: Connections) -> Self {
        let (is_over, open, last_request) = (AtomicBool::new(false), Mutex::default(), Mutex::default());
        Self(Arc::new(TransportState { history, connections, is_over, open, last_request }))
    }

    /// Returns a client whose requests are observed.
    pub(crate) fn client(&self, client: Client) -> Client {
        Client::new(ObservedService { client, transport: self.clone() }, "default")
    }

    /// Records the end of the informer: no request may be open, or be sent later.
    pub(crate) fn close(&self) {
        self.0.is_over.store(true, Ordering::Relaxed);
        let left: Vec<_> =
            self.open().iter().filter(|(_, count)| **count > 0).map(|(what, _)| what.clone()).collect();
        if !left.is_empty() {
            self.0.history.violate(Rule::NothingAfterStop, format!("{left:?} is still open"));
        }
    }

    /// Returns the time since the last request.
    pub(crate) fn since_last_request(&self) -> Duration {
        let last_request = self.0.last_request.lock().unwrap_or_else(PoisonError::into_inner);
        last_request.map_or(Duration::MAX, |at| at.elapsed())
    }

    fn open(&self) -> MutexGuard<'_, BTreeMap<RequestKey, u32>> {
        self.0.open.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn request_opened(&self, what: &RequestKey, how: &str) -> OpenRequest {
        let history = &self.0.history;
        *self.0.last_request.lock().unwrap_or_else(PoisonError::into_inner) = Some(Instant::now());
        history.note(format_args!("  requests {how} {}", what.path));
        history.count(&format!("requested: {how}"));
        if self.0.is_over.load(Ordering::Relaxed) {
            history.violate(Rule::NothingAfterStop, format!("a stopped informer requests {what:?}"));
        }
        let mut open = self.open();
        let count = open.entry(what.clone()).or_default();
        *count += 1;
        if *count > 1 {
            history.violate(Rule::OneRequestAtATime, format!("{count} open requests: {what:?}"));
        }
        drop(open);
        OpenRequest { transport: self.clone(), what: what.clone() }
    }

    fn take_fault(&self, class: RequestClass) -> Option<BodyFault> {
        let faults = &mut lock(&self.0.connections).faults;
        let is_affected = |fault: &BodyFault| match class {
            RequestClass::List => fault.request_type == RequestType::List,
            RequestClass::Watch => fault.request_type == RequestType::Watch,
            RequestClass::Cluster => false,
        };
        let index = faults.iter().position(is_affected)?;
        Some(faults.remove(index))
    }
}

/// Locks the state of the connections.
pub(crate) fn lock(connections: &Connections) -> MutexGuard<'_, ConnectionState> {
    connections.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Replaces the generation in the objects of a body, in JSON and in protobuf.
///
/// A server that is upgraded serves other defaults under the same versions. Here it is one digit after
/// [`GENERATION_PREFIX`], so that lengths stay the same.
#[derive(Debug, Default)]
struct ContentRewriter {
    /// The number of bytes of the prefix at the end of the last chunk.
    matched: usize,
}

impl ContentRewriter {
    fn rewrite(&mut self, data: &Bytes, generation: u8) -> Bytes {
        let prefix = GENERATION_PREFIX.as_bytes();
        let mut data = data.to_vec();
        for byte in &mut data {
            if self.matched == prefix.len() {
                *byte = b'0' + generation;
                self.matched = 0;
            } else if *byte == prefix[self.matched] {
                self.matched += 1;
            } else {
                self.matched = usize::from(*byte == prefix[0]);
            }
        }
        data.into()
    }
}

/// An open request.
struct OpenRequest {
    transport: Transport,
    what: RequestKey,
}

impl Drop for OpenRequest {
    fn drop(&mut self) {
        if let Some(count) = self.transport.open().get_mut(&self.what) {
            *count -= 1;
        }
    }
}

struct ObservedService {
    client: Client,
    transport: Transport,
}

impl Service<http::Request<Body>> for ObservedService {
    type Response = http::Response<ObservedBody>;
    type Error = BoxError;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, BoxError>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: http::Request<Body>) -> Self::Future {
        let (client, transport) = (self.client.clone(), self.transport.clone());
        Box::pin(async move {
            let query = request.uri().query().unwrap_or_default();
            let (class, how) = match query {
                query if query.contains("sendInitialEvents=true") => (RequestClass::Watch, "stream"),
                query if query.contains("watch=") => (RequestClass::Watch, "watch"),
                query if query.contains("continue=") => (RequestClass::List, "next page"),
                _ if request.uri().path().ends_with("/kube-system") => (RequestClass::Cluster, "cluster"),
                _ => (RequestClass::List, "list"),
            };
            let open_request =
                transport.request_opened(&RequestKey { path: request.uri().path().to_owned(), class }, how);
            let response = client.send(request).await;
            let history = &transport.0.history;
            match &response {
                Ok(response) => history.note(format_args!("  receives {}", response.status().as_u16())),
                Err(_) => history.note(format_args!("  receives no response")),
            }
            let response = response?;
            if !response.status().is_success() {
                history.count(&format!("response: {}", response.status().as_u16()));
            }
            let fault = transport.take_fault(class);
            Ok(response.map(|body| ObservedBody {
                body: Box::pin(body),
                open_request: Some(open_request),
                fault,
                rewriter: ContentRewriter::default(),
                silence: None,
            }))
        })
    }
}

/// A body that may have a fault.
struct ObservedBody {
    body: Pin<Box<Body>>,
    /// `None` when the body has ended.
    open_request: Option<OpenRequest>,
    fault: Option<BodyFault>,
    rewriter: ContentRewriter,
    /// Set while a dead connection is read.
    silence: Option<Silence>,
}

/// A dead connection that is being read.
struct Silence {
    ends_at: Instant,
    timer: Pin<Box<Sleep>>,
}

/// The precision of timers.
const TIMER_TOLERANCE: Duration = Duration::from_millis(2);

impl ObservedBody {
    /// Returns the part of a frame before the fault.
    fn shortened(&mut self, data: Bytes) -> Bytes {
        let Some(fault) = &mut self.fault else { return data };
        let length = data.len().min(fault.bytes);
        fault.bytes -= length;
        data.slice(..length)
    }

    fn reached_fault(&self) -> Option<BodyFault> {
        self.fault.filter(|fault| fault.bytes == 0)
    }

    /// Checks that a connection which is dead is not read for long. A reader that waits for something else does not poll.
    fn poll_dead(&mut self, context: &mut Context<'_>, history: &History) {
        let now = Instant::now();
        if self.silence.is_none() {
            history.note(format_args!("  connection is dead"));
            let class = self.open_request.as_ref().map(|open_request| open_request.what.class);
            let is_watch = class == Some(RequestClass::Watch);
            history.count(if is_watch { "fault: dead watch" } else { "fault: dead list" });
        }
        let silence = self.silence.get_or_insert_with(|| Silence {
            ends_at: now + MAX_SILENCE,
            timer: Box::pin(sleep(MAX_SILENCE)),
        });
        let mut is_woken_by_timer = silence.timer.as_mut().poll(context).is_ready();
        // A reflector that waited for a subscriber, with backpressure, reads again since the last delivery.
        if is_woken_by_timer
            && let Some(ends_at) = history.last_delivery().map(|at| at + MAX_SILENCE)
            && ends_at > now
        {
            silence.ends_at = ends_at;
            silence.timer.as_mut().reset(ends_at);
            is_woken_by_timer = silence.timer.as_mut().poll(context).is_ready();
        }
        if is_woken_by_timer && now < silence.ends_at + TIMER_TOLERANCE {
            let detail = format!("a dead connection is read after {MAX_SILENCE:?}");
            history.violate(Rule::DeadConnectionNoticed, detail);
        }
    }
}

impl http_body::Body for ObservedBody {
    type Data = Bytes;
    type Error = BoxError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BoxError>>> {
        let Some(open_request) = &self.open_request else { return Poll::Ready(None) };
        let state = Arc::clone(&open_request.transport.0);
        state.history.tick();
        if state.is_over.load(Ordering::Relaxed) {
            let detail = format!("a stopped informer reads {:?}", open_request.what);
            state.history.violate(Rule::NothingAfterStop, detail);
        }
        if let Some(fault) = self.reached_fault() {
            let error: Option<BoxError> = match fault.effect {
                BodyEffect::End => None,
                BodyEffect::Reset => Some(io::Error::from(io::ErrorKind::ConnectionReset).into()),
                BodyEffect::Dead => {
                    self.poll_dead(context, &state.history);
                    return Poll::Pending;
                }
            };
            self.open_request = None;
            state.history.note(format_args!("  body is truncated"));
            state.history.count("fault: truncated body");
            return Poll::Ready(error.map(Err));
        }
        match std::task::ready!(self.body.as_mut().poll_frame(context)) {
            Some(Ok(frame)) => Poll::Ready(Some(Ok(match frame.into_data() {
                Ok(data) => {
                    let generation = lock(&state.connections).served_generation();
                    let data = self.rewriter.rewrite(&data, generation);
                    Frame::data(self.shortened(data))
                }
                Err(frame) => frame,
            }))),
            Some(Err(error)) => {
                self.open_request = None;
                Poll::Ready(Some(Err(error.into())))
            }
            None => {
                self.open_request = None;
                Poll::Ready(None)
            }
        }
    }
}

impl ConnectionState {
    pub(crate) fn new(planted: Option<PlantedBug>) -> Self {
        Self { faults: Vec::new(), generation: 0, planted }
    }

    fn served_generation(&self) -> u8 {
        match self.planted {
            Some(PlantedBug::SameVersionChangeIgnored) => 0,
            Some(PlantedBug::DeadWatchUnnoticed | PlantedBug::ObjectsReordered) | None => self.generation,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_generation_is_replaced_across_chunks() {
        let text = format!("a@@gen{GENERATION_PREFIX}0 {GENERATION_PREFIX}0");
        for size in 1..=text.len() {
            let mut rewriter = ContentRewriter::default();
            let chunks = text.as_bytes().chunks(size).map(Bytes::copy_from_slice);
            let rewritten: Vec<u8> = chunks.flat_map(|chunk| rewriter.rewrite(&chunk, 7).to_vec()).collect();
            let expected = format!("a@@gen{GENERATION_PREFIX}7 {GENERATION_PREFIX}7");
            assert_eq!(String::from_utf8(rewritten).unwrap(), expected, "{size}");
        }
    }
}
