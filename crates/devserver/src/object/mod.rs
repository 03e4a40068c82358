//! Completes and checks objects before they are stored, as functions of JSON values.

pub(crate) mod metadata;

pub(crate) mod path;

mod name;

mod label_selector;

mod rules;

mod normalize;

mod unknown;

mod quantity;

mod defaults;

mod new_object;

mod immutable;

mod update;

pub(crate) mod deletion;

mod field;

pub(crate) mod scale;

pub(crate) mod service;

pub(crate) mod patch;

#[cfg(test)]
mod tests;

#[cfg(feature = "__oracle")]
pub(crate) mod oracle;

pub(crate) use defaults::try_fill as try_fill_defaults;
pub(crate) use field::{check_fields, field, supported_fields};
pub(crate) use immutable::immutable_changes;
pub(crate) use label_selector::label_selector_matches;
pub(crate) use name::{generate_name, is_label, is_subdomain};
pub(crate) use new_object::{NewObject, complete, remove_system_fields, uid};
pub(crate) use normalize::{convert, empty, normalize, types};
pub(crate) use patch::{DEEPEST, depth};
pub(crate) use quantity::value as quantity_value;
pub(crate) use rules::{RuleScope, broken_key, broken_value, new_metadata_errors, updated_metadata_errors};
pub(crate) use unknown::unknown_fields;
pub(crate) use update::{apply_status_update, prepare_update};
