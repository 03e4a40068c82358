//! Reports failures of `--save`.

use crate::informers::WatchedResource;
use crate::safe::clean;
use std::collections::BTreeMap;

/// The failures that have been reported.
#[derive(Debug, Default)]
pub(super) struct SaveFailures {
    /// By resource.
    reported: BTreeMap<String, Vec<String>>,
}

impl SaveFailures {
    /// Returns a line for each failure that was not reported before.
    pub(super) fn changed(&mut self, watched: &[WatchedResource]) -> Vec<String> {
        let mut lines = Vec::new();
        for one in watched {
            let resource = one.kind.resource();
            let notices = notices(one);
            let reported = self.reported.entry(resource.clone()).or_default();
            for notice in notices.iter().filter(|notice| !reported.contains(notice)) {
                lines.push(format!("{resource}: {}", clean(notice)));
            }
            *reported = notices;
        }
        lines
    }

    /// Returns the reason why the cache of a resource was not saved, if there is one.
    pub(super) fn failure(watched: &[WatchedResource]) -> Option<String> {
        watched.iter().find_map(|one| {
            let error = one.informer.status().saving?.error?;
            Some(format!("{}: the cache was not saved: {}", one.kind.resource(), clean(&error)))
        })
    }
}

fn notices(watched: &WatchedResource) -> Vec<String> {
    let status = watched.informer.status();
    let Some(saving) = status.saving else { return Vec::new() };
    // The cluster is identified before the first request, whose failures are reported as they happen.
    let has_requested = status.counts.lists + status.counts.streams + status.counts.watches > 0;
    let waits_for = status.last_error.filter(|_| !has_requested);
    [
        saving.error.map(|error| format!("cannot save: {error}")),
        saving.discarded.map(|reason| format!("the saved state is not used: {reason}")),
        waits_for.map(|error| format!("nothing is listed yet: {error}")),
    ]
    .into_iter()
    .flatten()
    .collect()
}
