//! The session of `informer watch`.

use super::{
    files::Files,
    once,
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
use crate::follow::{
    Followed, Hear, Indexing, Manner, Pace, Saving, Target, events, follow, namespaces, targets,
};
use crate::meter::Tally;
use crate::notice::say;
use crate::number::{age, count};
use crate::paint::Paint;
use crate::safe::clean;
use crate::signal::interruption;
use crate::trouble::{Class, Trouble};
use clap::Parser;
use futures_util::{
    FutureExt, Stream, StreamExt,
    future::{join_all, try_join_all},
};
use kube_core::{DynamicObject, Status};
use kube_informer::{
    event::{Event, Phase},
    informer::SyncError,
    reflector::{Activity, Backoff, Cause, Report, Retry},
};
use kube_informer_wire::StatusExt;
use std::{
    pin::pin,
    sync::Arc,
    time::{Duration, Instant},
};
use tokio::sync::mpsc;

/// How often the progress is drawn.
const TICK: Duration = Duration::from_millis(100);
/// The number of events printed before stdout is flushed and Ctrl-C is checked.
const BATCH: usize = 256;
/// How long received changes are printed after the end.
const DRAIN: Duration = Duration::from_secs(5);
/// How often failures of saving are looked for.
const SAVE_CHECK: Duration = Duration::from_secs(2);

/// Runs `informer watch`.
pub(crate) async fn run(asked: Watch) -> anyhow::Result<()> {
    if asked.once && asked.output == Output::Diff {
        let trouble = Trouble::new(Class::Usage, "--once prints one state, which has no diff");
        return Err(trouble.advise("remove --once, or choose another -o").into());
    }
    let connection = connect(&asked.cluster).await?;
    on(connection, asked, Clock::SinceStart).await
}

/// Prints three seconds of changes of the built-in server.
pub(crate) async fn glimpse() -> anyhow::Result<()> {
    say("DEMO DATA: `informer watch pods` on a built-in server for three seconds; see --help");
    let words = ["informer", "watch", "pods", "--timeout", "3s"];
    let Some(Command::Watch(asked)) = Cli::parse_from(words).command else { return Ok(()) };
    on(Connection::embed(Embedded::start(500, 20.0).await?), *asked, Clock::SinceComplete).await
}

/// When the time of `--timeout` starts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Clock {
    SinceStart,
    SinceComplete,
}

async fn on(connection: Connection, asked: Watch, clock: Clock) -> anyhow::Result<()> {
    let files = Files::open(&asked)?;
    let (began, tally) = (Instant::now(), Tally::install()?);
    let period = asked.period.filter(|_| clock == Clock::SinceStart);
    let catalog = connection.catalog(period.map_or(DISCOVERY, |period| period.min(DISCOVERY))).await?;
    let targets = targets(&catalog, &asked.resources)?;
    let is_named =
        |target: &Target| target.name.is_some() || catalog.is_named(&target.kind, &asked.resources);
    let kinds: Vec<_> = targets.iter().map(|target| target.kind.clone()).collect();
    let namespaces = namespaces(&asked.following, connection.namespace.as_deref());
    let (deny, denied) = mpsc::unbounded_channel();
    let reports = Arc::<Reports>::default();
    let hearing = Hearing { namespaces: namespaces.clone(), deny, reports: Arc::clone(&reports) };
    let mut session = Session {
        is_named: targets.iter().map(is_named).collect(),
        left_out: Vec::new(),
        printer: Printer::new(asked.output, Paint::of_stdout(asked.color), &kinds),
        followed: prepare(&connection, &targets, &asked, hearing)?,
        denied,
        namespaces,
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
    session.finish(ending, files, &tally)
}

/// Why the session ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Ending {
    /// The current state is printed.
    Done,
    /// Ctrl-C, or the time is up.
    Stopped,
}

struct Session {
    asked: Watch,
    followed: Vec<Followed>,
    /// Whether the user named each resource itself. Of a category, resources that may not be read are skipped.
    is_named: Vec<bool>,
    /// The positions of the skipped resources.
    left_out: Vec<usize>,
    printer: Printer,
    progress: Progress,
    told: Told,
    namespaces: Option<Vec<String>>,
    /// Receives the watches that the server forbids.
    denied: mpsc::UnboundedReceiver<Denied>,
    began: Instant,
    reports: Arc<Reports>,
    saving: SavingNotices,
}

