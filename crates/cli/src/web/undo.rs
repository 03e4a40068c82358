//! The difference that leads from the state after a change back to the state before it.

use serde_json::{Map, Value};
use std::collections::BTreeSet;

/// The difference that leads from the state after a change back to the state before it.
#[derive(Clone, Debug)]
pub(super) enum Undo {
    /// The source reads states by itself.
    External,
    /// The object did not exist before.
    Absent,
    /// The fields that had other values.
    Fields(Box<[FieldUndo]>),
    /// The object as it was, as JSON.
    State(Box<str>),
}

/// The previous value of a field.
#[derive(Clone, Debug)]
pub(super) struct FieldUndo {
    path: Box<[Box<str>]>,
    /// The value as JSON; `None` if the field did not exist.
    old: Option<Box<str>>,
}

impl Undo {
    /// Computes what leads from `new` back to `old`.
    pub(super) fn between(old: &Value, new: &Value) -> Self {
        let mut found = Vec::new();
        compare(&mut Vec::new(), old, new, &mut found);
        Self::Fields(found.into())
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
            Self::Fields(fields) => {
                let mut state = state?;
                fields.iter().for_each(|field| field.apply(&mut state));
                Some(state)
            }
        }
    }

    pub(super) fn size(&self) -> usize {
        match self {
            Self::External | Self::Absent => 0,
            Self::State(json) => json.len(),
            Self::Fields(fields) => fields.iter().map(FieldUndo::size).sum(),
        }
    }
}

impl FieldUndo {
    fn apply(&self, state: &mut Value) {
        let Some((last, parents)) = self.path.split_last() else { return };
        let mut parent = state;
        for name in parents {
            let Value::Object(fields) = parent else { return };
            parent = fields.entry(&**name).or_insert_with(|| Value::Object(Map::new()));
        }
        let Value::Object(fields) = parent else { return };
        match self.old.as_deref().and_then(|json| serde_json::from_str(json).ok()) {
            Some(old) => fields.insert((**last).to_owned(), old),
            None => fields.remove(&**last),
        };
    }

    fn size(&self) -> usize {
        64 + self.path.iter().map(|name| name.len() + 16).sum::<usize>()
            + self.old.as_ref().map_or(0, |old| old.len())
    }
}

/// Compares fields of objects. Lists are compared as a whole.
fn compare(path: &mut Vec<Box<str>>, old: &Value, new: &Value, found: &mut Vec<FieldUndo>) {
    let (Value::Object(old), Value::Object(new)) = (old, new) else { return };
    let names: BTreeSet<_> = old.keys().chain(new.keys()).collect();
    for name in names {
        let (before, after) = (old.get(name), new.get(name));
        if before == after {
            continue;
        }
        path.push(name.as_str().into());
        match (before, after) {
            (Some(before @ Value::Object(_)), Some(after @ Value::Object(_))) => {
                compare(path, before, after, found);
            }
            (before, _) => found.push(FieldUndo {
                path: path.clone().into(),
                old: before.map(|value| value.to_string().into()),
            }),
        }
        path.pop();
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
    fn only_different_fields_are_kept() {
        let old = json!({"spec": {"replicas": 1, "template": {"large": "x".repeat(1000)}}});
        let new = json!({"spec": {"replicas": 2, "template": {"large": "x".repeat(1000)}}});
        assert!(Undo::between(&old, &new).size() < 200);
    }
}
