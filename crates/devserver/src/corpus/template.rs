//! Text with slots, made of a JSON document and filled in for each object.

use crate::corpus::plan::Plan;
use serde_json::Value;

/// A JSON document in which `${name}` is filled in anew for each object.
///
/// A string that is nothing but `${*name*}` is filled in without its quotes: a number, or the items of a list.
#[derive(Clone, Debug)]
pub(super) struct Template {
    /// What stands before each slot, and the slot.
    parts: Vec<(String, String)>,
    end: String,
}

impl Template {
    pub(super) fn new(mut document: Value) -> Self {
        // The text must not depend on whether some crate wants fields in the order in which they were added.
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

    /// Writes the document of one object.
    pub(super) fn write(&self, plan: &Plan, out: &mut String) {
        for (before, slot) in &self.parts {
            out.push_str(before);
            let is_known = plan.write(slot, out);
            debug_assert!(is_known, "no slot is called {slot}");
        }
        out.push_str(&self.end);
    }
}
