//! The session of `informer watch`.

use super::{
    files::Files,
    once,
    printer::Printer,
    progress::Progress,
    relevance::{Decision, Relevance},
    reports::{Admission, Reports},
    saving::SavingNotices,
    scope::Scope,
    selection::Selection,
    server_table::{self, Printed},
    stats::Stats,
    told::Told,
};
use crate::advice;
use crate::args::{Approach, Cli, Command, Output, Watch};
use crate::cli_error::{Class, CliError};
use crate::cluster::{Connection, DISCOVERY, Embedded, connect_all};
use crate::follow::{EventAt, Followed, Hear, Indexing, Manner, Pace, Saving, Target, events, follow};
use crate::meter::Tally;
use crate::notice::say;
use crate::number::{age, count};
use crate::safe::clean;
use crate::signal::interruption;
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
use kube_informer_wire::{ManagedFields, StatusExt};
use std::{
    pin::pin,
    sync::Arc,
    time::{Duration, Instant},
};
use tokio::sync::mpsc;

/// The interval between updates of the progress.
const TICK: Duration = Duration::from_millis(100);
/// The number of events printed before stdout is flushed and Ctrl-C is checked.
const BATCH: usize = 256;
/// The time for which received changes are printed after the end.
const DRAIN: Duration = Duration::from_secs(5);
/// The interval between checks for failures of saving.
const SAVE_CHECK: Duration = Duration::from_secs(2);

/// Runs `informer watch`.
pub(crate) async fn run(asked: Watch) -> anyhow::Result<()> {
    if asked.once && asked.output == Output::Diff {
        let failure = CliError::new(Class::Usage, "--once prints one state, which has no diff");
        return Err(failure.hint("remove --once, or choose another -o").into());
    }
    let connections = connect_all(&asked.cluster).await?;
    if asked.save.is_some() && connections.len() > 1 {
        let failure = CliError::new(Class::Usage, "--save works with one context");
        return Err(failure.hint("run one command for each context, with its own folder").into());
    }
    on(connections, asked, Clock::SinceStart).await
}

/// Prints three seconds of changes of the built-in server.
pub(crate) async fn glimpse() -> anyhow::Result<()> {
    say("DEMO DATA: `informer watch pods` on a built-in server for three seconds; see --help");
    let words = ["informer", "watch", "pods", "--timeout", "3s"];
    let Some(Command::Watch(asked)) = Cli::parse_from(words).command else { return Ok(()) };
    on(vec![Connection::embed(Embedded::start(500, 20.0).await?)], *asked, Clock::SinceComplete).await
}

/// When the time of `--timeout` starts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Clock {
    SinceStart,
    SinceComplete,
}

async fn on(connections: Vec<Connection>, asked: Watch, clock: Clock) -> anyhow::Result<()> {
    let files = Files::open(&asked)?;
    let (began, tally) = (Instant::now(), Tally::install()?);
    let period = asked.period.filter(|_| clock == Clock::SinceStart);
    let limit = period.map_or(DISCOVERY, |period| period.min(DISCOVERY));
    let has_several = connections.len() > 1;
    let resolve = |connection: Connection| {
        let context = connection.context.clone().filter(|_| has_several);
        Scope::resolve(connection, context, &asked, limit)
    };
    let scopes = try_join_all(connections.into_iter().map(resolve)).await?;
    let mut printer = Printer::new(&asked, scopes.iter().flat_map(Scope::sources).collect());
    let (deny, denied) = mpsc::unbounded_channel();
    let reports = Arc::<Reports>::default();
    let hearing = Hearing { deny, reports: Arc::clone(&reports) };
    // Before anything is printed, so that a folder that cannot be used is reported first.
    let followed = prepare(&scopes, &asked, hearing)?;
    let mut is_printed = false;
    let is_table = matches!(asked.output, Output::Table | Output::Wide);
    // A table is a list, which `--strategy stream` excludes.
    if asked.once && is_table && asked.following.strategy != Approach::Stream {
        let remaining = period.map(|period| period.saturating_sub(began.elapsed()));
        let Some(printed) = tables(&mut printer, &scopes, &asked, remaining).await? else { return Ok(()) };
        is_printed = printed == Printed::Tables;
        // The caches are needed for nothing else.
        if is_printed && asked.save.is_none() && asked.dump.is_none() && asked.stats.is_none() {
            return Ok(());
        }
    }
    let mut session = Session {
        is_named: scopes.iter().flat_map(|scope| scope.is_named.clone()).collect(),
        left_out: Vec::new(),
        printer,
        followed,
        denied,
        namespaces: scopes.first().and_then(|scope| scope.namespaces.clone()),
        progress: Progress::new(!asked.quiet),
        told: Told::default(),
        began,
        reports,
        saving: SavingNotices::default(),
        selection: Selection::new(&asked),
        relevance: Relevance::new(&asked),
        noise: 0,
        is_printed,
        asked,
    };
    let ending = session.follow(clock).await?;
    if session.asked.save.is_some() {
        // The caches are written before this returns.
        join_all(session.followed.iter().map(|followed| {
            followed.informer.stop();
            followed.informer.stopped()
        }))
        .await;
    }
    session.printer.flush()?;
    session.finish(ending, files, &tally)
}

