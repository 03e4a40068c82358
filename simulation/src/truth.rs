//! All that was ever written: what a cache is held against.

use std::{collections::BTreeMap, ops::RangeInclusive};

/// A state of an object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct State {
    pub(crate) version: u64,
    pub(crate) uid: String,
    pub(crate) value: String,
    pub(crate) is_front: bool,
}

/// A write: to which key, and what it left there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Write {
    pub(crate) version: u64,
    pub(crate) key: String,
    pub(crate) state: Option<State>,
}

/// What was written, in order, and what is there now.
#[derive(Debug, Default)]
pub(crate) struct Truth {
    pub(crate) writes: Vec<Write>,
    now: BTreeMap<String, State>,
    ever: BTreeMap<(String, u64), State>,
}

/// What an informer asks for.
#[derive(Clone, Debug)]
pub(crate) struct Scope {
    /// All where there is nothing.
    pub(crate) namespaces: Option<Vec<&'static str>>,
    pub(crate) only_front: bool,
}

/// Keys, and the versions of what is there.
pub(crate) type Versions = BTreeMap<String, u64>;

impl Truth {
    pub(crate) fn put(&mut self, key: &str, state: &State) {
        self.now.insert(key.to_owned(), state.clone());
        self.ever.insert((key.to_owned(), state.version), state.clone());
        self.writes.push(Write { version: state.version, key: key.to_owned(), state: Some(state.clone()) });
    }

    pub(crate) fn delete(&mut self, key: &str, version: u64) {
        self.now.remove(key);
        self.writes.push(Write { version, key: key.to_owned(), state: None });
    }

    pub(crate) fn is_there(&self, key: &str) -> bool {
        self.now.contains_key(key)
    }

    /// The state that an object had under this version.
    pub(crate) fn was(&self, key: &str, version: u64) -> Option<&State> {
        self.ever.get(&(key.to_owned(), version))
    }

    /// Whether this was all that passes, under some version of these.
    pub(crate) fn held(
        &self,
        found: &Versions,
        versions: RangeInclusive<u64>,
        passes: impl Fn(&str, &State) -> bool,
    ) -> bool {
        let (mut now, mut since) = (BTreeMap::new(), 0);
        // A state lasts until the version before that of the next write.
        for write in &self.writes {
            let is_asked_for = *versions.start() < write.version && since <= *versions.end();
            if is_asked_for && now == *found {
                return true;
            }
            since = write.version;
            match write.state.as_ref().filter(|state| passes(&write.key, state)) {
                Some(state) => drop(now.insert(write.key.clone(), state.version)),
                None => drop(now.remove(&write.key)),
            }
        }
        since <= *versions.end() && now == *found
    }

    /// What there is of all that passes.
    pub(crate) fn versions(&self, passes: impl Fn(&str, &State) -> bool) -> Versions {
        let passing = self.now.iter().filter(|(key, state)| passes(key, state));
        passing.map(|(key, state)| (key.clone(), state.version)).collect()
    }
}

impl Scope {
    /// What is asked for by itself: namespaces, or all at once.
    pub(crate) fn sources(&self) -> Vec<Option<&'static str>> {
        match &self.namespaces {
            Some(namespaces) => namespaces.iter().copied().map(Some).collect(),
            None => vec![None],
        }
    }

    pub(crate) fn has(&self, key: &str) -> bool {
        let namespace = namespace(key);
        self.namespaces.as_ref().is_none_or(|namespaces| namespaces.contains(&namespace))
    }

    pub(crate) fn passes(&self, key: &str, state: &State) -> bool {
        self.has(key) && (state.is_front || !self.only_front)
    }
}

/// The namespace in a key.
pub(crate) fn namespace(key: &str) -> &str {
    key.split('/').next().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_state_held_from_its_write_to_the_next() {
        let mut truth = Truth::default();
        let state = |version| State { version, uid: String::new(), value: String::new(), is_front: true };
        truth.put("a/x", &state(3));
        truth.put("b/y", &state(5));
        truth.delete("a/x", 9);
        let held = |found: &[(&str, u64)], versions| {
            let found = found.iter().map(|(key, version)| ((*key).to_owned(), *version)).collect();
            truth.held(&found, versions, |_, _| true)
        };
        assert!(held(&[], 0..=2) && !held(&[], 3..=u64::MAX));
        assert!(held(&[("a/x", 3)], 4..=4) && !held(&[("a/x", 3)], 5..=5));
        assert!(held(&[("a/x", 3), ("b/y", 5)], 8..=8) && !held(&[("a/x", 3), ("b/y", 5)], 9..=9));
        assert!(held(&[("b/y", 5)], 12..=12) && !held(&[("b/y", 5)], 5..=8));
        assert!(!held(&[("b/y", 4)], 0..=u64::MAX));
    }
}
