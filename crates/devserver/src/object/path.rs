//! Simple JSON paths such as `.spec.replicas`, which definitions of custom resources contain.

use crate::object::metadata;
use serde_json::Value;

/// Returns the value at a path of names, and of indexes and quoted names in brackets.
pub(crate) fn read<'a>(object: &'a Value, path: &str) -> Option<&'a Value> {
    let mut found = object;
    for step in steps(path) {
        found = match found {
            Value::Array(items) => items.get(step.parse::<usize>().ok()?)?,
            found => found.get(step)?,
        };
    }
    Some(found)
}

/// Sets a value at a path of names, and creates the objects in which it is contained.
pub(crate) fn write(object: &mut Value, path: &str, value: Value) {
    let mut place = object;
    for step in steps(path) {
        place = metadata::fields(place).entry(step).or_insert(Value::Null);
    }
    *place = value;
}

/// Returns the names of a path, such as the three of `.metadata.annotations['a.b/c']`.
pub(crate) fn steps(path: &str) -> impl Iterator<Item = &str> {
    let mut rest = path.trim_matches(['{', '}', '$', ' ']);
    std::iter::from_fn(move || {
        rest = rest.trim_start_matches('.');
        let (step, after) = match rest.strip_prefix('[') {
            Some(inside) => {
                let quote = inside.chars().next().filter(|first| matches!(first, '\'' | '"'));
                let end = quote.map_or("]".to_owned(), |quote| format!("{quote}]"));
                let inside = inside.trim_start_matches(['\'', '"']);
                inside.split_once(end.as_str()).unwrap_or((inside, ""))
            }
            None => rest.split_at(rest.find(['.', '[']).unwrap_or(rest.len())),
        };
        rest = after;
        (!step.is_empty()).then_some(step)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::json;

    #[test]
    fn reads_names_indexes_and_quoted_names() {
        let object =
            json!({"spec": {"replicas": 3, "list": [{"a": 1}]}, "metadata": {"annotations": {"a.b/c": "x"}}});
        let table = [
            (".spec.replicas", Some(json!(3))),
            ("spec.replicas", Some(json!(3))),
            ("{.spec.list[0].a}", Some(json!(1))),
            (".metadata.annotations['a.b/c']", Some(json!("x"))),
            (".metadata.annotations[\"a.b/c\"]", Some(json!("x"))),
            (".spec.list[7]", None),
            (".spec.replicas.more", None),
            (".none", None),
        ];
        for (path, expected) in table {
            assert_eq!(read(&object, path), expected.as_ref(), "{path}");
        }
    }

    #[test]
    fn writing_creates_the_parent_objects() {
        let mut object = json!({"spec": 1});
        write(&mut object, ".spec.size.count", json!(2));
        assert_eq!(object, json!({"spec": {"size": {"count": 2}}}));
    }

    proptest! {
        #[test]
        fn any_text_is_a_path(path in "\\PC{0,12}|[a.\\[\\]'\"{}$0]{0,12}") {
            prop_assert!(steps(&path).count() <= path.len());
            let mut object = json!({});
            write(&mut object, &path, json!(1));
            let _ = read(&object, &path);
        }
    }
}
