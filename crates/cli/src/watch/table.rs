//! The line of an event: time, type, object, and a summary of the change.

use super::labels::Labels;
use crate::change::{Detail, EXISTING, Line, changes, described, diff, key, manager, summary, verb};
use crate::kinds::Kind;
use crate::paint::{Highlight, Paint};
use crate::safe::{clean, clean_name};
use jiff::Zoned;
use kube_core::DynamicObject;
use kube_informer::event::{Event, Phase};
use std::collections::BTreeSet;

/// A watched resource, as its lines show it.
#[derive(Clone, Debug)]
pub(super) struct Source {
    pub(super) kind: Kind,
    /// `pod`, `deployment.apps`.
    pub(super) prefix: String,
    /// The name of the context, if there are several.
    pub(super) context: Option<String>,
}

impl Source {
    pub(super) fn new(kind: Kind, context: Option<String>) -> Self {
        Self { prefix: kind.prefix(), kind, context }
    }
}

/// The parts of a line.
#[derive(Clone, Debug)]
pub(super) struct LineFormat {
    pub(super) paint: Paint,
    /// The width of the column with kinds; `None` if there is one kind.
    pub(super) kinds: Option<usize>,
    /// The width of the column with contexts; `None` if there is one context.
    pub(super) contexts: Option<usize>,
    pub(super) labels: Labels,
    pub(super) detail: Detail,
}

impl LineFormat {
    /// Returns the look of lines without colors and labels.
    pub(super) fn new(sources: &[Source]) -> Self {
        let prefixes: BTreeSet<_> = sources.iter().map(|source| source.prefix.as_str()).collect();
        let kinds = prefixes.iter().map(|prefix| prefix.len()).max().filter(|_| prefixes.len() > 1);
        let contexts = sources.iter().filter_map(|source| Some(source.context.as_ref()?.chars().count()));
        Self {
            paint: Paint::Plain,
            kinds,
            contexts: contexts.max(),
            labels: Labels::default(),
            detail: Detail::Short,
        }
    }
}

/// Returns the line of an event.
pub(super) fn line(look: &LineFormat, source: &Source, event: &Event<DynamicObject>, now: &Zoned) -> String {
    let line = joined(head(look, source, event, now), &described(event, look.detail));
    line + &by(look, event)
}

/// Returns the line of an object that existed before.
pub(super) fn initial_line(
    look: &LineFormat,
    source: &Source,
    object: &DynamicObject,
    now: &Zoned,
) -> String {
    let (verb, highlight) = EXISTING;
    joined(Head { object, verb, highlight, now }.text(look, source), &summary(object))
}

fn joined(head: String, words: &str) -> String {
    if words.is_empty() { head } else { format!("{head}  {words}") }
}

/// Returns the field manager of a change for the end of a line: `  (by kubelet)`.
fn by(look: &LineFormat, event: &Event<DynamicObject>) -> String {
    let manager = match event {
        Event::Updated { .. } if event.is_resync() => None,
        Event::Updated { old, new, .. } => manager(Some(old.get()), new.get()),
        Event::Added { phase: Phase::Live, object, .. } => manager(None, object.get()),
        _ => None,
    };
    let text = |manager: String| {
        format!("  {}", look.paint.tint(Highlight::Quiet, &format!("(by {})", clean(&manager))))
    };
    manager.map_or(String::new(), text)
}

/// Returns the line of an event, and below it the old and the new value of each changed field.
pub(super) fn diff_lines(
    look: &LineFormat,
    source: &Source,
    event: &Event<DynamicObject>,
    now: &Zoned,
) -> String {
    let Event::Updated { old, new, .. } = event else { return line(look, source, event, now) };
    let mut text = head(look, source, event, now) + &by(look, event);
    for line in diff(&changes(old.get(), new.get()), &source.kind.kind) {
        let line = match line {
            Line::Went(line) => look.paint.tint(Highlight::Went, &format!("- {line}")),
            Line::Came(line) => look.paint.tint(Highlight::Came, &format!("+ {line}")),
        };
        text.push_str("\n    ");
        text.push_str(&line);
    }
    text
}

fn head(look: &LineFormat, source: &Source, event: &Event<DynamicObject>, now: &Zoned) -> String {
    let (verb, highlight) = verb(event);
    Head { object: event.object().get(), verb, highlight, now }.text(look, source)
}

/// The start of a line.
struct Head<'h> {
    object: &'h DynamicObject,
    verb: &'static str,
    highlight: Highlight,
    now: &'h Zoned,
}

