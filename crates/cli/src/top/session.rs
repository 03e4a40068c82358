//! The loop: keys and changes in, pictures out.

use super::{
    draw::{Theme, draw},
    gather::{Gatherer, feed, refresh, rows},
    history::{Happened, History},
    query::{Query, values},
    scales::Scales,
    screen::{Flow, Screen},
};
use crate::args::{Following, Top};
use crate::cluster::{Connection, DISCOVERY, connect};
use crate::follow::{Followed, Indexing, Manner, Pace, Target, events, follow, namespaces, targets};
use crate::meter::Tally;
use crate::paint::allows_colour;
use crate::signal::interruption;
use crate::trouble::{Class, Trouble};
use crossterm::{
    event::{Event as Input, EventStream, KeyEventKind},
    terminal::{Clear, ClearType},
};
use futures_util::StreamExt;
use kube_informer::{
    event::{Event, Phase},
    reflector::Backoff,
};
use kube_informer_wire::Key;
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
    task::JoinHandle,
};

/// How often the screen is drawn while no key is pressed.
const FRAME: Duration = Duration::from_millis(200);
/// How often a list of objects is put in order anew while it changes.
const ORDER: Duration = Duration::from_millis(700);
/// What takes long is done less often: this many times as long passes until it is done again.
const REST: u32 = 4;

/// What is followed where nothing is named: what most clusters have, as far as this one does.
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

/// Shows the cluster that is asked for.
pub(crate) async fn run(asked: Top) -> anyhow::Result<()> {
    if !is_terminal() {
        let trouble = Trouble::new(Class::Usage, "`top` needs a terminal: stdin or stdout is not one");
        return Err(trouble.advise("use `informer watch` for files and pipes").into());
    }
    let connection = connect(&asked.cluster).await?;
    let catalog = connection.catalog(DISCOVERY).await?;
    let targets = match asked.resources.as_slice() {
        [] => catalog.known(&USUAL).into_iter().map(Target::all).collect(),
        named => targets(&catalog, named)?,
    };
    let (_, notices) = watch::channel(None);
    show(Stage {
        connection: &connection,
        targets,
        following: asked.following,
        backoff: Backoff::default(),
        notices,
    })
    .await
}

/// Whether there is a terminal to draw on and to read keys from.
pub(crate) fn is_terminal() -> bool {
    std::io::stdout().is_terminal() && std::io::stdin().is_terminal()
}

/// What is shown.
pub(crate) struct Stage<'c> {
    pub(crate) connection: &'c Connection,
    pub(crate) targets: Vec<Target>,
    pub(crate) following: Following,
    pub(crate) backoff: Backoff,
    /// What is done to the cluster meanwhile.
    pub(crate) notices: watch::Receiver<Option<String>>,
}

/// Follows all kinds, and draws until someone has seen enough.
pub(crate) async fn show(stage: Stage<'_>) -> anyhow::Result<()> {
    let tally = Tally::install()?;
    let manner = Manner {
        namespaces: namespaces(&stage.following, None),
        indexing: Indexing::Browsing,
        backoff: stage.backoff,
        hear: Arc::new(|_| {}),
        saving: None,
    };
    let one = |target| follow(stage.connection, target, &stage.following, manner.clone());
    let followed: Vec<Followed> = stage.targets.iter().map(one).collect::<Result<_, _>>()?;
    followed.iter().for_each(|followed| followed.informer.start());
    let history = Arc::new(History::default());
    let recorder = tokio::spawn(record(followed.clone(), Arc::clone(&history)));
    let (answers, answered) = mpsc::channel(1);
    let session = Session {
        screen: Screen { server: stage.connection.server.clone(), scope: scope(&stage), ..Screen::default() },
        theme: if allows_colour() { Theme::Coloured } else { Theme::Plain },
        gatherer: Gatherer::new(followed.len()),
        scales: Scales::new(stage.following.storage, followed.len()),
        followed,
        history,
        tally,
        notices: stage.notices,
        answers,
        asking: None,
        asked: tokio::time::Instant::now(),
        took: Duration::ZERO,
    };
    let mut terminal = ratatui::try_init()?;
    let _restored = Restored(recorder);
    // Some terminals have no second screen, and show what was there.
    crossterm::execute!(std::io::stdout(), Clear(ClearType::All))?;
    session.run(&mut terminal, answered).await
}

