//! The difference that leads from the state after a change back to the state before it.

use serde_json::{Map, Value, json};

/// The difference that leads from the state after a change back to the state before it.
#[derive(Clone, Debug)]
pub(super) enum Undo {
    /// The source reads states by itself.
    External,
    /// The object did not exist before.
    Absent,
    /// The fields that had other values, as a JSON array of `[pointer, value]`, or `[pointer]` if the field did not exist. One text takes
    /// less memory than a value for each field.
    Fields(Box<str>),
    /// The object as it was, as JSON.
    State(Box<str>),
}

impl Undo {
    /// Computes what leads from `new` back to `old`.
    pub(super) fn between(old: &Value, new: &Value) -> Self {
        let mut found = Vec::new();
        compare(&mut String::new(), old, new, &mut found);
        Self::Fields(Value::Array(found).to_string().into())
    }

    /// Keeps a state.
    pub(super) fn state(old: &Value) -> Self {
        Self::State(old.to_string().into())
    }

    /// Returns the state before the change.
    pub(super) fn apply(&self, state: Option<Value>) -> Option<Value> {
        match self {
            Self::External => state,
            Self::Absent => None,
            Self::State(json) => serde_json::from_str(json).ok(),
            Self::Fields(json) => {
                let mut state = state?;
                let fields: Vec<Vec<Value>> = serde_json::from_str(json).ok()?;
                fields.into_iter().for_each(|field| restore(&mut state, field));
                Some(state)
            }
        }
    }

    pub(super) fn size(&self) -> usize {
        match self {
            Self::External | Self::Absent => 0,
            Self::State(json) | Self::Fields(json) => json.len(),
        }
    }
}

/// Sets a field of a state to its previous value, or removes it.
fn restore(state: &mut Value, field: Vec<Value>) {
    let mut field = field.into_iter();
    let (Some(Value::String(pointer)), old) = (field.next(), field.next()) else { return };
    let mut names: Vec<String> =
        pointer.split('/').skip(1).map(|name| name.replace("~1", "/").replace("~0", "~")).collect();
    let Some(last) = names.pop() else { return };
    let mut parent = state;
    for name in names {
        parent = match parent {
            Value::Object(fields) => fields.entry(name).or_insert_with(|| Value::Object(Map::new())),
            Value::Array(items) => match name.parse().ok().and_then(|index: usize| items.get_mut(index)) {
                Some(item) => item,
                None => return,
            },
            _ => return,
        };
    }
    match (parent, old) {
        (Value::Object(fields), Some(old)) => _ = fields.insert(last, old),
        (Value::Object(fields), None) => _ = fields.remove(&last),
        (Value::Array(items), Some(old)) => {
            let item = last.parse().ok().and_then(|index: usize| items.get_mut(index));
            item.into_iter().for_each(|item| *item = old.clone());
        }
        _ => {}
    }
}

/// Finds the fields of objects that differ. Lists of the same length are compared item by item, others as a whole.
fn compare(path: &mut String, old: &Value, new: &Value, found: &mut Vec<Value>) {
    match (old, new) {
        (Value::Object(old), Value::Object(new)) => {
            let added = new.keys().filter(|name| !old.contains_key(*name));
            for name in old.keys().chain(added) {
                let (old, new) = (old.get(name), new.get(name));
                if old == new {
                    continue;
                }
                let length = path.len();
                path.push('/');
                if name.contains(['~', '/']) {
                    path.push_str(&name.replace('~', "~0").replace('/', "~1"));
                } else {
                    path.push_str(name);
                }
                match (old, new) {
                    (Some(old), Some(new)) => compare(path, old, new, found),
                    (Some(old), None) => found.push(json!([&**path, old])),
                    (None, _) => found.push(json!([&**path])),
                }
                path.truncate(length);
            }
        }
        (Value::Array(old), Value::Array(new)) if old.len() == new.len() && !path.is_empty() => {
            let pairs = old.iter().zip(new).enumerate();
            for (index, (old, new)) in pairs.filter(|(_, (old, new))| old != new) {
                let length = path.len();
                path.push_str(&format!("/{index}"));
                compare(path, old, new, found);
                path.truncate(length);
            }
        }
        (old, new) if old != new => found.push(json!([&**path, old])),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::json;

    fn value() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            (0..9_u8).prop_map(Value::from),
            "[a-c]{0,2}".prop_map(Value::from)
        ];
        leaf.prop_recursive(3, 24, 4, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..3).prop_map(Value::from),
                prop::collection::btree_map("[a-d]{1}", inner, 0..4)
                    .prop_map(|fields| Value::Object(fields.into_iter().collect())),
            ]
        })
    }

    fn object() -> impl Strategy<Value = Value> {
        prop::collection::btree_map("[a-d]{1}", value(), 0..4)
            .prop_map(|fields| Value::Object(fields.into_iter().collect()))
    }

    proptest! {
        #[test]
        fn undoing_a_change_restores_the_old_state(old in object(), new in object()) {
            prop_assert_eq!(Undo::between(&old, &new).apply(Some(new.clone())), Some(old.clone()));
            prop_assert_eq!(Undo::state(&old).apply(None), Some(old));
            prop_assert_eq!(Undo::Absent.apply(Some(new)), None);
        }
    }

    #[test]
    fn names_with_slashes_and_items_of_lists_are_restored() {
        let state = |time: u32, more: Value| json!({"a/b~c": {"~1": more}, "list": [{"name": "x", "time": 1}, {"name": "y", "time": time}, [time]]});
        let (old, new) = (state(1, json!({"0": 1})), state(2, json!(["0"])));
        let undo = Undo::between(&old, &new);
        assert_eq!(undo.apply(Some(new)), Some(old));
        let Undo::Fields(text) = undo else { panic!("fields are kept") };
        assert!(!text.contains("name"), "{text}");
    }

    #[test]
    fn only_different_fields_are_kept() {
        let old = json!({"spec": {"replicas": 1, "template": {"large": "x".repeat(1000)}}});
        let new = json!({"spec": {"replicas": 2, "template": {"large": "x".repeat(1000)}}});
        assert!(Undo::between(&old, &new).size() < 200);
    }
}
