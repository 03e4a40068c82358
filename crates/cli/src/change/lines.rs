//! A diff as lines, the old value above the new one.

use super::{fields::FieldChange, scalar::scalar};
use crate::safe::clean;
use serde_json::Value;

/// A line of a diff.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Line {
    Went(String),
    Came(String),
}

/// Returns the old and the new value of each changed field. Strings of several lines are compared line by line, and the values of
/// Secrets are masked.
pub(crate) fn diff(changes: &[FieldChange], kind: &str) -> Vec<Line> {
    let mut lines = Vec::new();
    for FieldChange { path, old, new } in changes {
        let names = path.names();
        let is_secret = kind == "Secret" && matches!(names.first(), Some(&("data" | "stringData")));
        if let (Some(Value::String(old)), Some(Value::String(new))) = (old, new)
            && !is_secret
            && (old.contains('\n') || new.contains('\n'))
        {
            text_diff(&path.to_string(), old, new, &mut lines);
            continue;
        }
        let show = |value: &Value| if is_secret { "***".to_owned() } else { scalar(value) };
        lines.extend(old.as_ref().map(|old| Line::Went(format!("{path}: {}", show(old)))));
        lines.extend(new.as_ref().map(|new| Line::Came(format!("{path}: {}", show(new)))));
    }
    lines
}

/// Texts with more changed lines than this are shown as removed and added as a whole.
const MOST: usize = 1_000;

/// Compares two texts line by line; each line has its number, in the old or in the new text.
fn text_diff(path: &str, old: &str, new: &str, lines: &mut Vec<Line>) {
    let (old, new): (Vec<_>, Vec<_>) = (old.lines().collect(), new.lines().collect());
    let same = |(a, b): &(&&str, &&str)| a == b;
    let start = old.iter().zip(&new).take_while(same).count();
    let end = old[start..].iter().rev().zip(new[start..].iter().rev()).take_while(same).count();
    let (old_end, new_end) = (old.len() - end, new.len() - end);
    let went = |at: usize| Line::Went(format!("{path}:{}: {}", at + 1, clean(old[at])));
    let came = |at: usize| Line::Came(format!("{path}:{}: {}", at + 1, clean(new[at])));
    let (old_rest, new_rest) = (&old[start..old_end], &new[start..new_end]);
    if old_rest.is_empty() && new_rest.is_empty() {
        // Only the line break at the end differs.
        lines.push(Line::Came(format!("{path}: line break at the end changed")));
        return;
    }
    if old_rest.len() > MOST || new_rest.len() > MOST {
        lines.extend((start..old_end).map(went));
        lines.extend((start..new_end).map(came));
        return;
    }
    let common = longest_common(old_rest, new_rest);
    let (mut at, mut to) = (0, 0);
    while at < old_rest.len() || to < new_rest.len() {
        if at < old_rest.len() && to < new_rest.len() && old_rest[at] == new_rest[to] {
            (at, to) = (at + 1, to + 1);
        } else if at < old_rest.len() && common[at + 1][to] >= common[at][(to + 1).min(new_rest.len())] {
            lines.push(went(start + at));
            at += 1;
        } else {
            lines.push(came(start + to));
            to += 1;
        }
    }
}

/// Returns the length of the longest common subsequence of every pair of suffixes.
fn longest_common(old: &[&str], new: &[&str]) -> Vec<Vec<u32>> {
    let mut table = vec![vec![0; new.len() + 1]; old.len() + 1];
    for at in (0..old.len()).rev() {
        for to in (0..new.len()).rev() {
            table[at][to] = if old[at] == new[to] {
                table[at + 1][to + 1] + 1
            } else {
                table[at + 1][to].max(table[at][to + 1])
            };
        }
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::change::changes;
    use kube_core::DynamicObject;
    use proptest::prelude::*;
    use serde_json::json;

    fn shown(kind: &str, old: &str, new: &str) -> Vec<String> {
        let object = |text: &str| -> DynamicObject {
            serde_json::from_value(json!({"metadata": {}, "data": {"f": text}})).unwrap()
        };
        let lines = diff(&changes(&object(old), &object(new)), kind);
        lines
            .into_iter()
            .map(|line| match line {
                Line::Went(text) => format!("- {text}"),
                Line::Came(text) => format!("+ {text}"),
            })
            .collect()
    }

    #[test]
    fn a_changed_line_of_a_text_is_shown_alone() {
        let text: Vec<String> = (0..400).map(|number| format!("key{number} = value")).collect();
        let mut other = text.clone();
        other[200] = "key200 = other".into();
        other.insert(300, "new = 1".into());
        let expected =
            ["- data.f:201: key200 = value", "+ data.f:201: key200 = other", "+ data.f:301: new = 1"];
        assert_eq!(shown("ConfigMap", &text.join("\n"), &other.join("\n")), expected);
    }

    #[test]
    fn other_values_are_shown_whole_and_secrets_are_masked() {
        assert_eq!(shown("ConfigMap", "a", "b"), ["- data.f: a", "+ data.f: b"]);
        assert_eq!(shown("Secret", "a\nb", "a\nc"), ["- data.f: ***", "+ data.f: ***"]);
        assert_eq!(shown("ConfigMap", "a\nb", "a\nb\n"), ["+ data.f: line break at the end changed"]);
    }

    proptest! {
        /// Applying the diff to the old text gives the new one.
        #[test]
        fn a_diff_leads_from_the_old_text_to_the_new_one(
            old in prop::collection::vec("[abc]", 1..12), new in prop::collection::vec("[abc]", 1..12),
        ) {
            let (mut went, mut came) = (Vec::new(), Vec::new());
            let mut lines = Vec::new();
            prop_assume!(old != new);
            text_diff("p", &(old.join("\n") + "\n"), &(new.join("\n") + "\n"), &mut lines);
            for line in &lines {
                let (list, text) = match line {
                    Line::Went(text) => (&mut went, text),
                    Line::Came(text) => (&mut came, text),
                };
                let number: usize = text.split(':').nth(1).unwrap().parse().unwrap();
                list.push((number - 1, text.rsplit(' ').next().unwrap().to_owned()));
            }
            prop_assert!(went.iter().all(|(at, text)| old[*at] == *text));
            let mut result: Vec<String> = old.iter().enumerate()
                .filter(|(at, _)| !went.iter().any(|(gone, _)| gone == at)).map(|(_, line)| line.clone()).collect();
            for (at, line) in came {
                result.insert(at, line);
            }
            prop_assert_eq!(result, new);
        }
    }
}