/// Returns what restricts the view: context, namespaces and selectors.
fn scope(stage: &Stage<'_>) -> String {
    let Following { namespaces, selector, field_selector, .. } = &stage.following;
    let context = stage.connection.context.iter().map(|name| format!("context {name}"));
    let namespaces = (!namespaces.is_empty()).then(|| format!("-n {}", namespaces.join(",")));
    let labels = selector.iter().map(|selector| format!("-l {selector}"));
    let fields = field_selector.iter().map(|selector| format!("--field-selector {selector}"));
    context.chain(namespaces).chain(labels).chain(fields).collect::<Vec<_>>().join("  ")
}

/// Gives the terminal back and ends the recorder, however the session ends.
struct Restored(JoinHandle<()>);

impl Drop for Restored {
    fn drop(&mut self) {
        self.0.abort();
        ratatui::restore();
    }
}

/// Writes down what changes.
async fn record(followed: Vec<Followed>, history: Arc<History>) {
    let mut events = events(&followed, Pace::Latest);
    while let Some((at, event)) = events.next().await {
        let is_change = !event.is_resync() && !matches!(event, Event::Added { phase: Phase::Initial, .. });
        if is_change {
            let kind = followed[at].kind.kind.as_str();
            history.push(Happened { at, kind, event: &event });
        }
    }
}

/// An answer to a query of a kind.
struct Answer {
    at: usize,
    query: Query,
    /// Nothing if it was given up.
    keys: Option<Vec<Key>>,
    took: Duration,
}

struct Session {
    screen: Screen,
    theme: Theme,
    gatherer: Gatherer,
    scales: Scales,
    followed: Vec<Followed>,
    history: Arc<History>,
    tally: Tally,
    notices: watch::Receiver<Option<String>>,
    answers: mpsc::Sender<Answer>,
    /// The query that is being answered, and whether it is to be given up.
    asking: Option<(Query, Arc<AtomicBool>)>,
    asked: tokio::time::Instant,
    /// How long the last answer took.
    took: Duration,
}

impl Session {
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
                    }
                    Some(Ok(_)) => {}
                    // A terminal that is gone has nobody before it.
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

    /// Reads what changes by itself.
    fn read(&mut self) {
        self.screen.machine = self.gatherer.machine();
        self.screen.overview.kinds = self.gatherer.kinds(&self.followed, &self.tally);
        let chosen = self.screen.overview.window.chosen;
        if let Some(kind) = self.screen.overview.kinds.get_mut(chosen) {
            kind.kept = self.scales.weigh(chosen, &self.followed[chosen]);
        }
        self.screen.overview.feed = feed(&self.history, &self.followed, 40);
        self.screen.notice = self.notices.borrow().clone();
    }

    /// Looks up what the page in sight shows.
    fn fill(&mut self) {
        self.ask();
        if let Some(objects) = &mut self.screen.objects {
            let followed = &self.followed[objects.at];
            objects.rows = rows(objects, followed);
            if let Some(picker) = objects.picker.as_mut().filter(|picker| picker.values.is_none()) {
                let values = values(&followed.informer.snapshot(), picker.index, &objects.query.filters);
                picker.values = Some(std::iter::once(String::new()).chain(values).collect());
            }
        }
        if let Some(object) = &mut self.screen.object {
            refresh(object, &self.followed[object.at], &self.history);
        }
    }

    /// Has a list put in order elsewhere, if it is time to, so that drawing never waits for it.
    fn ask(&mut self) {
        let Some(objects) = &self.screen.objects else { return };
        if let Some((query, is_given_up)) = &self.asking {
            is_given_up.store(*query != objects.query, Ordering::Relaxed);
            return;
        }
        let is_new = objects.answered.as_ref() != Some(&objects.query);
        if !is_new && self.asked.elapsed() < ORDER.max(self.took * REST) {
            return;
        }
        let (at, query, is_given_up) = (objects.at, objects.query.clone(), Arc::new(AtomicBool::new(false)));
        (self.asking, self.asked) =
            (Some((query.clone(), Arc::clone(&is_given_up))), tokio::time::Instant::now());
        let (snapshot, answers) = (self.followed[at].informer.snapshot(), self.answers.clone());
        tokio::task::spawn_blocking(move || {
            let began = std::time::Instant::now();
            let keys = query.answer(&snapshot, || !is_given_up.load(Ordering::Relaxed));
            // Who is gone needs no answer.
            let _ = answers.blocking_send(Answer { at, query, keys, took: began.elapsed() });
        });
    }

    fn answered(&mut self, Answer { at, query, keys, took }: Answer) {
        self.asking = None;
        let Some(keys) = keys else { return };
        self.took = took;
        if let Some(objects) = self.screen.objects.as_mut().filter(|objects| objects.at == at) {
            objects.answered(query, keys);
        }
    }
}