/// Prints the tables of the servers; `None` if the command was interrupted.
async fn tables(
    printer: &mut Printer,
    scopes: &[Scope],
    asked: &Watch,
    limit: Option<Duration>,
) -> anyhow::Result<Option<Printed>> {
    tokio::select! {
        printed = server_table::print(printer, scopes, asked) => printed.map(Some),
        () = over(limit) => {
            let targets = scopes.iter().flat_map(|scope| &scope.targets);
            Err(late(targets.map(Target::label)).into())
        }
        () = interruption() => Ok(None),
    }
}

/// Returns the error of `--once` for resources whose lists take too long.
fn late(resources: impl Iterator<Item = String>) -> CliError {
    let resources: Vec<_> = resources.collect();
    let what = format!("timed out before the initial list was complete: {}", resources.join(", "));
    CliError::new(Class::Other, what)
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
    /// Whether the user named each resource itself. Resources of a category are skipped if they may not be read.
    is_named: Vec<bool>,
    /// The positions of the skipped resources.
    left_out: Vec<usize>,
    printer: Printer,
    progress: Progress,
    told: Told,
    namespaces: Option<Vec<String>>,
    selection: Selection,
    relevance: Relevance,
    /// The number of updates that were not printed because they are noise.
    noise: u64,
    /// Whether the current state was printed as tables of the servers.
    is_printed: bool,
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
                    if let Some(failure) = self.fatal(&denied) {
                        return Err(failure.into());
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
        self.reports.synced().into_iter().for_each(say);
        self.remark(remarks);
        let left_out = &self.left_out;
        let there = self.followed.iter().enumerate().filter(|(at, _)| !left_out.contains(at));
        if self.asked.once {
            if !self.is_printed {
                let there: Vec<_> = there.map(|(at, followed)| once::Positioned { at, followed }).collect();
                once::print(&mut self.printer, &there, &self.asked, self.namespaces.as_deref())?;
            }
            self.found()?;
        } else {
            self.progress.done(there.map(|(_, followed)| followed));
        }
        Ok(())
    }

    /// Prints a batch of the events that have arrived, and flushes stdout.
    fn print_ready(&mut self, events: &mut (impl Stream<Item = EventAt> + Unpin)) -> anyhow::Result<()> {
        let ready = std::iter::from_fn(|| events.next().now_or_never().flatten());
        for (at, event) in ready.take(BATCH) {
            self.event(at, &event)?;
        }
        self.printer.flush()
    }

    /// Prints the changes that were received before the end, for a limited time.
    async fn drain(&mut self, mut events: impl Stream<Item = EventAt> + Unpin) -> anyhow::Result<()> {
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
    fn fatal(&self, denied: &Denied) -> Option<CliError> {
        let at = self.followed.iter().position(|followed| {
            let name = followed.informer.name();
            denied.name.strip_prefix(name).is_some_and(|rest| rest.is_empty() || rest.starts_with('@'))
        })?;
        let namespace = denied.name.split_once('@').map(|(_, namespace)| namespace);
        self.is_named[at].then(|| advice::of_denied_watch(&self.followed[at].kind, namespace, &denied.status))
    }

    /// Checks that the objects named on the command line exist.
    fn found(&self) -> Result<(), CliError> {
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
            Err(CliError::new(Class::Other, format!("not found: {}", names.join(", "))))
        }
    }

    fn event(&mut self, at: usize, event: &Event<DynamicObject>) -> anyhow::Result<()> {
        if !self.selection.accepts(event.key().name()) {
            return Ok(());
        }
        self.told.count(event);
        let is_initial = matches!(event, Event::Added { phase: Phase::Initial, .. });
        if is_initial && !self.asked.initial {
            return Ok(());
        }
        match self.relevance.decide(event) {
            Decision::Print => self.printer.event(at, event),
            Decision::Skip => Ok(()),
            Decision::Noise => {
                self.noise += 1;
                Ok(())
            }
        }
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
    fn late(&self) -> CliError {
        let is_late = |one: &&Followed| !one.informer.has_synced() && !one.informer.is_stopped();
        let late = self.followed.iter().filter(is_late);
        let failure = self::late(late.clone().map(Followed::resource));
        let errors = late.filter_map(|followed| followed.informer.status().last_error);
        errors.fold(failure, |failure, error| failure.hint(clean(&error)))
    }

    /// Reports objects that could not be decoded, and resources that may not be read.
    fn remark(&mut self, remarks: Vec<Remark>) {
        for remark in remarks {
            let text = match remark {
                Remark::Unreadable(error) => error.to_string(),
                Remark::LeftOut(at, failure) => {
                    self.left_out.push(at);
                    format!("{}; skipped", failure.message())
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
            if self.noise > 0 {
                let updates = count(self.noise, "update");
                say(format!(
                    "{updates} of only heartbeats or renewals not printed; --all-changes prints them"
                ));
            }
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
            Some(failure) => Err(CliError::new(Class::Other, failure).into()),
            None => Ok(()),
        }
    }
}

/// The receivers of errors.
struct Hearing {
    deny: mpsc::UnboundedSender<Denied>,
    reports: Arc<Reports>,
}

/// Creates an informer for each target.
fn prepare(scopes: &[Scope], asked: &Watch, hearing: Hearing) -> Result<Vec<Followed>, CliError> {
    let Hearing { deny, reports } = hearing;
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
    let objects = scopes.iter().flat_map(|scope| &scope.targets).filter(|target| target.name.is_some());
    if asked.save.is_some() && objects.count() > 1 {
        let what = "--save cannot save several single objects";
        return Err(
            CliError::new(Class::Usage, what).hint("select one object, or several by their labels with -l")
        );
    }
    // A saved cache must have the same managed fields in each run.
    let is_once = asked.once && asked.save.is_none();
    let manner = Manner {
        namespaces: None,
        indexing: Indexing::Nothing,
        backoff: Backoff::default(),
        hear,
        saving: asked.save.clone().map(|folder| Saving { folder, secrets: asked.save_secrets }),
        managed_fields: if is_once { ManagedFields::Drop } else { ManagedFields::Keep },
    };
    let mut followed = Vec::new();
    for scope in scopes {
        let manner = Manner { namespaces: scope.namespaces.clone(), ..manner.clone() };
        for target in &scope.targets {
            let one = follow(&scope.connection, target, &asked.following, manner.clone())?;
            followed.push(Followed { context: scope.context.clone(), ..one });
        }
    }
    Ok(followed)
}

/// Returns the line that counts reports that were not printed.
fn suppressed(number: u64) -> String {
    format!("{} suppressed, since there were too many", count(number, "report"))
}

/// Returns whether a report waits for the end of the initial lists: a fallback to LIST, or an error that retries do not resolve, which
/// ends the command with a message of its own.
fn is_deferred(report: &Report<'_>) -> bool {
    let is_fallback = report.activity == Activity::Stream && report.retry == Retry::Immediate;
    let status = match &report.cause {
        Cause::Source(error) => error.as_status(),
        _ => None,
    };
    is_fallback || status.is_some_and(|status| matches!(status.code, 400 | 401 | 403 | 404 | 405 | 406 | 422))
}

/// Prints an error and the next attempt.
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
    let line = clean(&format!("{}: {}; {next}", report.name, report.cause));
    let line = if is_deferred(report) { reports.defer(line) } else { Some(line) };
    line.into_iter().for_each(say);
}

/// A part that is missing in the result.
#[derive(Debug)]
enum Remark {
    /// Objects that could not be decoded.
    Unreadable(SyncError),
    /// The resource at this position, which may not be read.
    LeftOut(usize, CliError),
}

/// Waits until all caches have synced. Objects that could not be decoded are only reported, and so are resources of a category that
/// may not be read, unless there are no others.
async fn synced(
    followed: Vec<Followed>,
    is_named: Vec<bool>,
    approach: Approach,
) -> Result<Vec<Remark>, CliError> {
    let all = followed.iter().zip(is_named).enumerate().map(|(at, (followed, is_named))| async move {
        match followed.informer.synced().await {
            Ok(()) => Ok(None),
            Err(error) if error.is_skipped() => Ok(Some(Remark::Unreadable(error))),
            Err(error) => {
                let failure = advice::of_sync(&error, &followed.kind, approach);
                if is_named || !error.is_forbidden() {
                    return Err(failure);
                }
                followed.informer.stop();
                followed.informer.stopped().await;
                Ok(Some(Remark::LeftOut(at, failure)))
            }
        }
    });
    let mut remarks: Vec<_> = try_join_all(all).await?.into_iter().flatten().collect();
    let left_out = remarks.iter().filter(|remark| matches!(remark, Remark::LeftOut(..))).count();
    match remarks.pop_if(|_| left_out == followed.len()) {
        Some(Remark::LeftOut(_, failure)) => Err(failure),
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
