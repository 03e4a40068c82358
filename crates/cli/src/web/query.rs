//! Parses the query strings of requests.

use super::{
    address::TextMap,
    change::{Change, ObjectId, Verb},
    fact::Fact,
    log::ChangeLog,
    source::{ChangeSource, KindInfo, NOW},
};
use kube_informer_wire::Key;
use std::{borrow::Cow, ops};

/// The maximum length of a query string, in bytes.
pub(super) const MAX_QUERY: usize = 8 << 10;

/// The parameters of a request.
#[derive(Debug)]
pub(super) struct Query<'q>(Vec<(Cow<'q, str>, Cow<'q, str>)>);

/// An invalid parameter.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct QueryError(pub(super) String);

/// A filter for changes.
#[derive(Debug, Default)]
pub(super) struct Filter {
    /// The positions of kinds; empty for all.
    kinds: Vec<usize>,
    namespaces: Vec<String>,
    /// A part of the key, in lower case.
    text: String,
    manager: Option<String>,
    owner: Option<String>,
    field: Option<String>,
    verbs: Vec<Verb>,
}

/// A range of time: after `from`, up to and including `to`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Range {
    pub(super) from: i64,
    pub(super) to: i64,
}

impl<'q> Query<'q> {
    pub(super) fn parse(text: &'q str) -> Self {
        Self(form_urlencoded::parse(text.as_bytes()).collect())
    }

    /// Returns a parameter; `None` if it is absent or empty.
    pub(super) fn get(&self, name: &str) -> Option<&str> {
        self.all(name).next()
    }

    fn all(&self, name: &str) -> impl Iterator<Item = &str> {
        let found = self.0.iter().filter(move |(known, value)| known == name && !value.is_empty());
        found.map(|(_, value)| &**value)
    }

    /// Returns a number, at most `limit`.
    pub(super) fn number(&self, name: &str, default: usize, limit: usize) -> Result<usize, QueryError> {
        let Some(text) = self.get(name) else { return Ok(default.min(limit)) };
        let number: usize = text.parse().map_err(|_| invalid(name, text, "expected a number"))?;
        Ok(number.clamp(1, limit))
    }

    /// Returns a time in microseconds since 1970; `None` if it is absent or `now`.
    pub(super) fn time(&self, name: &str) -> Result<Option<i64>, QueryError> {
        match self.get(name) {
            None | Some("now") => Ok(None),
            Some(text) => {
                let time = text.parse::<i64>().ok().filter(|time| *time >= 0 && *time < NOW);
                time.map(Some).ok_or_else(|| invalid(name, text, "expected microseconds since 1970"))
            }
        }
    }

    /// Returns the moment `at`; the current state by default.
    pub(super) fn moment(&self) -> Result<i64, QueryError> {
        Ok(self.time("at")?.unwrap_or(NOW))
    }

    /// Returns the range of `from` and `to`; everything by default.
    pub(super) fn range(&self) -> Result<Range, QueryError> {
        let range = Range { from: self.time("from")?.unwrap_or(0), to: self.time("to")?.unwrap_or(NOW) };
        if range.from > range.to {
            return Err(QueryError(format!("invalid range: from {} is after to {}", range.from, range.to)));
        }
        Ok(range)
    }

    /// Returns the object that `kind` and `key` name.
    pub(super) fn object(&self, source: &dyn ChangeSource) -> Result<ObjectId, QueryError> {
        let kind = self.get("kind").ok_or_else(|| QueryError("missing parameter kind".to_owned()))?;
        let key = self.get("key").ok_or_else(|| QueryError("missing parameter key".to_owned()))?;
        let parsed: Key = key.parse().map_err(|_| invalid("key", key, "expected NAMESPACE/NAME or NAME"))?;
        Ok(ObjectId { kind: position(&source.kinds(), kind)?, key: parsed })
    }

