//! Resolves the names of resources.

use super::{kind::Kind, similar_names::similar_names};
use crate::cli_error::{Class, CliError};
use std::collections::BTreeSet;

/// All kinds of a server, in its order: the preferred version of a group before the others.
#[derive(Clone, Debug)]
pub(crate) struct Catalog {
    kinds: Vec<Kind>,
}

impl Catalog {
    /// Creates a catalog of the kinds with valid names.
    pub(crate) fn of(mut kinds: Vec<Kind>) -> Self {
        kinds.retain(Kind::is_well_named);
        Self { kinds }
    }

    /// Returns all kinds.
    pub(crate) fn kinds(&self) -> &[Kind] {
        &self.kinds
    }

    /// Returns the kinds with these names, each once, in the order of the names.
    ///
    /// # Errors
    /// If a name is unknown, or its kind cannot be watched.
    pub(crate) fn resolve(&self, words: &[String]) -> Result<Vec<Kind>, CliError> {
        let mut found: Vec<Kind> = Vec::new();
        for word in words {
            for kind in self.find_kinds(word)? {
                if !found.contains(kind) {
                    found.push(kind.clone());
                }
            }
        }
        Ok(found)
    }

    /// Returns whether one of the names is that of this kind, and not of a category.
    pub(crate) fn is_named(&self, kind: &Kind, words: &[String]) -> bool {
        words.iter().any(|word| self.one(&word.to_lowercase()) == Some(kind))
    }

    /// Returns the kinds with these names, without unknown ones.
    pub(crate) fn known(&self, words: &[&str]) -> Vec<Kind> {
        let found = words.iter().filter_map(|word| self.one(word));
        found.filter(|kind| kind.can_be_watched()).cloned().collect()
    }

    fn find_kinds(&self, word: &str) -> Result<Vec<&Kind>, CliError> {
        let lower = word.to_lowercase();
        if let Some(kind) = self.one(&lower) {
            return if kind.can_be_watched() { Ok(vec![kind]) } else { Err(not_watchable(kind)) };
        }
        let of_category: Vec<_> = self.category(&lower);
        if of_category.is_empty() { Err(self.unknown(word)) } else { Ok(of_category) }
    }

    /// Like kubectl: `plural.version.group`, then `plural.group`, then any group.
    fn one(&self, word: &str) -> Option<&Kind> {
        let Some((name, rest)) = word.split_once('.') else { return self.find(word, None, None) };
        let (version, group) = rest.split_once('.').unwrap_or((rest, ""));
        self.find(name, Some(group), Some(version)).or_else(|| self.find(name, Some(rest), None))
    }

    fn find(&self, name: &str, group: Option<&str>, version: Option<&str>) -> Option<&Kind> {
        let fits = |kind: &&Kind| {
            group.is_none_or(|group| kind.group == group)
                && version.is_none_or(|version| kind.version == version)
                && kind.is_called(name)
        };
        let mut fitting = self.kinds.iter().filter(fits);
        // Kinds that can be watched take precedence.
        let first = fitting.clone().next();
        fitting.find(|kind| kind.can_be_watched()).or(first)
    }

    fn category(&self, word: &str) -> Vec<&Kind> {
        let mut seen = BTreeSet::new();
        let belongs = |kind: &&Kind| kind.categories.iter().any(|category| category == word);
        let fitting = self.kinds.iter().filter(belongs).filter(|kind| kind.can_be_watched());
        fitting.filter(|kind| seen.insert(kind.resource())).collect()
    }

    fn unknown(&self, word: &str) -> CliError {
        let failure = CliError::new(Class::Kind, format!("the server has no resource {word:?}"));
        let lower = word.to_lowercase();
        let name = lower.split('.').next().unwrap_or_default();
        let names = self.kinds.iter().filter(|kind| kind.can_be_watched());
        let close =
            similar_names(name, names.flat_map(|kind| [kind.plural.as_str(), kind.singular.as_str()]));
        let mut guesses: Vec<String> = Vec::new();
        for guess in close.iter().filter_map(|guess| self.one(guess)).map(Kind::resource) {
            if !guesses.contains(&guess) {
                guesses.push(guess);
            }
        }
        match guesses.as_slice() {
            [] => failure.hint("kubectl api-resources lists what there is; one object is KIND/NAME"),
            guesses => failure.hint(format!("did you mean {}?", guesses.join(" or "))),
        }
    }
}

