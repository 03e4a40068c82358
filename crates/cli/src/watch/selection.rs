//! Selects objects by their names.

use crate::args::Watch;
use regex::Regex;

/// The patterns of `--name` and `--exclude`.
#[derive(Clone, Debug, Default)]
pub(super) struct Selection {
    included: Vec<Regex>,
    excluded: Vec<Regex>,
}

impl Selection {
    pub(super) fn new(args: &Watch) -> Self {
        Self { included: args.name.clone(), excluded: args.exclude.clone() }
    }

    /// Returns whether an object with this name is printed.
    pub(super) fn accepts(&self, name: &str) -> bool {
        let matches = |pattern: &Regex| pattern.is_match(name);
        (self.included.is_empty() || self.included.iter().any(matches)) && !self.excluded.iter().any(matches)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_match_any_included_and_no_excluded_pattern() {
        let patterns = |texts: &[&str]| texts.iter().map(|text| Regex::new(text).unwrap()).collect();
        let selection = Selection { included: patterns(&["^front-", "cart"]), excluded: patterns(&["-0$"]) };
        let accepted: Vec<_> = ["front-1", "front-0", "my-cart", "back"]
            .into_iter()
            .filter(|name| selection.accepts(name))
            .collect();
        assert_eq!(accepted, ["front-1", "my-cart"]);
        assert!(Selection::default().accepts("anything"));
    }
}
