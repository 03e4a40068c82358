//! A client that looks at what passes, and tears bodies on demand.

use crate::{
    act::Asked,
    history::{History, Rule},
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
use tokio::time::Instant;
use tower_service::Service;

type BoxError = Box<dyn Error + Send + Sync>;

/// Where the requests of one informer pass.
#[derive(Clone, Debug)]
pub(crate) struct Tap(Arc<Shared>);

/// The next body of a kind ends after so many bytes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Tear {
    pub(crate) asked: Asked,
    pub(crate) bytes: usize,
    pub(crate) abruptly: bool,
}

/// What is to be torn; shared by all informers of a world.
pub(crate) type Tears = Arc<Mutex<Vec<Tear>>>;

#[derive(Debug)]
struct Shared {
    history: History,
    tears: Tears,
    is_over: AtomicBool,
    open: Mutex<BTreeMap<(String, Question), u32>>,
    /// When something was last asked for.
    asked: Mutex<Option<Instant>>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Question {
    List,
    Watch,
    /// Which cluster it is.
    Cluster,
}

impl Tap {
    pub(crate) fn new(history: History, tears: Tears) -> Self {
        let (is_over, open, asked) = (AtomicBool::new(false), Mutex::default(), Mutex::default());
        Self(Arc::new(Shared { history, tears, is_over, open, asked }))
    }

    /// A client whose requests pass here.
    pub(crate) fn client(&self, client: Client) -> Client {
        Client::new(Tapped { client, tap: self.clone() }, "default")
    }

    /// From here on nothing may pass, and nothing may be open.
    pub(crate) fn close(&self) {
        self.0.is_over.store(true, Ordering::Relaxed);
        let left: Vec<_> =
            self.open().iter().filter(|(_, count)| **count > 0).map(|(what, _)| what.clone()).collect();
        if !left.is_empty() {
            self.0.history.breach(Rule::OverIsOver, format!("{left:?} is still open"));
        }
    }

    /// For how long nothing has been asked for.
    pub(crate) fn quiet(&self) -> Duration {
        let asked = self.0.asked.lock().unwrap_or_else(PoisonError::into_inner);
        asked.map_or(Duration::MAX, |asked| asked.elapsed())
    }

    fn open(&self) -> MutexGuard<'_, BTreeMap<(String, Question), u32>> {
        self.0.open.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn opens(&self, what: &(String, Question), how: &str) -> Passing {
        let history = &self.0.history;
        *self.0.asked.lock().unwrap_or_else(PoisonError::into_inner) = Some(Instant::now());
        history.note(format_args!("  asks {how} {}", what.0));
        history.count(&format!("asked: {how}"));
        if self.0.is_over.load(Ordering::Relaxed) {
            history.breach(Rule::OverIsOver, format!("a stopped informer asks for {what:?}"));
        }
        let mut open = self.open();
        let count = open.entry(what.clone()).or_default();
        *count += 1;
        if *count > 1 {
            history.breach(Rule::OneAtATime, format!("{count} at a time: {what:?}"));
        }
        drop(open);
        Passing { tap: self.clone(), what: what.clone() }
    }

    fn take_tear(&self, question: Question) -> Option<Tear> {
        let mut tears = self.0.tears.lock().unwrap_or_else(PoisonError::into_inner);
        let is_meant = |tear: &Tear| match question {
            Question::List => tear.asked == Asked::List,
            Question::Watch => tear.asked == Asked::Watch,
            Question::Cluster => false,
        };
        let index = tears.iter().position(is_meant)?;
        Some(tears.remove(index))
    }
}

/// Something that is under way.
struct Passing {
    tap: Tap,
    what: (String, Question),
}

impl Drop for Passing {
    fn drop(&mut self) {
        if let Some(count) = self.tap.open().get_mut(&self.what) {
            *count -= 1;
        }
    }
}

struct Tapped {
    client: Client,
    tap: Tap,
}

impl Service<http::Request<Body>> for Tapped {
    type Response = http::Response<TappedBody>;
    type Error = BoxError;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, BoxError>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: http::Request<Body>) -> Self::Future {
        let (client, tap) = (self.client.clone(), self.tap.clone());
        Box::pin(async move {
            let query = request.uri().query().unwrap_or_default();
            let (question, how) = match query {
                query if query.contains("sendInitialEvents=true") => (Question::Watch, "stream"),
                query if query.contains("watch=") => (Question::Watch, "watch"),
                query if query.contains("continue=") => (Question::List, "next page"),
                _ if request.uri().path().ends_with("/kube-system") => (Question::Cluster, "cluster"),
                _ => (Question::List, "list"),
            };
            let passing = tap.opens(&(request.uri().path().to_owned(), question), how);
            let answer = client.send(request).await;
            let history = &tap.0.history;
            match &answer {
                Ok(answer) => history.note(format_args!("  gets {}", answer.status().as_u16())),
                Err(_) => history.note(format_args!("  gets no answer")),
            }
            let answer = answer?;
            if !answer.status().is_success() {
                history.count(&format!("answered: {}", answer.status().as_u16()));
            }
            let tear = tap.take_tear(question);
            Ok(answer.map(|body| TappedBody { body: Box::pin(body), passing: Some(passing), tear }))
        })
    }
}

/// A body that may end before its time.
struct TappedBody {
    body: Pin<Box<Body>>,
    /// Gone when it has ended.
    passing: Option<Passing>,
    tear: Option<Tear>,
}

impl TappedBody {
    /// What is left of a frame that is torn.
    fn torn(&mut self, frame: Frame<Bytes>) -> Frame<Bytes> {
        let Some(tear) = &mut self.tear else { return frame };
        match frame.into_data() {
            Ok(data) if data.len() > tear.bytes => {
                let part = data.slice(..tear.bytes);
                tear.bytes = 0;
                Frame::data(part)
            }
            Ok(data) => {
                tear.bytes -= data.len();
                Frame::data(data)
            }
            Err(frame) => frame,
        }
    }

    fn is_used_up(&self) -> Option<Tear> {
        self.tear.filter(|tear| tear.bytes == 0)
    }
}

impl http_body::Body for TappedBody {
    type Data = Bytes;
    type Error = BoxError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BoxError>>> {
        let Some(passing) = &self.passing else { return Poll::Ready(None) };
        let shared = Arc::clone(&passing.tap.0);
        shared.history.tick();
        if shared.is_over.load(Ordering::Relaxed) {
            shared.history.breach(Rule::OverIsOver, format!("a stopped informer reads {:?}", passing.what));
        }
        if let Some(tear) = self.is_used_up() {
            self.passing = None;
            shared.history.note(format_args!("  body is torn"));
            shared.history.count("struck: torn body");
            let broken = || Err(io::Error::from(io::ErrorKind::ConnectionReset).into());
            return Poll::Ready(tear.abruptly.then(broken));
        }
        match std::task::ready!(self.body.as_mut().poll_frame(context)) {
            Some(Ok(frame)) => Poll::Ready(Some(Ok(self.torn(frame)))),
            Some(Err(error)) => {
                self.passing = None;
                Poll::Ready(Some(Err(error.into())))
            }
            None => {
                self.passing = None;
                Poll::Ready(None)
            }
        }
    }
}
