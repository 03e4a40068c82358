//! Gaps: times in which changes may be missing.

use crate::{kind::KindId, record::timestamp, view::SegmentView};
use jiff::Timestamp;
use std::collections::HashMap;

/// A time in which changes of a kind may be missing.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Gap {
    /// The kind; `None` for all kinds, if a part of the files is damaged.
    pub kind: Option<KindId>,
    /// The namespace; `None` for all namespaces.
    pub namespace: Option<String>,
    /// The time after which changes may be missing.
    pub from: Timestamp,
    /// The time of the list that ended the gap; `None` if it has not ended.
    pub to: Option<Timestamp>,
    /// The reason.
    pub reason: String,
}

impl Gap {
    /// Returns whether the state of this moment may be incomplete.
    #[must_use]
    pub fn contains(&self, time: Timestamp) -> bool {
        self.from < time && self.to.is_none_or(|to| time < to)
    }
}

/// Returns the gaps of consecutive segments, ordered by time. `unreadable` are the times between which whole segments are missing.
pub(crate) fn gaps(views: &[SegmentView], unreadable: &[Gap]) -> Vec<Gap> {
    let mut gaps: Vec<Gap> = unreadable.to_vec();
    // A gap that has not ended is repeated at the start of the next segment.
    let mut known: HashMap<(u32, String, i64), usize> = HashMap::new();
    for (position, view) in views.iter().enumerate() {
        for gap in &view.index.gaps {
            let found = Gap {
                kind: Some(KindId(gap.kind)),
                namespace: Some(gap.namespace.to_string()).filter(|namespace| !namespace.is_empty()),
                from: timestamp(gap.from),
                to: gap.to.map(timestamp),
                reason: gap.reason.to_string(),
            };
            let id = (gap.kind, gap.namespace.to_string(), gap.from);
            match known.get(&id) {
                Some(index) => gaps[*index] = found,
                None => {
                    known.insert(id, gaps.len());
                    gaps.push(found);
                }
            }
        }
        let next = views.get(position + 1).map(|next| timestamp(next.segment.preamble().started));
        // Only the last segment may end with a partly written frame.
        let has_damaged_end = next.is_some() && view.segment.size().is_ok_and(|size| size > view.index.end);
        let has_checkpoint = view.index.checkpoint_end.is_some();
        let started = (!has_checkpoint).then_some(view.segment.preamble().started);
        let since = started.or(view.index.damaged_since).or(has_damaged_end.then_some(view.index.last_time));
        if let Some(since) = since {
            // The damaged part may have changes at the same time.
            let from = timestamp(since.saturating_sub(1));
            let reason = format!("{} is damaged", view.segment.path().display());
            gaps.push(Gap { kind: None, namespace: None, from, to: next, reason });
        }
    }
    gaps.sort_by_key(|gap| (gap.from, gap.kind));
    gaps
}
