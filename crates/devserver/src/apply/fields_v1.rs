//! The JSON format of field sets: `fieldsV1` in `managedFields`.

use crate::apply::{
    element::{Element, KeyField},
    set::FieldSet,
};
use serde_json::{Map, Value};

/// Reports an invalid `fieldsV1`.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("invalid fieldsV1: {0:?} is not the path of a field")]
pub(crate) struct FieldsError(String);

impl FieldSet {
    /// Writes the set as JSON: `{"f:spec":{"f:replicas":{}}}`.
    pub(super) fn to_fields(&self) -> Value {
        Value::Object(self.entries())
    }

    fn entries(&self) -> Map<String, Value> {
        let mut entries = Map::new();
        for member in &self.members {
            entries.insert(to_text(member), Value::Object(Map::new()));
        }
        for (element, child) in &self.children {
            let mut below = child.entries();
            if self.members.contains(element) && !below.is_empty() {
                below.insert(".".to_owned(), Value::Object(Map::new()));
            }
            entries.insert(to_text(element), Value::Object(below));
        }
        entries
    }

    /// Reads a set from its JSON.
    ///
    /// # Errors
    /// Returns an error if a name is not a valid path element. Elements of unknown kinds are skipped.
    pub(super) fn from_fields(fields: &Value) -> Result<Self, FieldsError> {
        Ok(read(fields)?.set)
    }
}

/// The set below one path element.
struct Node {
    set: FieldSet,
    /// True if the path of this node is in the set.
    is_member: bool,
}

fn read(fields: &Value) -> Result<Node, FieldsError> {
    let mut set = FieldSet::default();
    let mut says_itself = false;
    for (text, below) in fields.as_object().into_iter().flatten() {
        if text == "." {
            says_itself = true;
            continue;
        }
        let Some(element) = from_text(text)? else { continue };
        let node = read(below)?;
        if node.is_member {
            set.members.insert(element.clone());
        }
        if node.set != FieldSet::default() {
            set.children.insert(element, node.set);
        }
    }
    let is_member = says_itself || set == FieldSet::default();
    Ok(Node { set, is_member })
}

/// Formats a path element: `f:name`, `k:{"name":"a"}`, `v:"a"`, `i:0`.
fn to_text(element: &Element) -> String {
    match element {
        Element::Field(name) => format!("f:{name}"),
        Element::Key(fields) => {
            let fields: Map<_, _> =
                fields.iter().map(|field| (field.name.clone(), field.value.clone())).collect();
            format!("k:{}", Value::Object(fields))
        }
        Element::Value(value) => format!("v:{value}"),
        Element::Index(index) => format!("i:{index}"),
    }
}

/// Parses a path element; `None` if its kind is unknown.
fn from_text(text: &str) -> Result<Option<Element>, FieldsError> {
    let wrong = || FieldsError(text.to_owned());
    let (kind, rest) = text.split_once(':').filter(|(kind, _)| kind.len() == 1).ok_or_else(wrong)?;
    let json = || serde_json::from_str::<Value>(rest).map_err(|_| wrong());
    Ok(Some(match kind {
        "f" => Element::field(rest),
        "v" => Element::Value(json()?),
        "i" => Element::Index(rest.parse().map_err(|_| wrong())?),
        "k" => match json()? {
            // The map is sorted by name.
            Value::Object(fields) => {
                Element::Key(fields.into_iter().map(|(name, value)| KeyField { name, value }).collect())
            }
            _ => return Err(wrong()),
        },
        _ => return Ok(None),
    }))
}
