//! The session of `informer record`.

use super::{
    endpoints::serve,
    notices::Notices,
    selection::{PrinterColumns, Unknown, described, printer_columns, selected},
    status::{Rate, line},
};
use crate::args::Record;
use crate::cli_error::{Class, CliError, chain};
use crate::cluster::{Connection, DISCOVERY, connect, name};
use crate::history::last_recording;
use crate::kinds::Kind;
use crate::notice::print_notice;
use crate::number::count;
use crate::safe::clean;
use crate::signal::interruption;
use crate::web::{Server, recorded};
use anyhow::Context;
use futures_util::future::join_all;
use jiff::Timestamp;
use kube_client::Error as ClientError;
use kube_core::DynamicObject;
use kube_history::{KindId, RecordError, RecorderOptions, Secrets};
use kube_informer::{
    Lazy, document,
    history::{Recording, RecordingSink},
    reflector::{Cause, Reflector, Report},
    source::{Encoding, ListWatch},
};
use serde::de::IgnoredAny;
use std::{
    future::pending,
    io::{IsTerminal, Write},
    pin::pin,
    sync::Arc,
    time::{Duration, Instant},
};
use tokio::{net::TcpListener, sync::mpsc, task::JoinHandle};
use tokio_util::sync::CancellationToken;

/// The interval between updates of the status line on a terminal.
const STATUS_INTERVAL: Duration = Duration::from_secs(1);
/// The interval between status lines if stderr is not a terminal.
const LOG_INTERVAL: Duration = Duration::from_secs(60);

/// Records until it is interrupted.
pub(crate) async fn run(args: Record) -> anyhow::Result<()> {
    let interrupted = interruption();
    let connection = connect(&args.cluster).await?;
    let catalog = connection.catalog(DISCOVERY).await?;
    let kinds = selected(&catalog, &args, Unknown::Refuse)?;
    let columns = printer_columns(&connection.client).await;
    let recording = Recording::start(&args.dir, options(&args)).map_err(|error| refused(&error))?;
    if let Err(error) = last_recording::remember(&name(&args.cluster)?, &args.dir) {
        print_notice(format!(
            "the folder of this recording is not remembered, use --dir to read it: {error}"
        ));
    }
    warn(&args);
    let page = match &args.web {
        Some(address) => Some(Server::prepare(address, &args.access).await?),
        None => None,
    };
    let listener = listen(&args).await?;
    let (deny, denied) = mpsc::unbounded_channel();
    let mut session = Session {
        notices: Arc::default(),
        status_line: StatusLine::new(&args),
        recorded: Vec::new(),
        args,
        connection,
        recording,
        columns,
        deny,
    };
    for kind in kinds {
        session.start(kind).await?;
    }
    let kinds = count(session.recorded.len() as u64, "resource");
    writeln!(std::io::stdout(), "recording {kinds} to {}", session.args.dir.display())?;
    let status = session.recording.status();
    let serving = async {
        match listener {
            Some(listener) => match serve(listener, status).await {},
            None => pending::<()>().await,
        }
    };
    let dir = session.args.dir.clone();
    let page = async {
        match page {
            Some(server) => recorded(&dir, server).await,
            None => pending().await,
        }
    };
    let outcome = tokio::select! {
        outcome = session.record(denied) => outcome,
        outcome = page => outcome,
        () = interrupted => Ok(()),
        () = serving => Ok(()),
    };
    session.stop().await?;
    outcome
}

/// Opens the socket of `--metrics`.
async fn listen(args: &Record) -> anyhow::Result<Option<TcpListener>> {
    let Some(address) = args.metrics else { return Ok(None) };
    let listener = TcpListener::bind(address).await.with_context(|| format!("cannot listen on {address}"))?;
    let address = listener.local_addr()?;
    writeln!(std::io::stdout(), "serving /healthz, /readyz and /metrics on http://{address}")?;
    Ok(Some(listener))
}

fn options(args: &Record) -> RecorderOptions {
    let secrets = if args.secrets { Secrets::Record } else { Secrets::Refuse };
    let options = RecorderOptions::default().max_age(args.keep).max_size(args.max_size).secrets(secrets);
    args.redact.iter().cloned().fold(options, RecorderOptions::redact)
}

/// Explains why nothing can be recorded into the folder.
fn refused(error: &RecordError) -> CliError {
    let failure = CliError::new(Class::Other, chain(error));
    if error.is_locked() {
        return failure.hint("another `informer record` writes to it: use another --dir");
    }
    failure
}

