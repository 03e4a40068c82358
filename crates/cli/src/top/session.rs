//! The session of `informer top`.

use super::{
    draw::{Theme, draw},
    history::{History, ReceivedChange},
    memory_meter::MemoryMeter,
    objects::Objects,
    query::{Direction, Listed, Query, Search, values},
    screen::{Flow, Screen},
    state_reader::{StateReader, feed, refresh, rows},
};
use crate::args::{InformerArgs, Top};
use crate::cli_error::{Class, CliError};
use crate::cluster::{Connection, DISCOVERY, connect};
use crate::informers::{
    BACKOFF, Delivery, EventAt, Indexes, InformerSettings, Target, WatchedResource, events, follow,
    namespaces, targets,
};
use crate::kinds::Catalog;
use crate::meter::MetricValues;
use crate::paint::allows_colour;
use crate::signal::interruption;
use crossterm::{
    event::{Event as Input, EventStream, KeyEventKind},
    terminal::{Clear, ClearType},
};
use futures_util::{Stream, StreamExt};
use kube_informer::{
    event::{Event, Phase},
    reflector::Backoff,
};
use kube_informer_wire::{Key, ManagedFields};
use ratatui::DefaultTerminal;
use std::{
    io::IsTerminal,
    pin::pin,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};
use tokio::{
    sync::{mpsc, watch},
    task::JoinSet,
};

/// The interval between frames while no key is pressed.
const FRAME: Duration = Duration::from_millis(200);
/// The minimum interval between two sorts of a list.
const ORDER: Duration = Duration::from_millis(700);
/// The minimum interval between two sorts, as a multiple of the duration of the last one.
const REST: u32 = 4;

/// The default resources, if the server has them.
const USUAL: [&str; 10] = [
    "pods",
    "deployments.apps",
    "replicasets.apps",
    "statefulsets.apps",
    "daemonsets.apps",
    "jobs.batch",
    "services",
    "configmaps",
    "nodes",
    "namespaces",
];

/// Runs `informer top`.
pub(crate) async fn run(args: Top) -> anyhow::Result<()> {
    if !is_terminal() {
        let failure =
            CliError::new(Class::Usage, "`top` needs a terminal: stdin or stdout is not a terminal");
        return Err(failure.hint("use `informer watch` for files and pipes").into());
    }
    let connection = connect(&args.cluster).await?;
    let catalog = connection.catalog(DISCOVERY).await?;
    let targets = match args.resources.as_slice() {
        [] => catalog.known(&USUAL).into_iter().map(Target::all).collect(),
        named => targets(&catalog, named)?,
    };
    let (_, notices) = watch::channel(None);
    show(Stage {
        connection: &connection,
        catalog,
        targets,
        informer_args: args.informer_args,
        backoff: BACKOFF,
        notices,
    })
    .await
}

/// Returns whether stdin and stdout are a terminal.
pub(crate) fn is_terminal() -> bool {
    std::io::stdout().is_terminal() && std::io::stdin().is_terminal()
}

/// The cluster and the resources that are shown.
pub(crate) struct Stage<'c> {
    pub(crate) connection: &'c Connection,
    /// The resources that can be added.
    pub(crate) catalog: Catalog,
    pub(crate) targets: Vec<Target>,
    pub(crate) informer_args: InformerArgs,
    pub(crate) backoff: Backoff,
    /// Notices, such as injected faults.
    pub(crate) notices: watch::Receiver<Option<String>>,
}

/// Watches all resources, and draws until the user quits.
pub(crate) async fn show(stage: Stage<'_>) -> anyhow::Result<()> {
    let metric_values = MetricValues::install()?;
    let settings = InformerSettings {
        namespaces: namespaces(&stage.informer_args, None),
        indexing: Indexes::Browsing,
        backoff: stage.backoff,
        on_error: Arc::new(|_| {}),
        saving: None,
        managed_fields: ManagedFields::Keep,
    };
    let (answers, answered) = mpsc::channel(1);
    let mut session = Session {
        screen: Screen {
            server: stage.connection.route.to_string(),
            scope: scope(&stage),
            ..Screen::default()
        },
        theme: if allows_colour() { Theme::Coloured } else { Theme::Plain },
        state_reader: StateReader::new(),
        memory_meter: MemoryMeter::new(stage.informer_args.storage),
        watched: Vec::new(),
        recorders: JoinSet::new(),
        history: Arc::default(),
        metric_values,
        notices: stage.notices.clone(),
        settings,
        answers,
        asking: None,
        args: tokio::time::Instant::now(),
        took: Duration::ZERO,
        stage: &stage,
    };
    session.add(&stage.targets)?;
    let mut terminal = ratatui::try_init()?;
    let _restored = Restored;
    // Some terminals have no alternate screen.
    crossterm::execute!(std::io::stdout(), Clear(ClearType::All))?;
    session.run(&mut terminal, answered).await
}

