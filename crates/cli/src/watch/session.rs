//! From the options to the last line.

use super::{
    files, once,
    printer::Printer,
    progress::Progress,
    reports::{Admission, Reports},
    saving::SavingNotices,
    stats::Stats,
    told::Told,
};
use crate::advice;
use crate::args::{Approach, Cli, Command, Output, Watch};
use crate::cluster::{Connection, DISCOVERY, Embedded, connect};
use crate::follow::{Followed, Hear, Indexing, Manner, Pace, Saving, events, follow, namespaces, single};
use crate::kinds::Kind;
use crate::meter::Tally;
use crate::notice::say;
use crate::number::count;
use crate::paint::Paint;
use crate::safe::clean;
use crate::signal::interruption;
use crate::trouble::{Class, Trouble};
use clap::Parser;
use futures_util::{
    FutureExt, StreamExt,
    future::{join_all, try_join_all},
};
use kube_core::DynamicObject;
use kube_informer::{
    event::{Event, Phase},
    informer::SyncError,
    reflector::{Backoff, Report, Retry},
};
use std::{
    pin::pin,
    sync::Arc,
    time::{Duration, Instant},
};

/// How often a person is told how far things have come.
const TICK: Duration = Duration::from_millis(100);
/// How many events are printed before the reader sees them, and before an interruption is looked for.
const BATCH: usize = 256;
/// How often failures of saving are looked for.
const SAVE_CHECK: Duration = Duration::from_secs(2);

/// Follows what is asked for, on the cluster that is asked for.
pub(crate) async fn run(asked: Watch) -> anyhow::Result<()> {
    if asked.once && asked.output == Output::Diff {
        let trouble = Trouble::new(Class::Usage, "--once shows one state, of which there is no difference");
        return Err(trouble.advise("leave --once out, or choose another -o").into());
    }
    let connection = connect(&asked.cluster).await?;
    on(connection, asked, Clock::SinceStart).await
}

/// A look at the server within this process, which ends by itself.
pub(crate) async fn glimpse() -> anyhow::Result<()> {
    say("a glimpse of `informer watch pods` on a server within this process; --help tells more");
    let words = ["informer", "watch", "pods", "--for", "3s"];
    let Some(Command::Watch(asked)) = Cli::parse_from(words).command else { return Ok(()) };
    on(Connection::embed(Embedded::start(500, 20.0).await?), *asked, Clock::SinceComplete).await
}

/// From when on the period of `--for` counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Clock {
    SinceStart,
    SinceComplete,
}

async fn on(connection: Connection, mut asked: Watch, clock: Clock) -> anyhow::Result<()> {
    single(&mut asked.resources, &mut asked.following)?;
    let (began, tally) = (Instant::now(), Tally::install()?);
    let period = asked.period.filter(|_| clock == Clock::SinceStart);
    let catalog = connection.catalog(period.map_or(DISCOVERY, |period| period.min(DISCOVERY))).await?;
    let kinds = catalog.resolve(&asked.resources)?;
    let reports = Arc::<Reports>::default();
    let mut session = Session {
        is_named: kinds.iter().map(|kind| catalog.is_named(kind, &asked.resources)).collect(),
        left_out: Vec::new(),
        printer: Printer::new(asked.output, Paint::of_stdout(asked.color), &kinds),
        followed: prepare(&connection, &kinds, &asked, &reports)?,
        progress: Progress::new(!asked.quiet),
        told: Told::default(),
        began,
        reports,
        saving: SavingNotices::default(),
        asked,
    };
    let ending = session.follow(clock).await?;
    if session.asked.save.is_some() {
        // What there is of it is written before this returns.
        join_all(session.followed.iter().map(|followed| {
            followed.informer.stop();
            followed.informer.stopped()
        }))
        .await;
    }
    session.printer.flush()?;
    session.finish(ending, &tally)
}

/// Why it ends well.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Ending {
    /// All that was asked for is done.
    Done,
    /// Someone had seen enough, or time is up.
    Stopped,
}

struct Session {
    asked: Watch,
    followed: Vec<Followed>,
    /// Whether somebody asked for each by name: of a category, what may not be read is left out.
    is_named: Vec<bool>,
    /// The places of those.
    left_out: Vec<usize>,
    printer: Printer,
    progress: Progress,
    told: Told,
    began: Instant,
    reports: Arc<Reports>,
    saving: SavingNotices,
}

