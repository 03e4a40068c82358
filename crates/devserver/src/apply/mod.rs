//! Server-side apply: which manager owns which fields of an object, and how an applied configuration changes it.
//!
//! The same rules as `sigs.k8s.io/structured-merge-diff` and the field managers of kube-apiserver, with which a test
//! compares this module. Values are [`serde_json::Value`]s; a [`Schema`] describes their types. [`Tracker`] is the
//! entrance: it updates `metadata.managedFields` for each way of writing an object.

mod element;

mod schema;

mod set;

mod fields_v1;

mod table;

mod openapi;

mod key;

mod validate;

mod field_set;

mod merge;

mod compare;

mod remove;

mod reconcile;

mod visit;

mod unknown;

mod managers;

mod conflict;

mod updater;

mod last_applied;

mod tracker;

#[cfg(test)]
mod tests;

#[cfg(feature = "__oracle")]
pub(crate) mod oracle;

pub(crate) use conflict::Conflict;
pub(crate) use openapi::{Version, from_openapi};
pub(crate) use schema::Schema;
pub(crate) use set::FieldSet;
pub(crate) use table::built_in;
pub(crate) use tracker::{ApplyError, Force, Tracker, Writer};
pub(crate) use unknown::unknown_fields;
pub(crate) use visit::visit;