/// Returns what restricts the view: context, namespaces and selectors.
fn scope(stage: &Stage<'_>) -> String {
    let InformerArgs { namespaces, selector, field_selector, .. } = &stage.informer_args;
    let context = stage.connection.context.iter().map(|name| format!("context {name}"));
    let namespaces = (!namespaces.is_empty()).then(|| format!("-n {}", namespaces.join(",")));
    let labels = selector.iter().map(|selector| format!("-l {selector}"));
    let fields = field_selector.iter().map(|selector| format!("--field-selector {selector}"));
    context.chain(namespaces).chain(labels).chain(fields).collect::<Vec<_>>().join("  ")
}

/// Restores the terminal, however the session ends.
struct Restored;

impl Drop for Restored {
    fn drop(&mut self) {
        ratatui::restore();
    }
}

/// Records the changes of resources, of which the first has this position.
async fn record(
    first: usize,
    watched: Vec<WatchedResource>,
    mut events: impl Stream<Item = EventAt> + Unpin,
    history: Arc<History>,
) {
    while let Some((at, event)) = events.next().await {
        let is_change = !event.is_resync() && !matches!(event, Event::Added { phase: Phase::Initial, .. });
        if is_change {
            let kind = watched[at].kind.kind.as_str();
            history.push(ReceivedChange { at: first + at, kind, event: &event });
        }
    }
}

/// The result of a query.
struct Answer {
    at: usize,
    query: Query,
    /// `None` if it was canceled.
    keys: Option<Vec<Key>>,
    took: Duration,
}

struct Session<'s, 'c> {
    stage: &'s Stage<'c>,
    settings: InformerSettings,
    screen: Screen,
    theme: Theme,
    state_reader: StateReader,
    memory_meter: MemoryMeter,
    watched: Vec<WatchedResource>,
    /// They end with the session.
    recorders: JoinSet<()>,
    history: Arc<History>,
    metric_values: MetricValues,
    notices: watch::Receiver<Option<String>>,
    answers: mpsc::Sender<Answer>,
    /// The running query, and the flag that cancels it.
    asking: Option<(Query, Arc<AtomicBool>)>,
    args: tokio::time::Instant,
    /// The duration of the last query.
    took: Duration,
}

impl Session<'_, '_> {
    /// Starts to watch resources.
    fn add(&mut self, targets: &[Target]) -> Result<(), CliError> {
        let stage = self.stage;
        let one = |target| follow(stage.connection, target, &stage.informer_args, self.settings.clone());
        let added: Vec<WatchedResource> = targets.iter().map(one).collect::<Result<_, _>>()?;
        let first = self.watched.len();
        // Subscribed before it is started, so that no change is missed.
        let events = events(&added, Delivery::Latest);
        self.recorders.spawn(record(first, added.clone(), events, Arc::clone(&self.history)));
        added.iter().for_each(|watched| watched.informer.start());
        self.watched.extend(added);
        Ok(())
    }

    /// Adds the resource of the prompt, and opens it.
    fn submit(&mut self) {
        let Some(prompt) = self.screen.prompt.as_mut().filter(|prompt| prompt.is_submitted) else { return };
        prompt.is_submitted = false;
        let words: Vec<_> =
            prompt.text.split([',', ' ']).filter(|word| !word.is_empty()).map(str::to_owned).collect();
        let is_known = |watched: &WatchedResource, target: &Target| {
            watched.kind == target.kind && watched.name == target.name
        };
        let added = targets(&self.stage.catalog, &words).and_then(|targets| {
            let unknown = |target: &&Target| !self.watched.iter().any(|watched| is_known(watched, target));
            let new: Vec<_> = targets.iter().filter(unknown).cloned().collect();
            self.add(&new)?;
            Ok(targets)
        });
        match added {
            Ok(targets) => {
                let first = targets.first();
                let at = self
                    .watched
                    .iter()
                    .position(|watched| first.is_some_and(|target| is_known(watched, target)));
                (self.screen.prompt, self.screen.object) = (None, None);
                self.screen.objects = at.map(Objects::of);
                self.read();
            }
            Err(failure) => {
                if let Some(prompt) = &mut self.screen.prompt {
                    prompt.problem = Some(failure.message().to_owned());
                }
            }
        }
    }

