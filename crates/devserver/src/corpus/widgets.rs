//! Realistic custom resources.

use crate::corpus::managed::{self, Managers};
use crate::corpus::plan::Plan;
use crate::corpus::template::Template;
use serde_json::Value;

/// Custom resources in any number, each a function of the seed and its index: about 4 KB of JSON.
#[derive(Clone, Debug)]
pub struct Widgets {
    seed: u64,
    template: Template,
}

const MANAGERS: Managers = Managers { spec: "helm", status: "widget-operator" };

impl Widgets {
    /// Creates the custom resources of a seed.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        let mut widget = parsed(include_str!("templates/widget.json"));
        managed::write(&mut widget, MANAGERS);
        Self { seed, template: Template::new(widget) }
    }

    /// Returns their CustomResourceDefinition.
    #[must_use]
    pub fn definition() -> Value {
        parsed(include_str!("templates/definition.json"))
    }

    /// Returns a custom resource as a value.
    #[must_use]
    pub fn widget(&self, index: u64) -> Value {
        parsed(&self.json(index))
    }

    /// Returns a custom resource as JSON.
    #[must_use]
    pub fn json(&self, index: u64) -> String {
        let mut out = String::with_capacity(5 << 10);
        self.template.write(&Plan::new(self.seed, index), &mut out);
        out
    }
}

fn parsed(text: &str) -> Value {
    serde_json::from_str(text).expect("a template of this crate is JSON, and slots add no quotes")
}