fn not_watchable(kind: &Kind) -> CliError {
    let verbs = match kind.verbs.as_slice() {
        [] => "no verb".to_owned(),
        verbs => format!("only {}", verbs.join(", ")),
    };
    let what = format!("{} cannot be watched: the server supports {verbs}", kind.resource());
    CliError::new(Class::Kind, what)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kind(group: &str, version: &str, plural: &str, kind: &str) -> Kind {
        let verbs = ["list", "watch"].map(str::to_owned).to_vec();
        let (group, version, plural) = (group.to_owned(), version.to_owned(), plural.to_owned());
        let singular = kind.to_lowercase();
        Kind { group, version, plural, singular, kind: kind.to_owned(), verbs, ..Kind::default() }
    }

    fn catalog() -> Catalog {
        let pods = Kind {
            short_names: vec!["po".into()],
            categories: vec!["all".into()],
            ..kind("", "v1", "pods", "Pod")
        };
        let deployments =
            Kind { categories: vec!["all".into()], ..kind("apps", "v1", "deployments", "Deployment") };
        let reviews = Kind { verbs: vec!["create".into()], ..kind("", "v1", "bindings", "Binding") };
        Catalog::of(vec![
            pods,
            kind("", "v1", "events", "Event"),
            reviews,
            deployments,
            kind("apps", "v1beta1", "deployments", "Deployment"),
            kind("events.k8s.io", "v1", "events", "Event"),
        ])
    }

    fn found(words: &str) -> String {
        let words: Vec<_> = words.split(' ').map(str::to_owned).collect();
        let show = |kind: &Kind| format!("{}/{}", kind.resource(), kind.version);
        match catalog().resolve(&words) {
            Ok(kinds) => kinds.iter().map(show).collect::<Vec<_>>().join(" "),
            Err(failure) => failure.to_string(),
        }
    }

    #[test]
    fn a_kind_has_many_names() {
        for word in ["pods", "pod", "po", "Pod", "POD", "pods.v1", "pods.v1."] {
            assert_eq!(found(word), "pods/v1", "{word}");
        }
        for word in ["deployments", "deployments.apps", "deployments.v1.apps", "Deployment.apps"] {
            assert_eq!(found(word), "deployments.apps/v1", "{word}");
        }
        assert_eq!(found("deployments.v1beta1.apps"), "deployments.apps/v1beta1");
    }

    #[test]
    fn the_first_group_has_precedence_unless_another_is_named() {
        assert_eq!(found("events"), "events/v1");
        assert_eq!(found("events.events.k8s.io"), "events.events.k8s.io/v1");
        assert_eq!(found("events.v1.events.k8s.io"), "events.events.k8s.io/v1");
    }

    #[test]
    fn each_kind_comes_once() {
        assert_eq!(found("po pods events"), "pods/v1 events/v1");
    }

    #[test]
    fn a_category_resolves_to_its_kinds() {
        assert_eq!(found("all"), "pods/v1 deployments.apps/v1");
        let words = ["all", "Po"].map(str::to_owned);
        let catalog = catalog();
        let named =
            catalog.resolve(&words).unwrap().into_iter().filter(|kind| catalog.is_named(kind, &words));
        assert_eq!(named.map(|kind| kind.plural).collect::<Vec<_>>(), ["pods"]);
    }

    #[test]
    fn a_wrong_word_leads_to_the_right_one() {
        assert_eq!(found("pdos"), "the server has no resource \"pdos\"\n  did you mean pods?");
        assert_eq!(
            found("deploymnets.apps"),
            "the server has no resource \"deploymnets.apps\"\n  did you mean deployments.apps?"
        );
        assert!(found("zebra").contains("kubectl api-resources lists what there is"));
    }

    #[test]
    fn a_kind_that_cannot_be_watched_is_an_error() {
        assert!(found("bindings").starts_with("bindings cannot be watched: the server supports "));
    }
}
