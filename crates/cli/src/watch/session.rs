//! The session of `informer watch`.

use super::{
    event_counts::EventCounts,
    files::Files,
    once,
    printer::Printer,
    progress::Progress,
    relevance::{Decision, Relevance},
    reports::{Admission, Reports},
    save_failures::SaveFailures,
    scope::Scope,
    selection::Selection,
    server_table::{self, Printed},
    stats::Stats,
};
use crate::advice;
use crate::args::{Cli, Command, ListStrategy, Output, Watch};
use crate::cli_error::{Class, CliError};
use crate::cluster::{Connection, DISCOVERY, EmbeddedServer, connect_all};
use crate::informers::{
    BACKOFF, Delivery, ErrorHandler, EventAt, Indexes, InformerSettings, SaveSettings, Target,
    WatchedResource, events, follow,
};
use crate::meter::MetricValues;
use crate::notice::print_notice;
use crate::number::{age, count};
use crate::route::Route;
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
    reflector::{Activity, Cause, Report, Retry},
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
pub(crate) async fn run(args: Watch) -> anyhow::Result<()> {
    if args.once && args.output == Output::Diff {
        let failure = CliError::new(Class::Usage, "--once prints one state, which has no diff");
        return Err(failure.hint("remove --once, or choose another -o").into());
    }
    let connections = connect_all(&args.cluster).await?;
    if args.save.is_some() && connections.len() > 1 {
        let failure = CliError::new(Class::Usage, "--save works with one context");
        return Err(failure.hint("run one command for each context, with its own folder").into());
    }
    on(connections, args, Clock::SinceStart).await
}

/// Prints three seconds of changes of the built-in server.
pub(crate) async fn print_sample() -> anyhow::Result<()> {
    print_notice("DEMO DATA: `informer watch pods` on a built-in server for three seconds; see --help");
    let words = ["informer", "watch", "pods", "--timeout", "3s"];
    let Some(Command::Watch(args)) = Cli::parse_from(words).command else { return Ok(()) };
    on(vec![Connection::embed(EmbeddedServer::start(500, 20.0).await?)], *args, Clock::SinceComplete).await
}

/// When the time of `--timeout` starts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Clock {
    SinceStart,
    SinceComplete,
}

async fn on(connections: Vec<Connection>, args: Watch, clock: Clock) -> anyhow::Result<()> {
    let files = Files::open(&args)?;
    let (began, metric_values) = (Instant::now(), MetricValues::install()?);
    let period = args.period.filter(|_| clock == Clock::SinceStart);
    let limit = period.map_or(DISCOVERY, |period| period.min(DISCOVERY));
    let has_several = connections.len() > 1;
    let resolve = |connection: Connection| {
        let context = connection.context.clone().filter(|_| has_several);
        Scope::resolve(connection, context, &args, limit)
    };
    let scopes = try_join_all(connections.into_iter().map(resolve)).await?;
    let mut printer = Printer::new(&args, scopes.iter().flat_map(Scope::sources).collect());
    let (deny, denied) = mpsc::unbounded_channel();
    let reports = Arc::<Reports>::default();
    let handlers = ErrorHandlers { deny, reports: Arc::clone(&reports) };
    // Before anything is printed, so that a folder that cannot be used is reported first.
    let watched = prepare(&scopes, &args, &handlers)?;
    let mut is_printed = false;
    let is_table = matches!(args.output, Output::Table | Output::Wide);
    // A table is a list, which `--strategy stream` excludes.
    if args.once && is_table && args.informer_args.strategy != ListStrategy::Stream {
        let remaining = period.map(|period| period.saturating_sub(began.elapsed()));
        let Some(printed) = tables(&mut printer, &scopes, &args, remaining).await? else { return Ok(()) };
        is_printed = printed == Printed::Tables;
        // The caches are needed for nothing else.
        if is_printed && args.save.is_none() && args.dump.is_none() && args.stats.is_none() {
            return Ok(());
        }
    }
    let mut session = Session {
        is_named: scopes.iter().flat_map(|scope| scope.is_named.clone()).collect(),
        left_out: Vec::new(),
        printer,
        watched,
        denied,
        namespaces: scopes.first().and_then(|scope| scope.namespaces.clone()),
        progress: Progress::new(!args.quiet),
        event_counts: EventCounts::default(),
        began,
        reports,
        saving: SaveFailures::default(),
        selection: Selection::new(&args),
        relevance: Relevance::new(&args),
        noise: 0,
        is_printed,
        args,
    };
    let ending = session.follow(clock).await?;
    if session.args.save.is_some() {
        // The caches are written before this returns.
        join_all(session.watched.iter().map(|watched| {
            watched.informer.stop();
            watched.informer.stopped()
        }))
        .await;
    }
    session.printer.flush()?;
    session.finish(ending, files, &metric_values)
}