impl Session {
    async fn follow(&mut self, clock: Clock) -> anyhow::Result<Ending> {
        let mut interrupted = pin!(interruption());
        let period = self.asked.period.filter(|_| clock == Clock::SinceStart);
        let mut over = pin!(over(period.map(|period| period.saturating_sub(self.began.elapsed()))));
        let mut synced =
            pin!(synced(self.followed.clone(), self.is_named.clone(), self.asked.following.strategy).fuse());
        let mut ticks = tokio::time::interval(TICK);
        let mut checks = tokio::time::interval(SAVE_CHECK);
        let (mut has_synced, mut has_ended) = (false, false);
        // Who wants one state needs no events.
        let followed = if self.asked.once { &[][..] } else { &self.followed[..] };
        let mut events = events(followed, Pace::Every);
        self.restored();
        self.followed.iter().for_each(|followed| followed.informer.start());
        loop {
            tokio::select! {
                biased;
                () = &mut interrupted => return Ok(Ending::Stopped),
                () = &mut over => {
                    return if self.asked.once { Err(self.late().into()) } else { Ok(Ending::Stopped) };
                }
                outcome = &mut synced, if !has_synced => {
                    has_synced = true;
                    self.progress.clear();
                    self.remark(outcome?);
                    anyhow::ensure!(!has_ended, "every informer has broken down");
                    let (output, left_out) = (self.asked.output, &self.left_out);
                    let there = self.followed.iter().enumerate().filter(|(at, _)| !left_out.contains(at));
                    if self.asked.once {
                        once::print(&mut self.printer, output, there)?;
                        return Ok(Ending::Done);
                    }
                    self.progress.done(there.map(|(_, followed)| followed));
                    if clock == Clock::SinceComplete {
                        over.set(self::over(self.asked.period));
                    }
                }
                next = events.next(), if !self.asked.once && !has_ended => {
                    let Some((at, event)) = next else {
                        anyhow::ensure!(!has_synced, "every informer has broken down");
                        // Why, is told by what waits for them to be complete.
                        has_ended = true;
                        continue;
                    };
                    self.event(at, &event)?;
                    let more = std::iter::from_fn(|| events.next().now_or_never().flatten());
                    for (at, event) in more.take(BATCH) {
                        self.event(at, &event)?;
                    }
                    self.printer.flush()?;
                }
                _ = ticks.tick(), if !has_synced => self.progress.draw(&self.followed),
                _ = checks.tick(), if self.asked.save.is_some() && !self.asked.quiet => {
                    self.saving.changed(&self.followed).into_iter().for_each(say);
                }
            }
        }
    }

    fn event(&mut self, at: usize, event: &Event<DynamicObject>) -> std::io::Result<()> {
        self.told.count(event);
        let is_initial = matches!(event, Event::Added { phase: Phase::Initial, .. });
        if is_initial && !self.asked.initial {
            return Ok(());
        }
        self.printer.event((at, &self.followed[at].kind), event)
    }

    /// Reports the restored objects, and the folders that cannot be used.
    fn restored(&mut self) {
        for followed in self.followed.iter().filter(|_| !self.asked.quiet) {
            let (status, resource) = (followed.informer.status(), followed.kind.resource());
            if let Some(restored) = status.restored {
                let objects = count(restored.objects as u64, "object");
                say(format!("{resource}: restored {objects}, {} seconds old", restored.age.as_secs()));
            }
        }
        if !self.asked.quiet {
            self.saving.changed(&self.followed).into_iter().for_each(say);
        }
    }

    /// Who asked for everything has got nothing in time.
    fn late(&self) -> Trouble {
        let is_late = |one: &&Followed| !one.informer.has_synced() && !one.informer.is_stopped();
        let late = self.followed.iter().filter(is_late);
        let names: Vec<_> = late.clone().map(|followed| followed.kind.resource()).collect();
        let trouble = Trouble::new(Class::Other, format!("not complete in time: {}", names.join(", ")));
        let errors = late.filter_map(|followed| followed.informer.status().last_error);
        errors.fold(trouble, |trouble, error| trouble.advise(clean(&error)))
    }

    /// Tells what is not there: objects that could not be read, and kinds that may not be.
    fn remark(&mut self, remarks: Vec<Remark>) {
        for remark in remarks {
            let text = match remark {
                Remark::Unreadable(error) => error.to_string(),
                Remark::LeftOut(at, trouble) => {
                    self.left_out.push(at);
                    format!("{}; it is left out", trouble.what())
                }
            };
            if !self.asked.quiet {
                say(text);
            }
        }
    }