    /// Returns the filter for changes.
    pub(super) fn filter(&self, source: &dyn ChangeSource) -> Result<Filter, QueryError> {
        let known = source.kinds();
        let verb = |text: &str| match text {
            "added" => Ok(Verb::Added),
            "updated" => Ok(Verb::Updated),
            "deleted" => Ok(Verb::Deleted),
            other => Err(invalid("verb", other, "expected added, updated or deleted")),
        };
        Ok(Filter {
            kinds: self.all("kind").map(|kind| position(&known, kind)).collect::<Result<_, _>>()?,
            namespaces: self.all("namespace").map(str::to_owned).collect(),
            text: self.get("q").unwrap_or_default().to_lowercase(),
            manager: self.get("manager").map(str::to_owned),
            owner: self.get("owner").map(str::to_owned),
            field: self.get("field").map(str::to_owned),
            verbs: self.all("verb").map(verb).collect::<Result<_, _>>()?,
        })
    }
}

impl Filter {
    /// Returns whether a change is shown.
    pub(super) fn accepts(&self, change: &Change) -> bool {
        self.accepts_object(&change.object)
            && (self.verbs.is_empty() || self.verbs.contains(&change.verb))
            && self.manager.as_deref().is_none_or(|manager| change.manager.as_deref() == Some(manager))
            && self.owner.as_deref().is_none_or(|owner| change.owners().any(|known| **known == *owner))
            && self
                .field
                .as_deref()
                .is_none_or(|field| change.fields.iter().any(|path| path.starts_with(field)))
    }

    /// Returns whether changes of an object are shown.
    pub(super) fn accepts_object(&self, object: &ObjectId) -> bool {
        self.accepts_key(object.kind, &object.key)
    }

    /// Returns whether an object is shown.
    pub(super) fn accepts_key(&self, kind: usize, key: &Key) -> bool {
        (self.kinds.is_empty() || self.kinds.contains(&kind))
            && (self.namespaces.is_empty()
                || self.namespaces.iter().any(|namespace| key.namespace() == Some(namespace)))
            && (self.text.is_empty() || key.as_str().to_lowercase().contains(&self.text))
    }

    /// Returns whether all objects of the accepted kinds are shown.
    pub(super) fn accepts_all_keys(&self) -> bool {
        self.namespaces.is_empty() && self.text.is_empty()
    }

    /// Returns the facts of the changes with these numbers that are shown, each with its number.
    ///
    /// An object, a manager and a list of fields are compared with the filter once, and not for each change.
    pub(super) fn facts<'l>(
        &'l self,
        log: &'l ChangeLog,
        numbers: ops::Range<u64>,
    ) -> impl Iterator<Item = (u64, &'l Fact)> {
        let selects_objects = !self.kinds.is_empty() || !self.accepts_all_keys();
        let mut objects: Vec<Option<bool>> = vec![None; if selects_objects { log.slots() } else { 0 }];
        let (mut managers, mut lists) =
            (TextMap::<usize, bool>::default(), TextMap::<usize, bool>::default());
        let first = numbers.start;
        (first..).zip(log.facts(numbers)).filter(move |(number, fact)| {
            let change = || &log[*number];
            let mut is_of_object = || {
                let known = objects.get_mut(fact.slot as usize);
                known.is_none_or(|known| *known.get_or_insert_with(|| self.accepts_object(&change().object)))
            };
            let mut is_by_manager = || match &self.manager {
                Some(name) => {
                    *managers.entry(fact.manager).or_insert_with(|| change().manager.as_deref() == Some(name))
                }
                None => true,
            };
            let mut is_of_field = || match &self.field {
                Some(field) => *lists
                    .entry(fact.fields)
                    .or_insert_with(|| change().fields.iter().any(|path| path.starts_with(field))),
                None => true,
            };
            let is_of_owner = || match &self.owner {
                Some(owner) => change().owners().any(|known| **known == **owner),
                None => true,
            };
            (self.verbs.is_empty() || self.verbs.contains(&fact.verb))
                && is_of_object()
                && is_by_manager()
                && is_of_field()
                && is_of_owner()
        })
    }

    /// Returns whether a kind is shown.
    pub(super) fn accepts_kind(&self, kind: usize) -> bool {
        self.kinds.is_empty() || self.kinds.contains(&kind)
    }
}