    async fn run(
        mut self,
        terminal: &mut DefaultTerminal,
        mut answered: mpsc::Receiver<Answer>,
    ) -> anyhow::Result<()> {
        let (mut keys, mut frames) = (EventStream::new(), tokio::time::interval(FRAME));
        frames.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        let mut interrupted = pin!(interruption());
        loop {
            tokio::select! {
                biased;
                () = &mut interrupted => return Ok(()),
                input = keys.next() => match input {
                    Some(Ok(Input::Key(key))) if key.kind != KeyEventKind::Release => {
                        if self.screen.key(key) == Flow::Quit {
                            return Ok(());
                        }
                        self.submit();
                    }
                    Some(Ok(_)) => {}
                    // The terminal was closed.
                    Some(Err(_)) | None => return Ok(()),
                },
                Some(answer) = answered.recv() => self.answered(answer),
                _ = frames.tick() => self.read(),
            }
            self.screen.resized(terminal.size()?.height);
            self.fill();
            terminal.draw(|frame| draw(frame, &self.screen, self.theme))?;
        }
    }

    /// Reads the state of the informers.
    fn read(&mut self) {
        self.screen.usage = self.state_reader.usage();
        let mut kinds = self.state_reader.kinds(&self.watched, &self.metric_values);
        let chosen = self.screen.overview.chosen().map_or(0, |kind| kind.at);
        if let Some(kind) = kinds.get_mut(chosen) {
            kind.kept = self.memory_meter.memory_of(chosen, &self.watched[chosen]);
        }
        self.screen.overview.update(kinds);
        self.screen.overview.feed = feed(&self.history, &self.watched, 40);
        self.screen.notice = self.notices.borrow().clone();
    }

    /// Fills the visible page.
    fn fill(&mut self) {
        self.ask();
        if let Some(objects) = &mut self.screen.objects {
            let watched = &self.watched[objects.at];
            objects.rows = rows(objects, watched, &self.history);
            if let Some(picker) = objects.picker.as_mut().filter(|picker| picker.values.is_none()) {
                let values = values(&watched.informer.snapshot(), picker.index, &objects.query.filters);
                picker.values = Some(std::iter::once(String::new()).chain(values).collect());
            }
        }
        if let Some(object) = &mut self.screen.object {
            refresh(object, &self.watched[object.at], &self.history);
        }
    }

    /// Starts a query on another thread if it is due, so that drawing never waits for it.
    fn ask(&mut self) {
        let Some(objects) = &mut self.screen.objects else { return };
        if objects.query.listed == Listed::Deleted {
            let search = Search::new(&objects.query.search);
            let deleted = self.history.deleted(objects.at, std::time::Instant::now());
            let mut keys: Vec<_> = deleted.into_iter().map(|deleted| deleted.key).collect();
            keys.retain(|key| search.finds(key.as_str()));
            if objects.query.direction == Direction::Reversed {
                keys.reverse();
            }
            objects.answered(objects.query.clone(), keys);
            return;
        }
        if let Some((query, is_given_up)) = &self.asking {
            is_given_up.store(*query != objects.query, Ordering::Relaxed);
            return;
        }
        let is_new = objects.answered.as_ref() != Some(&objects.query);
        if !is_new && self.args.elapsed() < ORDER.max(self.took * REST) {
            return;
        }
        let (at, query, is_given_up) = (objects.at, objects.query.clone(), Arc::new(AtomicBool::new(false)));
        (self.asking, self.args) =
            (Some((query.clone(), Arc::clone(&is_given_up))), tokio::time::Instant::now());
        let (snapshot, answers) = (self.watched[at].informer.snapshot(), self.answers.clone());
        tokio::task::spawn_blocking(move || {
            let began = std::time::Instant::now();
            let keys = query.answer(&snapshot, || !is_given_up.load(Ordering::Relaxed));
            // The session may have ended.
            let _ = answers.blocking_send(Answer { at, query, keys, took: began.elapsed() });
        });
    }

    fn answered(&mut self, Answer { at, query, keys, took }: Answer) {
        self.asking = None;
        let Some(keys) = keys else { return };
        self.took = took;
        let is_listed = |objects: &&mut Objects| objects.at == at && objects.query.listed == query.listed;
        if let Some(objects) = self.screen.objects.as_mut().filter(is_listed) {
            objects.answered(query, keys);
        }
    }
}
