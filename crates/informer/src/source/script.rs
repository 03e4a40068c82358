//! A scripted source for tests.

use super::{
    error::Error,
    functions::Page,
    lister_watcher::{ListerWatcher, OnItem, Watch},
};
use crate::boxed::BoxFuture;
use futures_util::{StreamExt, stream};
use kube_informer_wire::{ListMeta, ListOptions, ResourceVersion, WatchEvent, WatchOptions};
use std::{
    collections::VecDeque,
    fmt,
    sync::{Mutex, PoisonError},
    time::Duration,
};

/// A source that returns scripted responses, and records the requests.
///
/// A request without a scripted response never completes.
///
/// ```
/// use k8s_openapi::api::core::v1::ConfigMap;
/// use kube_informer::source::{Pager, Script};
///
/// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let source = Script::new().page([ConfigMap::default()], 7, Some("C1")).list([ConfigMap::default()], 7);
/// let list = Pager::new(&source).list::<ConfigMap>(&Default::default()).await?;
/// assert_eq!(list.items.len(), 2);
/// let requests: Vec<_> = source.requests().iter().map(ToString::to_string).collect();
/// assert_eq!(requests, ["LIST(-, 500)", "LIST(-, 500, C1)"]);
/// # Ok(()) }
/// ```
#[derive(Debug)]
pub struct Script<K> {
    state: Mutex<State<K>>,
}

#[derive(Debug)]
struct State<K> {
    lists: VecDeque<Result<Page<K>, Error>>,
    watches: VecDeque<Result<ScriptedWatch<K>, Error>>,
    requests: Vec<Request>,
}

/// The events of a scripted watch.
#[derive(Debug)]
pub struct ScriptedWatch<K> {
    steps: Vec<Step<K>>,
    end: End,
}

#[derive(Debug)]
enum Step<K> {
    Event(Result<WatchEvent<K>, Error>),
    Pause(Duration),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum End {
    Open,
    Closed,
}

/// A request to a scripted source.
///
/// `Display` writes a short form: `LIST(0, 500)` has a version and a limit, `LIST(-, 500, C1)` a token and no version,
/// `WATCH(7)` and `STREAM(-)` are watches.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Request {
    /// A page of a list.
    List(ListOptions),
    /// A watch.
    Watch(WatchOptions),
}

impl<K> Script<K> {
    /// Creates a source without responses.
    #[must_use]
    pub fn new() -> Self {
        let state = State { lists: VecDeque::new(), watches: VecDeque::new(), requests: Vec::new() };
        Self { state: Mutex::new(state) }
    }

    /// Adds a response to a list: all items.
    #[must_use]
    pub fn list(self, items: impl IntoIterator<Item = K>, version: u64) -> Self {
        self.page(items, version, None)
    }

    /// Adds a response to a list: a page, with the token of the next page.
    #[must_use]
    pub fn page(self, items: impl IntoIterator<Item = K>, version: u64, token: Option<&str>) -> Self {
        let items = items.into_iter().collect();
        let version = Some(ResourceVersion::number(version));
        self.lock().lists.push_back(Ok(Page { items, version, continue_token: token.map(Into::into) }));
        self
    }

    /// Adds a response to a list: an error.
    #[must_use]
    pub fn list_fails(self, error: Error) -> Self {
        self.lock().lists.push_back(Err(error));
        self
    }

    /// Adds a response to a watch.
    #[must_use]
    pub fn watch(self, watch: ScriptedWatch<K>) -> Self {
        self.lock().watches.push_back(Ok(watch));
        self
    }

    /// Adds a response to a watch: an error.
    #[must_use]
    pub fn watch_fails(self, error: Error) -> Self {
        self.lock().watches.push_back(Err(error));
        self
    }

    /// Returns the requests so far.
    #[must_use]
    pub fn requests(&self) -> Vec<Request> {
        self.lock().requests.clone()
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, State<K>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<K> ScriptedWatch<K> {
    /// Creates a watch that sends these events and stays open.
    pub fn open(events: impl IntoIterator<Item = WatchEvent<K>>) -> Self {
        let steps = events.into_iter().map(|event| Step::Event(Ok(event))).collect();
        Self { steps, end: End::Open }
    }

    /// Creates a watch that sends these events and ends.
    pub fn closed(events: impl IntoIterator<Item = WatchEvent<K>>) -> Self {
        Self { end: End::Closed, ..Self::open(events) }
    }

    /// Adds a pause.
    #[must_use]
    pub fn pause(mut self, time: Duration) -> Self {
        self.steps.push(Step::Pause(time));
        self
    }

    /// Adds an event.
    #[must_use]
    pub fn event(mut self, event: WatchEvent<K>) -> Self {
        self.steps.push(Step::Event(Ok(event)));
        self
    }

    /// Adds an error that does not end the watch.
    #[must_use]
    pub fn fails(mut self, error: Error) -> Self {
        self.steps.push(Step::Event(Err(error)));
        self
    }
}

impl<K: Send + 'static> ListerWatcher<K> for Script<K> {
    fn list<'a>(
        &'a self,
        options: &'a ListOptions,
        on_item: OnItem<'a, K>,
    ) -> BoxFuture<'a, Result<ListMeta, Error>> {
        Box::pin(async move {
            let response = {
                let mut state = self.lock();
                state.requests.push(Request::List(options.clone()));
                state.lists.pop_front()
            };
            let Some(response) = response else { return std::future::pending().await };
            Ok(response?.emit(on_item))
        })
    }

    fn watch<'a>(&'a self, options: &'a WatchOptions) -> BoxFuture<'a, Result<Watch<K>, Error>> {
        Box::pin(async move {
            let response = {
                let mut state = self.lock();
                state.requests.push(Request::Watch(options.clone()));
                state.watches.pop_front()
            };
            let Some(response) = response else { return std::future::pending().await };
            let ScriptedWatch { steps, end } = response?;
            let events = stream::iter(steps).filter_map(|step| async {
                match step {
                    Step::Event(event) => Some(event),
                    Step::Pause(time) => {
                        tokio::time::sleep(time).await;
                        None
                    }
                }
            });
            let end = stream::once(async move {
                if end == End::Open {
                    std::future::pending::<()>().await;
                }
            });
            Ok(Watch::new(events.chain(end.filter_map(|()| async { None }))))
        })
    }
}

impl<K> Default for Script<K> {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Display for Request {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let display =
            |version: &Option<ResourceVersion>| version.as_ref().map_or("-".into(), ToString::to_string);
        match self {
            Self::List(options) => {
                let limit = options.limit.map_or(0, std::num::NonZero::get);
                write!(f, "LIST({}, {limit}", display(&options.resource_version))?;
                if let Some(token) = &options.continue_token {
                    write!(f, ", {token}")?;
                }
                f.write_str(")")
            }
            Self::Watch(options) => {
                let name = if options.send_initial_events == Some(true) { "STREAM" } else { "WATCH" };
                write!(f, "{name}({})", display(&options.resource_version))
            }
        }
    }
}