impl Head<'_> {
    fn text(&self, look: &LineFormat, source: &Source) -> String {
        let time = look.paint.tint(Highlight::Quiet, &self.now.strftime("%H:%M:%S%.3f").to_string());
        let verb = look.paint.tint(self.highlight, &format!("{:<8}", self.verb));
        let context = source.context.as_deref().map(clean_name).unwrap_or_default();
        let context = look.contexts.map_or(String::new(), |width| format!("{context:<width$}  "));
        let kind = look.kinds.map_or(String::new(), |width| format!("{:<width$}  ", source.prefix));
        let key = look.paint.tint(Highlight::Strong, &key(self.object));
        let labels = look.labels.text(self.object.metadata.labels.as_ref());
        let labels = labels.map_or(String::new(), |labels| format!("  {labels}"));
        format!("{time}  {verb}  {context}{kind}{key}{labels}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use kube_informer::event::Deletion;
    use serde_json::{Value, json};
    use std::sync::Arc;

    fn object(version: u64, mut value: Value) -> Arc<DynamicObject> {
        value["metadata"] =
            json!({"name": "front", "namespace": "web", "uid": "u", "resourceVersion": version.to_string()});
        Arc::new(serde_json::from_value(value).unwrap())
    }

    fn shown(
        kinds: Option<usize>,
        event: &Event<DynamicObject>,
        form: fn(&LineFormat, &Source, &Event<DynamicObject>, &Zoned) -> String,
    ) -> String {
        let kind = Kind { group: "apps".into(), kind: "Deployment".into(), ..Kind::default() };
        let noon = "2026-07-01T12:00:00+00:00[UTC]".parse().unwrap();
        form(&LineFormat { kinds, ..LineFormat::new(&[]) }, &Source::new(kind, None), event, &noon)
    }

    fn update() -> Event<DynamicObject> {
        let spec = |replicas: u64| json!({"spec": {"replicas": replicas}});
        Event::update(object(1, spec(2)), object(2, spec(3))).unwrap()
    }

    #[test]
    fn a_change_is_one_line() {
        assert_eq!(shown(None, &update(), line), "12:00:00.000  updated   web/front  replicas 2 -> 3");
        assert_eq!(
            shown(Some(16), &update(), line),
            "12:00:00.000  updated   deployment.apps   web/front  replicas 2 -> 3"
        );
    }

    #[test]
    fn a_line_has_the_context_the_labels_and_the_field_manager() {
        let object = |version: u64, replicas: u64| {
            let entry = json!({"manager": "kubectl-scale", "time": "2026-01-01T00:00:00Z"});
            let object = json!({"metadata": {"name": "front", "namespace": "web", "uid": "u", "labels": {"app": "x"},
                "resourceVersion": version.to_string(), "managedFields": [entry]}, "spec": {"replicas": replicas}});
            Arc::new(serde_json::from_value(object).unwrap())
        };
        let event = Event::update(object(1, 2), object(2, 3)).unwrap();
        let source = |context: &str| Source::new(Kind::default(), Some(context.to_owned()));
        let columns = crate::args::Columns { show_labels: true, ..Default::default() };
        let look = LineFormat {
            labels: Labels::new(&columns),
            ..LineFormat::new(&[source("a"), source("staging")])
        };
        let noon = "2026-07-01T12:00:00+00:00[UTC]".parse().unwrap();
        let expected =
            "12:00:00.000  updated   a        web/front  app=x  replicas 2 -> 3  (by kubectl-scale)";
        assert_eq!(line(&look, &source("a"), &event, &noon), expected);
    }

    #[test]
    fn a_resync_has_no_summary() {
        let event = Event::resync(object(1, json!({}))).unwrap();
        assert_eq!(shown(None, &event, line), "12:00:00.000  resynced  web/front");
    }

    #[test]
    fn the_line_of_a_missing_object_explains_that_its_deletion_was_not_received() {
        let event = Event::delete(object(1, json!({})), Deletion::Inferred).unwrap();
        let expected =
            "12:00:00.000  deleted   web/front  missing in a relist; the deletion itself was not received";
        assert_eq!(shown(None, &event, line), expected);
    }

    #[test]
    fn a_difference_shows_old_above_new() {
        let expected = "12:00:00.000  updated   web/front\n    - spec.replicas: 2\n    + spec.replicas: 3";
        assert_eq!(shown(None, &update(), diff_lines), expected);
    }
}