fn position(kinds: &[KindInfo], name: &str) -> Result<usize, QueryError> {
    let is = |kind: &KindInfo| kind.resource == name || kind.kind.eq_ignore_ascii_case(name);
    kinds.iter().position(is).ok_or_else(|| invalid("kind", name, "no such kind is watched or recorded"))
}

fn invalid(name: &str, value: &str, expected: &str) -> QueryError {
    let value: String = value.chars().take(100).collect();
    QueryError(format!("invalid {name} {value:?}: {expected}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::web::log::tests::change;
    use proptest::prelude::*;

    #[test]
    fn invalid_values_are_named() {
        let error = |text: &str| Query::parse(text).range().unwrap_err().0;
        assert_eq!(error("from=soon"), "invalid from \"soon\": expected microseconds since 1970");
        assert_eq!(error("from=-1"), "invalid from \"-1\": expected microseconds since 1970");
        assert_eq!(error("from=5&to=4"), "invalid range: from 5 is after to 4");
        assert_eq!(Query::parse("from=3&to=now").range().unwrap(), Range { from: 3, to: NOW });
        assert_eq!(Query::parse("limit=99999").number("limit", 5, 10).unwrap(), 10);
        assert_eq!(Query::parse("limit=0").number("limit", 5, 10).unwrap(), 1);
        assert!(Query::parse("limit=-1").number("limit", 5, 10).is_err());
    }

    #[test]
    fn facts_are_those_of_the_changes_that_a_filter_accepts() {
        let mut log = ChangeLog::new(1 << 20, 0);
        for time in 1..60_i64 {
            let shared = |log: &mut ChangeLog, name: &str| Some(log.share(&format!("{name}-{}", time % 3)));
            let (manager, owner) = (shared(&mut log, "manager"), shared(&mut log, "owner"));
            let fields = log.share_list([format!("spec.{}", time % 5).as_str(), "status"].into_iter());
            let verb = [Verb::Added, Verb::Updated, Verb::Deleted][time as usize % 3];
            let key = format!("namespace-{}/object-{}", time % 2, time % 7);
            let new = change(&key, time);
            let object = ObjectId { kind: time as usize % 2, ..new.object };
            log.push(Change {
                object,
                manager: manager.filter(|_| time % 4 > 0),
                owner,
                fields,
                verb,
                ..new
            });
        }
        let none = Filter::default;
        let filters = [
            none(),
            Filter { kinds: vec![1], ..none() },
            Filter { namespaces: vec!["namespace-1".into()], ..none() },
            Filter { text: "object-3".into(), ..none() },
            Filter { manager: Some("manager-2".into()), ..none() },
            Filter { owner: Some("owner-1".into()), ..none() },
            Filter { field: Some("spec.4".into()), ..none() },
            Filter { verbs: vec![Verb::Deleted], kinds: vec![0], text: "object".into(), ..none() },
        ];
        for filter in filters {
            for range in [Range { from: 0, to: 100 }, Range { from: 20, to: 41 }] {
                let changes = log.between(range.from, range.to).filter(|change| filter.accepts(change));
                let expected: Vec<_> = changes.map(|change| (change.number, change.time)).collect();
                let found: Vec<_> = filter
                    .facts(&log, log.numbers(range.from, range.to))
                    .map(|(number, fact)| (number, fact.time))
                    .collect();
                assert!(!found.is_empty() && found == expected, "{filter:?} {range:?}");
            }
        }
    }

    proptest! {
        /// No query string panics, and no error repeats more of it than needed.
        #[test]
        fn any_query_string_is_parsed_or_refused(text in ".{0,300}", name in "(from|to|at|limit)") {
            let text = format!("{name}={text}&{text}");
            let query = Query::parse(&text);
            let results = [query.range().map(drop), query.moment().map(drop), query.number("limit", 1, 9).map(drop)];
            for error in results.into_iter().filter_map(Result::err) {
                prop_assert!(error.0.chars().count() < 1_200);
            }
        }
    }
}