    fn finish(&self, ending: Ending, tally: &Tally) -> anyhow::Result<()> {
        let there = self.followed.iter().enumerate().filter(|(at, _)| !self.left_out.contains(at));
        let there: Vec<_> = there.map(|(_, followed)| followed.clone()).collect();
        if let Some(path) = &self.asked.dump {
            files::dump(path, &there)?;
        }
        if let Some(path) = &self.asked.stats {
            files::stats(path, &Stats::of(&there, &self.asked.following, self.told, tally))?;
        }
        if ending == Ending::Stopped && !self.asked.quiet {
            let objects = there.iter().map(|followed| followed.informer.len() as u64).sum();
            let errors = self.followed.iter().map(|followed| followed.informer.status().counts.errors).sum();
            self.progress.clear();
            say(self.told.summary(objects, self.began.elapsed(), errors));
            let late = there.iter().filter(|followed| !followed.informer.has_synced()).count();
            if late > 0 {
                say(format!("{} had not become complete", count(late as u64, "cache")));
            }
        }
        if self.reports.suppressed() > 0 && !self.asked.quiet {
            say(suppressed(self.reports.suppressed()));
        }
        match SavingNotices::failure(&self.followed) {
            Some(failure) => Err(Trouble::new(Class::Other, failure).into()),
            None => Ok(()),
        }
    }
}

/// Prepares an informer for each kind.
fn prepare(
    connection: &Connection,
    kinds: &[Kind],
    asked: &Watch,
    reports: &Arc<Reports>,
) -> Result<Vec<Followed>, Trouble> {
    let namespaces = namespaces(&asked.following, connection.namespace.as_deref());
    let reports = Arc::clone(reports);
    let hear: Hear =
        if asked.quiet { Arc::new(|_| {}) } else { Arc::new(move |report| tell(report, &reports)) };
    let saving = asked.save.clone().map(|folder| Saving { folder, secrets: asked.save_secrets });
    let manner = Manner { indexing: Indexing::Nothing, backoff: Backoff::default(), hear, saving };
    let one = |kind| {
        let what = (namespaces.as_deref(), &asked.following);
        follow(connection, kind, what, manner.clone())
    };
    kinds.iter().map(one).collect()
}

/// Returns the line that stands for reports that were not printed.
fn suppressed(number: u64) -> String {
    format!("{} suppressed, since there were too many", count(number, "report"))
}

/// Tells of a failure, and what happens next.
fn tell(report: &Report<'_>, reports: &Reports) {
    match reports.admit(Instant::now()) {
        Admission::Suppress => return,
        Admission::Print { suppressed: 0 } => {}
        Admission::Print { suppressed: number } => say(suppressed(number)),
    }
    let next = match report.retry {
        Retry::Continue => "it is left out".to_owned(),
        Retry::Immediate => "another way is tried".to_owned(),
        Retry::Rewatch(wait) => format!("the watch goes on in {:.1} s", wait.as_secs_f64()),
        Retry::Relist(wait) => format!("the whole state is asked for in {:.1} s", wait.as_secs_f64()),
        _ => "it goes on".to_owned(),
    };
    say(clean(&format!("{}: {}; {next}", report.name, report.cause)));
}

/// What is not there of what was asked for.
#[derive(Debug)]
enum Remark {
    /// Objects.
    Unreadable(SyncError),
    /// The kind at this place.
    LeftOut(usize, Trouble),
}

/// Waits until all caches are complete, or one cannot be. Objects that could not be read are no reason to end, and neither is a kind
/// that may not be read and that nobody has named, unless there is no other.
async fn synced(
    followed: Vec<Followed>,
    is_named: Vec<bool>,
    approach: Approach,
) -> Result<Vec<Remark>, Trouble> {
    let all = followed.iter().zip(is_named).enumerate().map(|(at, (followed, is_named))| async move {
        match followed.informer.synced().await {
            Ok(()) => Ok(None),
            Err(error) if error.is_skipped() => Ok(Some(Remark::Unreadable(error))),
            Err(error) => {
                let trouble = advice::of_sync(&error, &followed.kind, approach);
                if is_named || !error.is_forbidden() {
                    return Err(trouble);
                }
                followed.informer.stop();
                followed.informer.stopped().await;
                Ok(Some(Remark::LeftOut(at, trouble)))
            }
        }
    });
    let mut remarks: Vec<_> = try_join_all(all).await?.into_iter().flatten().collect();
    let left_out = remarks.iter().filter(|remark| matches!(remark, Remark::LeftOut(..))).count();
    match remarks.pop_if(|_| left_out == followed.len()) {
        Some(Remark::LeftOut(_, trouble)) => Err(trouble),
        Some(Remark::Unreadable(_)) | None => Ok(remarks),
    }
}

/// Waits until time is up.
async fn over(period: Option<Duration>) {
    match period {
        Some(period) => tokio::time::sleep(period).await,
        None => std::future::pending().await,
    }
}
