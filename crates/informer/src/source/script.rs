//! A source that does what a test tells it.

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

/// A lister-watcher that answers from a script and remembers what it was asked.
///
/// A request that the script has no answer for waits for ever, so a test sees what was asked last and stops there.
#[derive(Debug)]
pub struct Script<K> {
    state: Mutex<State<K>>,
}

#[derive(Debug)]
struct State<K> {
    lists: VecDeque<Result<Page<K>, Error>>,
    watches: VecDeque<Result<Scene<K>, Error>>,
    asked: Vec<Request>,
}

/// What an open watch does.
#[derive(Debug)]
pub struct Scene<K> {
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

/// What a source was asked.
///
/// Prints in short: `LIST(0, 500)` is version and limit, `LIST(-, 500, C1)` has a token and no version, `WATCH(7)`
/// and `STREAM(-)` are watches.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Request {
    /// A page of a list.
    List(ListOptions),
    /// A watch.
    Watch(WatchOptions),
}

impl<K> Script<K> {
    /// A source that answers nothing yet.
    #[must_use]
    pub fn new() -> Self {
        let state = State { lists: VecDeque::new(), watches: VecDeque::new(), asked: Vec::new() };
        Self { state: Mutex::new(state) }
    }

    /// Answers the next list with all there is.
    #[must_use]
    pub fn list(self, items: impl IntoIterator<Item = K>, version: u64) -> Self {
        self.page(items, version, None)
    }

    /// Answers the next list with a page, and a token for the next one.
    #[must_use]
    pub fn page(self, items: impl IntoIterator<Item = K>, version: u64, token: Option<&str>) -> Self {
        let items = items.into_iter().collect();
        let version = Some(ResourceVersion::number(version));
        self.lock().lists.push_back(Ok(Page { items, version, continue_token: token.map(Into::into) }));
        self
    }

    /// Answers the next list with an error.
    #[must_use]
    pub fn list_fails(self, error: Error) -> Self {
        self.lock().lists.push_back(Err(error));
        self
    }

    /// Answers the next watch.
    #[must_use]
    pub fn watch(self, scene: Scene<K>) -> Self {
        self.lock().watches.push_back(Ok(scene));
        self
    }

    /// Answers the next watch with an error.
    #[must_use]
    pub fn watch_fails(self, error: Error) -> Self {
        self.lock().watches.push_back(Err(error));
        self
    }

    /// What was asked so far.
    #[must_use]
    pub fn asked(&self) -> Vec<Request> {
        self.lock().asked.clone()
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, State<K>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<K> Scene<K> {
    /// A watch that gives these events and stays open.
    pub fn open(events: impl IntoIterator<Item = WatchEvent<K>>) -> Self {
        let steps = events.into_iter().map(|event| Step::Event(Ok(event))).collect();
        Self { steps, end: End::Open }
    }

    /// A watch that gives these events and ends.
    pub fn closed(events: impl IntoIterator<Item = WatchEvent<K>>) -> Self {
        Self { end: End::Closed, ..Self::open(events) }
    }

    /// Lets time pass before what follows.
    #[must_use]
    pub fn pause(mut self, time: Duration) -> Self {
        self.steps.push(Step::Pause(time));
        self
    }

    /// Gives one more event.
    #[must_use]
    pub fn event(mut self, event: WatchEvent<K>) -> Self {
        self.steps.push(Step::Event(Ok(event)));
        self
    }

    /// Fails, without ending.
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
        each: OnItem<'a, K>,
    ) -> BoxFuture<'a, Result<ListMeta, Error>> {
        Box::pin(async move {
            let answer = {
                let mut state = self.lock();
                state.asked.push(Request::List(options.clone()));
                state.lists.pop_front()
            };
            let Some(answer) = answer else { return std::future::pending().await };
            let page = answer?;
            page.items.into_iter().for_each(|item| each(Ok(item.into())));
            let mut meta = ListMeta::default();
            (meta.version, meta.continue_token) = (page.version, page.continue_token);
            Ok(meta)
        })
    }

    fn watch<'a>(&'a self, options: &'a WatchOptions) -> BoxFuture<'a, Result<Watch<K>, Error>> {
        Box::pin(async move {
            let answer = {
                let mut state = self.lock();
                state.asked.push(Request::Watch(options.clone()));
                state.watches.pop_front()
            };
            let Some(answer) = answer else { return std::future::pending().await };
            let Scene { steps, end } = answer?;
            let events = stream::iter(steps).filter_map(|step| async {
                match step {
                    Step::Event(event) => Some(event),
                    Step::Pause(time) => {
                        tokio::time::sleep(time).await;
                        None
                    }
                }
            });
            let rest = stream::once(async move {
                if end == End::Open {
                    std::future::pending::<()>().await;
                }
            });
            Ok(Watch::new(events.chain(rest.filter_map(|()| async { None }))))
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
        let shown =
            |version: &Option<ResourceVersion>| version.as_ref().map_or("-".into(), ToString::to_string);
        match self {
            Self::List(options) => {
                let limit = options.limit.map_or(0, std::num::NonZero::get);
                write!(f, "LIST({}, {limit}", shown(&options.resource_version))?;
                if let Some(token) = &options.continue_token {
                    write!(f, ", {token}")?;
                }
                f.write_str(")")
            }
            Self::Watch(options) => {
                let name = if options.send_initial_events == Some(true) { "STREAM" } else { "WATCH" };
                write!(f, "{name}({})", shown(&options.resource_version))
            }
        }
    }
}
