//! Selectors of labels, of fields and of shards.

use kube_informer_wire::{FieldSelector, LabelSelector, SelectorError, ShardSelector};
use std::{collections::BTreeMap, fmt::Display, str::FromStr};

pub(crate) fn texts(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    if let Some(selector) = same::<LabelSelector>(&text) {
        let labels = BTreeMap::from([("a".to_owned(), "1".to_owned()), ("b/c".to_owned(), String::new())]);
        let _ = (selector.matches(&labels), selector.matches(None));
        assert_eq!(selector.clone().and(selector.clone()), selector);
    }
    if let Some(selector) = same::<FieldSelector>(&text) {
        let _ = selector.matches(|name| Some(name.to_owned()));
    }
    if let Some(selector) = same::<ShardSelector>(&text) {
        let _ = selector.matches("uid", "namespace");
    }
}

/// Checks that a formatted selector parses to the same selector, and that errors have a valid position.
fn same<S>(text: &str) -> Option<S>
where
    S: FromStr<Err = SelectorError> + Display + PartialEq + std::fmt::Debug,
{
    match text.parse::<S>() {
        Ok(selector) => {
            let again = selector.to_string().parse::<S>();
            assert_eq!(again.as_ref(), Ok(&selector), "{selector}");
            Some(selector)
        }
        Err(error) => {
            assert!(error.offset() <= text.len() && !error.to_string().is_empty());
            None
        }
    }
}
