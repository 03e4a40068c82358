//! How a reflector speaks of itself.

use super::{
    report::{Activity, Cause, ErrorHandler, Outlook, Phase, Report, Status, log},
    step::{Page, Reading, Step},
};
use kube_informer_wire::ResourceVersion;
use std::sync::Arc;
use tokio::sync::watch;

/// Keeps the status true, and hands failures to whoever hears of them.
pub(super) struct Speaker {
    pub(super) name: String,
    pub(super) handler: ErrorHandler,
    pub(super) status: watch::Sender<Status>,
}

impl Speaker {
    pub(super) fn new(name: String) -> Self {
        Self { name, handler: Arc::new(log), status: watch::Sender::default() }
    }

    /// Tells of a failure.
    pub(super) fn failed(&self, activity: Activity, cause: Cause<'_>, outlook: Outlook) {
        self.status.send_modify(|status| {
            status.counts.errors += 1;
            status.last_error = Some(cause.to_string());
        });
        (self.handler)(&Report { name: &self.name, activity, cause, outlook });
    }

    /// Keeps the status in step with what is about to be done, with all up to `version` and so many events handed on.
    pub(super) fn begins(&self, step: &Step, version: Option<&ResourceVersion>, events: u64) {
        self.status.send_if_modified(|status| {
            let before = (status.phase, status.counts);
            status.counts.events = events;
            match step {
                Step::List(_, page) => {
                    status.phase = Phase::Listing;
                    status.counts.lists += u64::from(*page == Page::First);
                }
                Step::Stream(..) => {
                    status.phase = Phase::Listing;
                    status.counts.streams += 1;
                }
                Step::Watch(..) => {
                    status.phase = Phase::Watching;
                    status.counts.watches += 1;
                }
                Step::Replace(_) => status.counts.replaces += 1,
                Step::Wait(_) => status.phase = Phase::Waiting,
                Step::Read(Reading::Deliver, _) => {
                    status.phase = Phase::Watching;
                    status.last_error = None;
                }
                Step::Read(Reading::Collect, _) => {}
            }
            let has_moved = status.version.as_ref() != version;
            if has_moved {
                status.version = version.cloned();
            }
            has_moved || before != (status.phase, status.counts)
        });
    }

    /// The last word.
    pub(super) fn stopped(&self) {
        self.status.send_modify(|status| status.phase = Phase::Stopped);
    }
}
