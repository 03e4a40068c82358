//! A line for people: when, what, which object, and what changed in words.

use crate::change::{EXISTING, Line, changes, diff, key, summary, told, verb};
use crate::kinds::Kind;
use crate::paint::{Paint, Tone};
use jiff::Zoned;
use kube_core::DynamicObject;
use kube_informer::Event;

/// What stands at the beginning of a line.
#[derive(Clone, Copy, Debug)]
pub(super) struct Look {
    pub(super) paint: Paint,
    /// How wide the column of kinds is; nothing where there is one kind.
    pub(super) kinds: Option<usize>,
}

/// The line of an event.
pub(super) fn line(look: Look, kind: &Kind, event: &Event<DynamicObject>, now: &Zoned) -> String {
    joined(head(look, kind, event, now), &told(event))
}

/// The line of an object that was there before.
pub(super) fn initial_line(look: Look, kind: &Kind, object: &DynamicObject, now: &Zoned) -> String {
    joined(head_of(look, kind, object, EXISTING, now), &summary(object))
}

fn joined(head: String, words: &str) -> String {
    if words.is_empty() { head } else { format!("{head}  {words}") }
}

/// The line of an event and below it what changed, field by field.
pub(super) fn diff_lines(look: Look, kind: &Kind, event: &Event<DynamicObject>, now: &Zoned) -> String {
    let Event::Updated { old, new, .. } = event else { return line(look, kind, event, now) };
    let mut text = head(look, kind, event, now);
    for line in diff(&changes(old.get(), new.get()), &kind.kind) {
        let line = match line {
            Line::Went(line) => look.paint.tint(Tone::Went, &format!("- {line}")),
            Line::Came(line) => look.paint.tint(Tone::Came, &format!("+ {line}")),
        };
        text.push_str("\n    ");
        text.push_str(&line);
    }
    text
}

fn head(look: Look, kind: &Kind, event: &Event<DynamicObject>, now: &Zoned) -> String {
    head_of(look, kind, event.object().get(), verb(event), now)
}

fn head_of(
    look: Look,
    kind: &Kind,
    object: &DynamicObject,
    (verb, tone): (&str, Tone),
    now: &Zoned,
) -> String {
    let time = look.paint.tint(Tone::Quiet, &now.strftime("%H:%M:%S%.3f").to_string());
    let verb = look.paint.tint(tone, &format!("{verb:<8}"));
    let kind = look.kinds.map_or(String::new(), |width| format!("{:<width$}  ", kind.prefix()));
    format!("{time}  {verb}  {kind}{}", look.paint.tint(Tone::Strong, &key(object)))
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
        form: fn(Look, &Kind, &Event<DynamicObject>, &Zoned) -> String,
    ) -> String {
        let kind = Kind { group: "apps".into(), kind: "Deployment".into(), ..Kind::default() };
        let noon = "2026-07-01T12:00:00+00:00[UTC]".parse().unwrap();
        form(Look { paint: Paint::Plain, kinds }, &kind, event, &noon)
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
    fn what_is_told_again_has_no_words() {
        let event = Event::resync(object(1, json!({}))).unwrap();
        assert_eq!(shown(None, &event, line), "12:00:00.000  resynced  web/front");
    }

    #[test]
    fn a_missing_object_says_that_its_end_was_not_seen() {
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