/// Prints the tables of the servers; `None` if the command was interrupted.
async fn tables(
    printer: &mut Printer,
    scopes: &[Scope],
    args: &Watch,
    limit: Option<Duration>,
) -> anyhow::Result<Option<Printed>> {
    tokio::select! {
        printed = server_table::print(printer, scopes, args) => printed.map(Some),
        () = time_is_up(limit) => {
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
enum EndReason {
    /// The current state is printed.
    Done,
    /// Ctrl-C, or the time is up.
    Stopped,
}

struct Session {
    args: Watch,
    watched: Vec<WatchedResource>,
    /// Whether the user named each resource itself. Resources of a category are skipped if they may not be read.
    is_named: Vec<bool>,
    /// The positions of the skipped resources.
    left_out: Vec<usize>,
    printer: Printer,
    progress: Progress,
    event_counts: EventCounts,
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
    saving: SaveFailures,
}

/// A watch that the server forbids although it allows the list.
#[derive(Debug)]
struct Denied {
    /// The name of the informer.
    name: String,
    status: Box<Status>,
}

impl Session {
    async fn follow(&mut self, clock: Clock) -> anyhow::Result<EndReason> {
        let mut interrupted = pin!(interruption());
        let period = self.args.period.filter(|_| clock == Clock::SinceStart);
        let left = period.map(|period| period.saturating_sub(self.began.elapsed()));
        let mut time_is_up = pin!(time_is_up(left));
        let strategy = self.args.informer_args.strategy;
        let mut synced = pin!(synced(self.watched.clone(), self.is_named.clone(), strategy).fuse());
        let mut ticks = tokio::time::interval(TICK);
        let mut checks = tokio::time::interval(SAVE_CHECK);
        let (mut has_synced, mut has_ended) = (false, false);
        // One state needs no events.
        let watched = if self.args.once { &[][..] } else { &self.watched[..] };
        let mut events = events(watched, Delivery::Every);
        self.restored();
        self.watched.iter().for_each(|watched| watched.informer.start());
        loop {
            tokio::select! {
                biased;
                () = &mut interrupted => break,
                () = &mut time_is_up => {
                    if self.args.once {
                        return Err(self.late().into());
                    }
                    break;
                }
                Some(denied) = self.denied.recv(), if !self.args.once => {
                    if let Some(failure) = self.fatal(&denied) {
                        return Err(failure.into());
                    }
                }
                outcome = &mut synced, if !has_synced => {
                    has_synced = true;
                    anyhow::ensure!(!has_ended || outcome.is_err(), "all informers have stopped");
                    self.synced(outcome?)?;
                    if self.args.once {
                        return Ok(EndReason::Done);
                    }
                    if clock == Clock::SinceComplete {
                        time_is_up.set(self::time_is_up(self.args.period));
                    }
                }
                next = events.next(), if !self.args.once && !has_ended => {
                    let Some((at, event)) = next else {
                        anyhow::ensure!(!has_synced, "all informers have stopped");
                        // `synced` returns the reason.
                        has_ended = true;
                        continue;
                    };
                    self.event(at, &event)?;
                    self.print_ready(&mut events)?;
                }
                _ = ticks.tick(), if !has_synced => self.progress.draw(&self.watched),
                _ = checks.tick(), if self.args.save.is_some() && !self.args.quiet => {
                    self.saving.changed(&self.watched).into_iter().for_each(print_notice);
                }
            }
        }
        self.drain(events).await?;
        Ok(EndReason::Stopped)
    }

    /// Reports that all caches have synced, and prints the current state with `--once`.
    fn synced(&mut self, missing_parts: Vec<MissingPart>) -> anyhow::Result<()> {
        self.progress.clear();
        self.reports.synced().into_iter().for_each(print_notice);
        self.missing(missing_parts);
        let left_out = &self.left_out;
        let there = self.watched.iter().enumerate().filter(|(at, _)| !left_out.contains(at));
        if self.args.once {
            if !self.is_printed {
                let there: Vec<_> = there.map(|(at, watched)| once::Positioned { at, watched }).collect();
                once::print(&mut self.printer, &there, &self.args, self.namespaces.as_deref())?;
            }
            self.found()?;
        } else {
            self.progress.done(there.map(|(_, watched)| watched));
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
        for watched in &self.watched {
            watched.informer.stop();
        }
        let mut limit = pin!(tokio::time::sleep(DRAIN));
        loop {
            tokio::select! {
                biased;
                () = &mut limit => {
                    let rest = events.count().await as u64;
                    print_notice(format!("{} received before the end but not printed", count(rest, "change")));
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
        let at = self.watched.iter().position(|watched| {
            let name = watched.informer.name();
            denied.name.strip_prefix(name).is_some_and(|rest| rest.is_empty() || rest.starts_with('@'))
        })?;
        let namespace = denied.name.split_once('@').map(|(_, namespace)| namespace);
        self.is_named[at].then(|| advice::of_denied_watch(&self.watched[at].kind, namespace, &denied.status))
    }

    /// Checks that the objects named on the command line exist.
    fn found(&self) -> Result<(), CliError> {
        let missing =
            self.watched.iter().filter(|watched| watched.name.is_some() && watched.informer.is_empty());
        let names: Vec<_> = missing
            .map(|watched| {
                format!("{} {:?}", watched.kind.resource(), watched.name.as_deref().unwrap_or_default())
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
        self.event_counts.count(event);
        let is_initial = matches!(event, Event::Added { phase: Phase::Initial, .. });
        if is_initial && !self.args.initial {
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
        for watched in self.watched.iter().filter(|_| !self.args.quiet) {
            let (status, resource) = (watched.informer.status(), watched.kind.resource());
            if let Some(restored) = status.restored {
                let objects = count(restored.objects as u64, "object");
                print_notice(format!("{resource}: restored {objects}, saved {} ago", age(restored.age)));
            }
        }
        if !self.args.quiet {
            self.saving.changed(&self.watched).into_iter().for_each(print_notice);
        }
    }

    /// Returns the error of `--once` if the initial lists take too long.
    fn late(&self) -> CliError {
        let is_late = |one: &&WatchedResource| !one.informer.has_synced() && !one.informer.is_stopped();
        let late = self.watched.iter().filter(is_late);
        let failure = self::late(late.clone().map(WatchedResource::resource));
        let errors = late.filter_map(|watched| watched.informer.status().last_error);
        errors.fold(failure, |failure, error| failure.hint(clean(&error)))
    }

    /// Reports objects that could not be decoded, and resources that may not be read.
    fn missing(&mut self, missing_parts: Vec<MissingPart>) {
        for missing in missing_parts {
            let text = match missing {
                MissingPart::Unreadable(error) => error.to_string(),
                MissingPart::LeftOut(at, failure) => {
                    self.left_out.push(at);
                    format!("{}; skipped", failure.message())
                }
            };
            if !self.args.quiet {
                print_notice(text);
            }
        }
    }

    fn finish(&self, ending: EndReason, files: Files, metric_values: &MetricValues) -> anyhow::Result<()> {
        let there = self.watched.iter().enumerate().filter(|(at, _)| !self.left_out.contains(at));
        let there: Vec<_> = there.map(|(_, watched)| watched.clone()).collect();
        files.write(&there, || {
            Stats::of(&there, &self.args.informer_args, self.event_counts, metric_values)
        })?;
        if ending == EndReason::Stopped && !self.args.quiet {
            let objects = there.iter().map(|watched| watched.informer.len() as u64).sum();
            let errors = self.watched.iter().map(|watched| watched.informer.status().counts.errors).sum();
            self.progress.clear();
            print_notice(self.event_counts.summary(objects, self.began.elapsed(), errors));
            if self.noise > 0 {
                let updates = count(self.noise, "update");
                print_notice(format!(
                    "{updates} of only heartbeats or renewals not printed; --all-changes prints them"
                ));
            }
            let late = there.iter().filter(|watched| !watched.informer.has_synced());
            let late: Vec<_> = late.map(|watched| watched.kind.resource()).collect();
            if !late.is_empty() {
                print_notice(format!("stopped before the initial list was complete: {}", late.join(", ")));
            }
        }
        if self.reports.suppressed() > 0 && !self.args.quiet {
            print_notice(suppressed(self.reports.suppressed()));
        }
        match SaveFailures::failure(&self.watched) {
            Some(failure) => Err(CliError::new(Class::Other, failure).into()),
            None => Ok(()),
        }
    }
}

/// The receivers of errors.
struct ErrorHandlers {
    deny: mpsc::UnboundedSender<Denied>,
    reports: Arc<Reports>,
}

impl ErrorHandlers {
    /// Returns the handler of the informers of a server.
    fn of(&self, route: &Route, is_quiet: bool) -> ErrorHandler {
        let (deny, reports, route) = (self.deny.clone(), Arc::clone(&self.reports), route.clone());
        Arc::new(move |report| {
            if let (Activity::Watch, Cause::Source(error)) = (report.activity, &report.cause)
                && let Some(status) = error.as_status().filter(|status| status.is_forbidden_status())
            {
                // The session may have ended.
                let _ = deny.send(Denied { name: report.name.to_owned(), status: Box::new(status.clone()) });
            }
            if !is_quiet {
                report_error(report, &reports, &route);
            }
        })
    }
}

/// Creates an informer for each target.
fn prepare(
    scopes: &[Scope],
    args: &Watch,
    handlers: &ErrorHandlers,
) -> Result<Vec<WatchedResource>, CliError> {
    let objects = scopes.iter().flat_map(|scope| &scope.targets).filter(|target| target.name.is_some());
    if args.save.is_some() && objects.count() > 1 {
        let what = "--save cannot save several single objects";
        return Err(
            CliError::new(Class::Usage, what).hint("select one object, or several by their labels with -l")
        );
    }
    // A saved cache must have the same managed fields in each run.
    let is_once = args.once && args.save.is_none();
    let settings = |scope: &Scope| InformerSettings {
        namespaces: scope.namespaces.clone(),
        indexing: Indexes::Nothing,
        backoff: BACKOFF,
        on_error: handlers.of(&scope.connection.route, args.quiet),
        saving: args.save.clone().map(|folder| SaveSettings { folder, secrets: args.save_secrets }),
        managed_fields: if is_once { ManagedFields::Drop } else { ManagedFields::Keep },
    };
    let mut watched = Vec::new();
    for scope in scopes {
        let settings = settings(scope);
        for target in &scope.targets {
            let one = follow(&scope.connection, target, &args.informer_args, settings.clone())?;
            watched.push(WatchedResource { context: scope.context.clone(), ..one });
        }
    }
    Ok(watched)
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
fn report_error(report: &Report<'_>, reports: &Reports, route: &Route) {
    match reports.admit(Instant::now()) {
        Admission::Suppress => return,
        Admission::Print { suppressed: 0 } => {}
        Admission::Print { suppressed: number } => print_notice(suppressed(number)),
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
    let failed_part = match &report.cause {
        Cause::Source(error) => advice::of_route(*error, route),
        _ => None,
    };
    let cause = failed_part.map_or_else(|| report.cause.to_string(), |failure| failure.message().to_owned());
    let line = clean(&format!("{}: {cause}; {next}", report.name));
    let line = if is_deferred(report) { reports.defer(line) } else { Some(line) };
    line.into_iter().for_each(print_notice);
}

/// A part that is missing in the result.
#[derive(Debug)]
enum MissingPart {
    /// Objects that could not be decoded.
    Unreadable(SyncError),
    /// The resource at this position, which may not be read.
    LeftOut(usize, CliError),
}

/// Waits until all caches have synced. Objects that could not be decoded are only reported, and so are resources of a category that
/// may not be read, unless there are no others.
async fn synced(
    watched: Vec<WatchedResource>,
    is_named: Vec<bool>,
    strategy: ListStrategy,
) -> Result<Vec<MissingPart>, CliError> {
    let all = watched.iter().zip(is_named).enumerate().map(|(at, (watched, is_named))| async move {
        match watched.informer.synced().await {
            Ok(()) => Ok(None),
            Err(error) if error.is_skipped() => Ok(Some(MissingPart::Unreadable(error))),
            Err(error) => {
                let failure = advice::of_sync(&error, &watched.kind, strategy);
                if is_named || !error.is_forbidden() {
                    return Err(failure);
                }
                watched.informer.stop();
                watched.informer.stopped().await;
                Ok(Some(MissingPart::LeftOut(at, failure)))
            }
        }
    });
    let mut missing_parts: Vec<_> = try_join_all(all).await?.into_iter().flatten().collect();
    let left_out = missing_parts.iter().filter(|missing| matches!(missing, MissingPart::LeftOut(..))).count();
    match missing_parts.pop_if(|_| left_out == watched.len()) {
        Some(MissingPart::LeftOut(_, failure)) => Err(failure),
        Some(MissingPart::Unreadable(_)) | None => Ok(missing_parts),
    }
}

/// Waits until the time is up; forever without a limit.
async fn time_is_up(period: Option<Duration>) {
    match period {
        Some(period) => tokio::time::sleep(period).await,
        None => std::future::pending().await,
    }
}
