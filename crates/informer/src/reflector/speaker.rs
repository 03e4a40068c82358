//! How a reflector speaks of itself.

use super::{
    journal::{Journal, SLOW},
    metrics::Metrics,
    report::{Activity, Cause, ErrorHandler, Outlook, Phase, Progress, Report, Status},
    step::{Page, Reading, Step, Via},
};
use crate::source::Encoded;
use kube_informer_wire::{ListOptions, ResourceVersion, WatchOptions};
use std::{sync::Arc, time::Duration};
use tokio::{sync::watch, time::Instant};
use tracing::Span;

/// Keeps status and metrics true, hands failures to whoever hears of them, and logs what takes long.
pub(super) struct Speaker {
    pub(super) name: String,
    /// What kind of objects it is about.
    pub(super) resource: String,
    /// Silent until the reflector runs, when its name is settled.
    pub(super) metrics: Metrics,
    pub(super) handler: ErrorHandler,
    pub(super) status: watch::Sender<Status>,
}

/// How far a reflector has come.
pub(super) struct Standing<'r> {
    /// All up to this version was handed on.
    pub(super) version: Option<&'r ResourceVersion>,
    /// So many changes were.
    pub(super) events: u64,
    pub(super) journal: &'r Journal,
    pub(super) encoded: Option<Encoded>,
}

impl Speaker {
    pub(super) fn new(name: String, resource: String) -> Self {
        let (metrics, handler, status) =
            (Metrics::silent(), Arc::new(|report: &Report<'_>| report.log()), watch::Sender::default());
        Self { name, resource, metrics, handler, status }
    }

    /// The first word.
    pub(super) fn started(&mut self) {
        self.metrics = Metrics::of(&self.name);
    }

    /// Tells of a failure.
    pub(super) fn failed(&self, activity: Activity, cause: Cause<'_>, outlook: Outlook) {
        self.status.send_modify(|status| {
            status.counts.errors += 1;
            status.last_error = Some(cause.to_string());
        });
        self.metrics.failed(cause.kind());
        if let Outlook::BeginsAgain(_) = outlook {
            self.metrics.relist(cause.kind());
        }
        let Self { name, resource, .. } = self;
        (self.handler)(&Report { name, resource, activity, cause, outlook });
    }

    /// Keeps the status in step with what is about to be done.
    pub(super) fn begins(&self, step: &Step, standing: &Standing<'_>) {
        let Standing { version, events, journal, encoded } = *standing;
        self.status.send_if_modified(|status| {
            let before = (status.phase, status.counts);
            (status.counts.events, status.encoded) = (events, encoded);
            match step {
                Step::List(_, page) => {
                    status.phase = Phase::Listing;
                    status.progress = journal.progress();
                    if *page == Page::First {
                        status.progress = Progress::default();
                        status.counts.lists += 1;
                        self.metrics.list_begins(Via::List);
                    }
                }
                Step::Stream(..) => {
                    self.metrics.list_begins(Via::Stream);
                    status.phase = Phase::Listing;
                    status.progress = Progress::default();
                    status.counts.streams += 1;
                }
                Step::Watch(..) => {
                    status.phase = Phase::Watching;
                    status.counts.watches += 1;
                    self.metrics.watch_begins();
                }
                Step::Replace(_) => {
                    status.progress = journal.progress();
                    status.counts.replaces += 1;
                    status.counts.streamed += u64::from(journal.via == Via::Stream);
                }
                Step::Wait(_) => status.phase = Phase::Waiting,
                Step::Probe(_) | Step::Resumed => {}
                Step::Read(Reading::Deliver, _) => {
                    status.phase = Phase::Watching;
                    status.last_error = None;
                }
                Step::Read(Reading::Collect, _) => status.progress = journal.progress(),
            }
            let has_moved = status.version.as_ref() != version;
            if has_moved {
                version.inspect(|version| self.metrics.version(version));
                status.version = version.cloned();
            }
            has_moved || before != (status.phase, status.counts)
        });
    }

    /// Notes how much of a page has come, and wakes nobody.
    pub(super) fn arrives(&self, journal: &Journal) {
        self.status.send_if_modified(|status| {
            status.progress = journal.progress();
            false
        });
    }

    /// Tells of a state that reached the sink, of so many objects, which took it so long; and loudly of a slow one.
    pub(super) fn listed(&self, journal: &Journal, objects: usize, replace: Duration) {
        let total = journal.began.elapsed();
        self.metrics.list_ended(total, objects);
        if total >= SLOW {
            tracing::warn!(
                reflector = self.name,
                resource = self.resource,
                via = ?journal.via,
                pages = journal.pages,
                items = journal.items,
                first_item = ?journal.time_to_first_item(),
                ?replace,
                ?total,
                "slow list"
            );
        }
    }

    /// Tells that a stream says nothing although its initial state is not complete.
    pub(super) fn awaits_completion(&self, journal: &mut Journal) {
        let quiet = journal.notice(Instant::now());
        tracing::warn!(
            reflector = self.name,
            resource = self.resource,
            items = journal.items,
            ?quiet,
            "end of the initial state has not come"
        );
    }

    /// What a page of a list happens in.
    pub(super) fn list_span(&self, options: &ListOptions) -> Span {
        tracing::info_span!(
            "list",
            reflector = self.name,
            resource = self.resource,
            version = options.resource_version.as_ref().map(tracing::field::display),
            limit = options.limit,
            is_continued = options.continue_token.is_some(),
        )
    }

    /// What a watch happens in, and a stream.
    pub(super) fn watch_span(&self, options: &WatchOptions) -> Span {
        tracing::info_span!(
            "watch",
            reflector = self.name,
            resource = self.resource,
            version = options.resource_version.as_ref().map(tracing::field::display),
            timeout = ?options.timeout,
            is_stream = options.send_initial_events.is_some(),
        )
    }

    /// The last word.
    pub(super) fn stopped(&self) {
        self.status.send_modify(|status| status.phase = Phase::Stopped);
    }
}
