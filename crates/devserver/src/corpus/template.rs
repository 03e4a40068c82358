//! A JSON document as text with slots, which are filled in for each object.

use crate::corpus::plan::Plan;
use serde_json::Value;

/// A JSON document in which `${name}` is replaced by a value of each object.
///
/// A string that consists of `${*name*}` is replaced together with its quotes: by a number, or by the items
/// of a list.
#[derive(Clone, Debug)]
pub(super) struct Template {
    /// Each slot, with the text before it.
    parts: Vec<(String, String)>,
    end: String,
}

impl Template {
    pub(super) fn new(mut document: Value) -> Self {
        // The text must be the same if a dependency enables the feature of serde_json that preserves the
        // order of fields.
        document.sort_all_objects();
        let text = document.to_string();
        let text = text
            .replace("\"${*env_fields*}\":{}", "${env_fields}")
            .replace("\"${*", "${")
            .replace("*}\"", "}");
        let mut parts = Vec::new();
        let mut rest = text.as_str();
        while let Some((before, after)) = rest.split_once("${") {
            let (slot, after) = after.split_once('}').unwrap_or((after, ""));
            parts.push((before.to_owned(), slot.to_owned()));
            rest = after;
        }
        Self { parts, end: rest.to_owned() }
    }

    /// Writes the document of an object.
    pub(super) fn write(&self, plan: &Plan, out: &mut String) {
        for (before, slot) in &self.parts {
            out.push_str(before);
            let is_known = plan.write(slot, out);
            debug_assert!(is_known, "no slot is called {slot}");
        }
        out.push_str(&self.end);
    }
}