/// A watch that the server forbids although it allows the list.
#[derive(Debug)]
struct Denied {
    /// The name of the informer.
    name: String,
    status: Box<Status>,
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
        // One state needs no events.
        let followed = if self.asked.once { &[][..] } else { &self.followed[..] };
        let mut events = events(followed, Pace::Every);
        self.restored();
        self.followed.iter().for_each(|followed| followed.informer.start());
        loop {
            tokio::select! {
                biased;
                () = &mut interrupted => break,
                () = &mut over => {
                    if self.asked.once {
                        return Err(self.late().into());
                    }
                    break;
                }
                Some(denied) = self.denied.recv(), if !self.asked.once => {
                    if let Some(trouble) = self.fatal(&denied) {
                        return Err(trouble.into());
                    }
                }
                outcome = &mut synced, if !has_synced => {
                    has_synced = true;
                    anyhow::ensure!(!has_ended || outcome.is_err(), "all informers have stopped");
                    self.synced(outcome?)?;
                    if self.asked.once {
                        return Ok(Ending::Done);
                    }
                    if clock == Clock::SinceComplete {
                        over.set(self::over(self.asked.period));
                    }
                }
                next = events.next(), if !self.asked.once && !has_ended => {
                    let Some((at, event)) = next else {
                        anyhow::ensure!(!has_synced, "all informers have stopped");
                        // `synced` returns the reason.
                        has_ended = true;
                        continue;
                    };
                    self.event(at, &event)?;
                    self.print_ready(&mut events)?;
                }
                _ = ticks.tick(), if !has_synced => self.progress.draw(&self.followed),
                _ = checks.tick(), if self.asked.save.is_some() && !self.asked.quiet => {
                    self.saving.changed(&self.followed).into_iter().for_each(say);
                }
            }
        }
        self.drain(events).await?;
        Ok(Ending::Stopped)
    }

    /// Reports that all caches have synced, and prints the current state with `--once`.
    fn synced(&mut self, remarks: Vec<Remark>) -> anyhow::Result<()> {
        self.progress.clear();
        self.remark(remarks);
        let left_out = &self.left_out;
        let there = self.followed.iter().enumerate().filter(|(at, _)| !left_out.contains(at));
        if self.asked.once {
            once::print(&mut self.printer, self.asked.output, there, self.namespaces.as_deref())?;
            self.found()?;
        } else {
            self.progress.done(there.map(|(_, followed)| followed));
        }
        Ok(())
    }

    /// Prints a batch of the events that have arrived, and flushes stdout.
    fn print_ready(
        &mut self,
        events: &mut (impl Stream<Item = (usize, Event<DynamicObject>)> + Unpin),
    ) -> std::io::Result<()> {
        let ready = std::iter::from_fn(|| events.next().now_or_never().flatten());
        for (at, event) in ready.take(BATCH) {
            self.event(at, &event)?;
        }
        self.printer.flush()
    }

    /// Prints what was received before the end, for a limited time.
    async fn drain(
        &mut self,
        mut events: impl Stream<Item = (usize, Event<DynamicObject>)> + Unpin,
    ) -> std::io::Result<()> {
        for followed in &self.followed {
            followed.informer.stop();
        }
        let mut limit = pin!(tokio::time::sleep(DRAIN));
        loop {
            tokio::select! {
                biased;
                () = &mut limit => {
                    let rest = events.count().await as u64;
                    say(format!("{} received before the end but not printed", count(rest, "change")));
                    return Ok(());
                }
                next = events.next() => match next {
                    Some((at, event)) => self.event(at, &event)?,
                    None => return Ok(()),
                },
            }
        }
    }

    /// Returns the error of a named resource that may be listed but not watched.
    fn fatal(&self, denied: &Denied) -> Option<Trouble> {
        let at = self.followed.iter().position(|followed| {
            let name = followed.informer.name();
            denied.name.strip_prefix(name).is_some_and(|rest| rest.is_empty() || rest.starts_with('@'))
        })?;
        let namespace = denied.name.split_once('@').map(|(_, namespace)| namespace);
        self.is_named[at].then(|| advice::of_denied_watch(&self.followed[at].kind, namespace, &denied.status))
    }

    /// Checks that the objects named on the command line exist.
    fn found(&self) -> Result<(), Trouble> {
        let missing =
            self.followed.iter().filter(|followed| followed.name.is_some() && followed.informer.is_empty());
        let names: Vec<_> = missing
            .map(|followed| {
                format!("{} {:?}", followed.kind.resource(), followed.name.as_deref().unwrap_or_default())
            })
            .collect();
        if names.is_empty() {
            Ok(())
        } else {
            Err(Trouble::new(Class::Other, format!("not found: {}", names.join(", "))))
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
                say(format!("{resource}: restored {objects}, saved {} ago", age(restored.age)));
            }
        }
        if !self.asked.quiet {
            self.saving.changed(&self.followed).into_iter().for_each(say);
        }
    }

    /// Returns the error of `--once` if the initial lists take too long.
    fn late(&self) -> Trouble {
        let is_late = |one: &&Followed| !one.informer.has_synced() && !one.informer.is_stopped();
        let late = self.followed.iter().filter(is_late);
        let names: Vec<_> = late.clone().map(|followed| followed.kind.resource()).collect();
        let trouble = Trouble::new(
            Class::Other,
            format!("timed out before the initial list was complete: {}", names.join(", ")),
        );
        let errors = late.filter_map(|followed| followed.informer.status().last_error);
        errors.fold(trouble, |trouble, error| trouble.advise(clean(&error)))
    }

    /// Reports objects that could not be decoded, and resources that may not be read.
    fn remark(&mut self, remarks: Vec<Remark>) {
        for remark in remarks {
            let text = match remark {
                Remark::Unreadable(error) => error.to_string(),
                Remark::LeftOut(at, trouble) => {
                    self.left_out.push(at);
                    format!("{}; skipped", trouble.what())
                }
            };
            if !self.asked.quiet {
                say(text);
            }
        }
    }

    fn finish(&self, ending: Ending, files: Files, tally: &Tally) -> anyhow::Result<()> {
        let there = self.followed.iter().enumerate().filter(|(at, _)| !self.left_out.contains(at));
        let there: Vec<_> = there.map(|(_, followed)| followed.clone()).collect();
        files.write(&there, || Stats::of(&there, &self.asked.following, self.told, tally))?;
        if ending == Ending::Stopped && !self.asked.quiet {
            let objects = there.iter().map(|followed| followed.informer.len() as u64).sum();
            let errors = self.followed.iter().map(|followed| followed.informer.status().counts.errors).sum();
            self.progress.clear();
            say(self.told.summary(objects, self.began.elapsed(), errors));
            let late = there.iter().filter(|followed| !followed.informer.has_synced());
            let late: Vec<_> = late.map(|followed| followed.kind.resource()).collect();
            if !late.is_empty() {
                say(format!("stopped before the initial list was complete: {}", late.join(", ")));
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

/// The namespaces of the informers, and where their errors are reported.
struct Hearing {
    namespaces: Option<Vec<String>>,
    deny: mpsc::UnboundedSender<Denied>,
    reports: Arc<Reports>,
}

/// Creates an informer for each target.
fn prepare(
    connection: &Connection,
    targets: &[Target],
    asked: &Watch,
    hearing: Hearing,
) -> Result<Vec<Followed>, Trouble> {
    let Hearing { namespaces, deny, reports } = hearing;
    let is_quiet = asked.quiet;
    let hear: Hear = Arc::new(move |report| {
        if let (Activity::Watch, Cause::Source(error)) = (report.activity, &report.cause)
            && let Some(status) = error.as_status().filter(|status| status.is_forbidden_status())
        {
            // The session may have ended.
            let _ = deny.send(Denied { name: report.name.to_owned(), status: Box::new(status.clone()) });
        }
        if !is_quiet {
            report_error(report, &reports);
        }
    });
    if asked.save.is_some() && targets.iter().filter(|target| target.name.is_some()).count() > 1 {
        let what = "--save cannot save several single objects";
        return Err(
            Trouble::new(Class::Usage, what).advise("select one object, or several by their labels with -l")
        );
    }
    let saving = asked.save.clone().map(|folder| Saving { folder, secrets: asked.save_secrets });
    let manner =
        Manner { namespaces, indexing: Indexing::Nothing, backoff: Backoff::default(), hear, saving };
    targets.iter().map(|target| follow(connection, target, &asked.following, manner.clone())).collect()
}

/// Returns the line that stands for reports that were not printed.
fn suppressed(number: u64) -> String {
    format!("{} suppressed, since there were too many", count(number, "report"))
}

/// Prints an error and what happens next.
fn report_error(report: &Report<'_>, reports: &Reports) {
    match reports.admit(Instant::now()) {
        Admission::Suppress => return,
        Admission::Print { suppressed: 0 } => {}
        Admission::Print { suppressed: number } => say(suppressed(number)),
    }
    let next = match report.retry {
        Retry::Continue => "skipped".to_owned(),
        Retry::Immediate => match report.activity {
            Activity::Stream => "falling back to LIST".to_owned(),
            _ => "retrying".to_owned(),
        },
        Retry::Rewatch(wait) => format!("reconnecting the watch in {:.1}s", wait.as_secs_f64()),
        Retry::Relist(wait) => format!("relisting in {:.1}s", wait.as_secs_f64()),
        _ => "continuing".to_owned(),
    };
    say(clean(&format!("{}: {}; {next}", report.name, report.cause)));
}

/// What is missing in the result.
#[derive(Debug)]
enum Remark {
    /// Objects that could not be decoded.
    Unreadable(SyncError),
    /// The resource at this position, which may not be read.
    LeftOut(usize, Trouble),
}

/// Waits until all caches have synced. Objects that could not be decoded are only reported, and so are resources of a category that
/// may not be read, unless there are no others.
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

/// Waits until the time is up; forever without a limit.
async fn over(period: Option<Duration>) {
    match period {
        Some(period) => tokio::time::sleep(period).await,
        None => std::future::pending().await,
    }
}
