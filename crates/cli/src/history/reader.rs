//! Opens a recording, and finds the kinds and objects that the command line names.

use super::last_recording;
use crate::args::Recorded;
use crate::cli_error::{Class, CliError, chain};
use crate::cluster;
use crate::notice::print_notice;
use crate::safe::clean;
use jiff::{Timestamp, tz::TimeZone};
use kube_core::DynamicObject;
use kube_history::{Event, Gap, History, Kind, KindId, ReadError, Scope, Source, Version};
use kube_informer_wire::Key;
use std::{path::PathBuf, sync::Arc, time::Duration};

/// An open recording.
#[derive(Debug)]
pub(super) struct Reader {
    pub(super) history: History,
    kinds: Vec<(KindId, Arc<Kind>)>,
    gaps: Vec<Gap>,
}

/// A recorded kind, or one object of it.
#[derive(Clone, Debug)]
pub(super) struct Target {
    pub(super) id: KindId,
    pub(super) kind: Arc<Kind>,
    pub(super) name: Option<String>,
}

/// A bookmark is recorded about every minute, so that a longer silence means that nothing was recorded.
const MAX_SILENCE: Duration = Duration::from_secs(120);

/// The reason of the gap before the first list of a kind.
const NOT_LISTED: &str = "not listed yet";

/// A kind that was added within this time is recorded since the start.
const MAX_START: jiff::SignedDuration = jiff::SignedDuration::from_secs(60);

/// The maximum number of gaps that are printed.
const MAX_GAPS: usize = 10;

impl Reader {
    /// Opens the recording of the command line, or the last one of the context.
    pub(super) fn open(args: &Recorded) -> anyhow::Result<Self> {
        let folder = match &args.dir {
            Some(folder) => folder.clone(),
            None => last_folder(args)?,
        };
        let history = History::open(&folder).map_err(|error| match error {
            ReadError::Empty { .. } => CliError::new(Class::Usage, chain(&error)).hint(
                "set --dir to the folder of a recording, or start one with `informer record --dir DIR`",
            ),
            error => CliError::new(Class::Other, chain(&error)),
        })?;
        let kinds = history.kinds()?;
        let gaps = history.gaps()?;
        Ok(Self { history, kinds, gaps })
    }

    /// Returns the kinds and objects that the arguments name; all kinds without arguments.
    pub(super) fn targets(&self, words: &[String]) -> Result<Vec<Target>, CliError> {
        if words.is_empty() {
            return Ok(self.kinds.iter().map(|(id, kind)| target(*id, kind, None)).collect());
        }
        let mut targets = Vec::new();
        for word in words {
            match word.split_once('/') {
                Some((kind, name)) if !kind.is_empty() && !name.is_empty() && !name.contains('/') => {
                    let (id, kind) = self.kind(kind)?;
                    targets.push(target(*id, kind, Some(name.to_owned())));
                }
                Some(_) => {
                    let what = format!("invalid object {word:?}: expected KIND/NAME");
                    let failure = CliError::new(Class::Usage, what);
                    return Err(failure.hint("for example pod/front-1, with -n NS for its namespace"));
                }
                None => {
                    let category = word.to_lowercase();
                    let in_category =
                        self.kinds.iter().filter(|(_, kind)| kind.categories.contains(&category));
                    let of_category: Vec<_> = in_category.map(|(id, kind)| target(*id, kind, None)).collect();
                    if of_category.is_empty() {
                        let (id, kind) = self.kind(word)?;
                        targets.push(target(*id, kind, None));
                    }
                    targets.extend(of_category);
                }
            }
        }
        Ok(targets)
    }

    fn kind(&self, word: &str) -> Result<&(KindId, Arc<Kind>), CliError> {
        self.kinds.iter().find(|(_, kind)| kind.is_named(word)).ok_or_else(|| {
            let known: Vec<String> = self.kinds.iter().map(|(_, kind)| clean(&kind.to_string())).collect();
            CliError::new(Class::Kind, format!("{word:?} is not recorded"))
                .hint(format!("recorded are {}", known.join(", ")))
        })
    }

    /// Returns the key of an object by its name. Without a namespace, the name must be unique.
    pub(super) fn key(&self, target: &Target, name: &str, namespace: Option<&str>) -> anyhow::Result<Key> {
        if target.kind.scope == Scope::Cluster {
            return Ok(Key::new(None, name)?);
        }
        if let Some(namespace) = namespace {
            return Ok(Key::new(Some(namespace), name)?);
        }
        let keys = self.history.keys(target.id)?;
        let found: Vec<Key> = keys.into_iter().filter(|key| key.name() == name).collect();
        match found.as_slice() {
            [key] => Ok(key.clone()),
            [] => Err(self.absent(target, name).into()),
            several => {
                let namespaces: Vec<_> = several.iter().filter_map(Key::namespace).map(clean).collect();
                let what = format!("{}/{name} is in several namespaces", target.kind.singular);
                Err(CliError::new(Class::Usage, what)
                    .hint(format!("choose one with -n: {}", namespaces.join(", ")))
                    .into())
            }
        }
    }