/// Warns about confidential data.
fn warn(args: &Record) {
    let dir = args.dir.display();
    if args.secrets {
        print_notice(format!(
            "warning: Secrets are recorded without encryption in {dir}, readable only by you"
        ));
    } else if args.resources.is_empty() {
        print_notice("Secrets are not recorded; --secrets records them");
    }
    if args.redact.is_empty() && !args.quiet {
        print_notice(
            "warning: ConfigMaps, environment variables and custom resources may contain secrets; --redact removes values",
        );
    }
}

type Watch = Reflector<Lazy<DynamicObject>, ListWatch<Lazy<DynamicObject>>, RecordingSink>;

/// A kind that is recorded, with the tasks of its watches.
struct RecordedKind {
    kind: Kind,
    id: KindId,
    cancel: CancellationToken,
    tasks: Vec<JoinHandle<()>>,
}

struct Session {
    args: Record,
    connection: Connection,
    recording: Recording,
    recorded: Vec<RecordedKind>,
    columns: PrinterColumns,
    notices: Arc<Notices>,
    status_line: StatusLine,
    /// Receives the resources of the command line that the server does not allow.
    deny: mpsc::UnboundedSender<CliError>,
}

impl Session {
    /// Records until the server denies a named resource, the time is up, or the folder fails.
    async fn record(&mut self, mut denied: mpsc::UnboundedReceiver<CliError>) -> anyhow::Result<()> {
        let mut status_ticks = tokio::time::interval(STATUS_INTERVAL);
        let mut discoveries = tokio::time::interval(self.args.discover_every.max(Duration::from_millis(100)));
        discoveries.tick().await;
        let period = self.args.period;
        let mut time_is_up = pin!(async move {
            match period {
                Some(period) => tokio::time::sleep(period).await,
                None => pending().await,
            }
        });
        loop {
            tokio::select! {
                Some(failure) = denied.recv() => return Err(failure.into()),
                failed = self.recording.failed() => {
                    let error = failed.err().unwrap_or(RecordError::SyncFailed);
                    return Err(CliError::new(Class::Other, chain(&error))
                        .hint("changes since the last write are lost; the next recording starts with a gap")
                        .into());
                }
                () = &mut time_is_up => return Ok(()),
                _ = status_ticks.tick() => self.status_line.draw(&self.recording),
                _ = discoveries.tick() => self.discover().await?,
            }
        }
    }

    /// Starts the watches of a kind.
    async fn start(&mut self, kind: Kind) -> anyhow::Result<()> {
        let cancel = CancellationToken::new();
        let namespaces: Vec<Option<String>> = match kind.has_namespaces && !self.args.namespaces.is_empty() {
            true => self.args.namespaces.iter().cloned().map(Some).collect(),
            false => vec![None],
        };
        // The gap of a kind ends when all of its sinks have received a list, so all are created first.
        let mut sinks = Vec::new();
        for namespace in namespaces {
            let described = described(&kind, &self.columns);
            let sink = self.recording.sink(described, namespace.clone()).await;
            sinks.push((namespace, sink.map_err(|error| refused(&error))?));
        }
        let id = sinks.first().map(|(_, sink)| sink.kind());
        let watches = sinks.into_iter().map(|(namespace, sink)| {
            let reflector = self.reflector(&kind, namespace.as_deref(), sink);
            tokio::spawn(reflector.run(cancel.clone()))
        });
        let tasks = watches.collect();
        if let Some(id) = id {
            self.recorded.push(RecordedKind { kind, id, cancel, tasks });
        }
        Ok(())
    }

    /// Creates the watch of a kind, in all namespaces or in one.
    fn reflector(&self, kind: &Kind, namespace: Option<&str>, sink: RecordingSink) -> Watch {
        let encoding = if self.connection.is_known() { Encoding::PreferProtobuf } else { Encoding::Auto };
        let resource = kind.api_resource();
        let source = ListWatch::lazy_dynamic(self.connection.client.clone(), namespace, &resource);
        let (notices, deny) = (Arc::clone(&self.notices), self.deny.clone());
        let is_named = !self.args.resources.is_empty();
        let last_error = sink.last_error();
        Reflector::new(source.encoding(encoding), sink).named(kind.resource()).on_error(move |report| {
            match denial(report) {
                // The receiver is dropped only if the session ends.
                Some(failure) if is_named => drop(deny.send(failure)),
                Some(_) => last_error.set_denied(report.cause.to_string()),
                None => last_error.set(report.cause.to_string()),
            }
            if !is_named || denial(report).is_none() {
                notices.report(report);
            }
        })
    }