    /// Returns whether an object that a list found is older than the gap before the list, so that it was not created in it.
    pub(super) fn existed_before(&self, version: &Version, object: &DynamicObject) -> bool {
        if version.event() != Event::Added || version.source() != Source::List {
            return version.event() == Event::Checkpoint;
        }
        let is_before_list =
            |gap: &&Gap| gap.kind == Some(version.kind_id()) && gap.to == Some(version.time());
        let created = object.metadata.creation_timestamp.as_ref();
        self.gaps.iter().find(is_before_list).zip(created).is_some_and(|(gap, created)| created.0 <= gap.from)
    }

    /// Explains that an object was not recorded.
    pub(super) fn absent(&self, target: &Target, name: &str) -> CliError {
        let what = format!("{}/{name} is not recorded", clean(&target.kind.singular));
        let failure = CliError::new(Class::Other, what);
        match self.history.span() {
            Ok(span) => {
                failure.hint(format!("the recording is from {} to {}", local(span.start), local(span.end)))
            }
            Err(_) => failure,
        }
    }

    /// Prints if a range is not within the recorded time.
    pub(super) fn warn_about_span(&self, from: Timestamp, to: Timestamp) -> anyhow::Result<()> {
        let span = self.history.span()?;
        if from < span.start {
            print_notice(format!("the recording starts at {}", local(span.start)));
        }
        let end = to.min(Timestamp::now());
        if Duration::try_from(end.duration_since(span.end)).is_ok_and(|silence| silence > MAX_SILENCE) {
            print_notice(format!("nothing was recorded after {}", local(span.end)));
        }
        Ok(())
    }

    /// Prints in which parts of a range changes of these kinds may be missing.
    pub(super) fn warn_about_gaps(
        &self,
        targets: &[Target],
        from: Timestamp,
        to: Timestamp,
    ) -> anyhow::Result<()> {
        self.warn_about_span(from, to)?;
        let start = self.history.span()?.start;
        let is_shown =
            |kind: Option<KindId>| kind.is_none_or(|kind| targets.iter().any(|one| one.id == kind));
        let gaps = self.gaps.iter().filter(|gap| {
            let overlaps = gap.from < to && gap.to.is_none_or(|end| end > from);
            // The time until the first list is the start of the recording.
            let is_start = gap.reason == NOT_LISTED && gap.from.duration_since(start) < MAX_START;
            overlaps && !is_start && is_shown(gap.kind)
        });
        let gaps: Vec<_> = gaps.collect();
        for gap in gaps.iter().take(MAX_GAPS) {
            let kind = self.kinds.iter().find(|(id, _)| Some(*id) == gap.kind);
            let kind = kind.map_or("all resources".to_owned(), |(_, kind)| kind.to_string());
            let end = gap.to.map_or("now".to_owned(), local);
            print_notice(format!(
                "{}: changes may be missing from {} to {end}: {}",
                clean(&kind),
                local(gap.from),
                clean(&gap.reason)
            ));
        }
        if gaps.len() > MAX_GAPS {
            print_notice(format!("and {} more gaps", gaps.len() - MAX_GAPS));
        }
        Ok(())
    }
}

fn target(id: KindId, kind: &Arc<Kind>, name: Option<String>) -> Target {
    Target { id, kind: Arc::clone(kind), name }
}

fn last_folder(args: &Recorded) -> Result<PathBuf, CliError> {
    last_recording::find(&cluster::name(&args.cluster)?)
}

/// Returns a time in the time zone of the system.
pub(super) fn local(time: Timestamp) -> String {
    time.to_zoned(TimeZone::system()).strftime("%Y-%m-%d %H:%M:%S%.3f").to_string()
}

/// Returns a field path as a JSON pointer: `status.phase` and `/status/phase` are the same field.
pub(super) fn pointer(path: &str) -> String {
    if path.starts_with('/') {
        return path.to_owned();
    }
    let names = path.trim_start_matches('.').split('.').filter(|name| !name.is_empty());
    names.map(|name| format!("/{name}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_pointers_or_have_dots() {
        for path in ["/status/phase", "status.phase", ".status.phase"] {
            assert_eq!(pointer(path), "/status/phase");
        }
    }
}