    /// Starts to record new kinds, and ends the recording of kinds without a definition.
    async fn discover(&mut self) -> anyhow::Result<()> {
        // The watches report a server that cannot be reached.
        let Ok(catalog) = self.connection.catalog(DISCOVERY).await else { return Ok(()) };
        let found = selected(&catalog, &self.args, Unknown::Ignore)?;
        let is_recorded =
            |kind: &Kind| self.recorded.iter().any(|one| one.kind.resource() == kind.resource());
        let new: Vec<Kind> = found.iter().filter(|kind| !is_recorded(kind)).cloned().collect();
        if !new.is_empty() {
            self.columns = printer_columns(&self.connection.client).await;
        }
        let is_found = |kind: &Kind| found.iter().any(|one| one.resource() == kind.resource());
        let (kept, missing): (Vec<_>, Vec<_>) = self.recorded.drain(..).partition(|one| is_found(&one.kind));
        self.recorded = kept;
        for one in missing {
            // Discovery skips groups whose server is down.
            if self.is_served(&one.kind).await {
                self.recorded.push(one);
                continue;
            }
            print_notice(format!("{} is no longer served", clean(&one.kind.resource())));
            one.cancel.cancel();
            join_all(one.tasks).await;
            self.recording.remove_kind(one.id).await.map_err(|error| refused(&error))?;
        }
        for kind in new {
            print_notice(format!("recording {}", clean(&kind.resource())));
            self.start(kind).await?;
        }
        Ok(())
    }

    /// Returns false if the server has no such resource.
    async fn is_served(&self, kind: &Kind) -> bool {
        let group = if kind.group.is_empty() { "/api".to_owned() } else { format!("/apis/{}", kind.group) };
        let path = format!("{group}/{}/{}?limit=1", kind.version, kind.plural);
        let answer = document::Request::new(path).get::<IgnoredAny>(&self.connection.client).await;
        !matches!(answer, Err(ClientError::Api(status)) if status.code == 404)
    }

    /// Ends all watches and writes what has been received.
    async fn stop(self) -> anyhow::Result<()> {
        let tasks: Vec<_> = self
            .recorded
            .into_iter()
            .flat_map(|one| {
                one.cancel.cancel();
                one.tasks
            })
            .collect();
        join_all(tasks).await;
        self.status_line.clear();
        if self.recording.has_failed() {
            return Ok(());
        }
        let status = self.recording.status();
        let stopped = self.recording.stop().await;
        stopped.map_err(|error| refused(&error))?;
        if !self.args.quiet {
            let changes = status.borrow().statistics.changes;
            print_notice(format!("{} recorded to {}", count(changes, "change"), self.args.dir.display()));
        }
        Ok(())
    }
}

/// Returns the error to end with, if the server denies access.
fn denial(report: &Report<'_>) -> Option<CliError> {
    let Cause::Source(error) = &report.cause else { return None };
    if !error.is_forbidden() && !error.is_unauthorized() {
        return None;
    }
    let what = format!("{} cannot be recorded: {}", report.name, report.cause);
    Some(CliError::new(Class::Refused, what).hint("the role in deploy/record.yaml grants list and watch"))
}

/// The line with the progress: drawn every second on a terminal, otherwise printed every minute.
#[derive(Debug)]
struct StatusLine {
    is_quiet: bool,
    is_terminal: bool,
    rate: Rate,
    last: Option<Instant>,
}

impl StatusLine {
    fn new(args: &Record) -> Self {
        let is_quiet = args.quiet;
        Self {
            is_quiet,
            is_terminal: std::io::stderr().is_terminal(),
            rate: Rate::new(),
            last: Some(Instant::now()),
        }
    }

    fn draw(&mut self, recording: &Recording) {
        let status = recording.status().borrow().clone();
        let now = Instant::now();
        let rate = self.rate.update(status.statistics.changes, now);
        let is_due = self.last.is_none_or(|last| now.saturating_duration_since(last) >= LOG_INTERVAL);
        let text = line(&status, rate, Timestamp::now());
        if self.is_quiet {
            return;
        }
        if self.is_terminal {
            let _ = write!(std::io::stderr(), "\r\x1b[K{}", clean(&text));
        } else if is_due {
            print_notice(text);
            self.last = Some(now);
        }
    }

    /// Removes the line from the terminal.
    fn clear(&self) {
        if self.is_terminal && !self.is_quiet {
            let _ = write!(std::io::stderr(), "\r\x1b[K");
        }
    }
}
