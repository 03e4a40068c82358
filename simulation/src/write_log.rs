//! All writes to the server, with which caches and events are compared.

use std::{collections::BTreeMap, ops::RangeInclusive};

/// A state of an object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct State {
    pub(crate) version: u64,
    pub(crate) uid: String,
    pub(crate) value: String,
    pub(crate) is_front: bool,
}

/// A write, and the state after it; `None` for a deletion.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Write {
    pub(crate) version: u64,
    pub(crate) key: String,
    pub(crate) state: Option<State>,
}

/// All writes in order, and the current state.
#[derive(Debug, Default)]
pub(crate) struct WriteLog {
    pub(crate) writes: Vec<Write>,
    current: BTreeMap<String, State>,
    all_states: BTreeMap<(String, u64), State>,
}

/// The objects that an informer requests.
#[derive(Clone, Debug)]
pub(crate) struct Scope {
    /// `None` for all namespaces.
    pub(crate) namespaces: Option<Vec<&'static str>>,
    pub(crate) only_front: bool,
}

/// Versions by key.
pub(crate) type Versions = BTreeMap<String, u64>;

impl WriteLog {
    pub(crate) fn written(&mut self, key: &str, state: &State) {
        self.current.insert(key.to_owned(), state.clone());
        self.all_states.insert((key.to_owned(), state.version), state.clone());
        self.writes.push(Write { version: state.version, key: key.to_owned(), state: Some(state.clone()) });
    }

    pub(crate) fn deleted(&mut self, key: &str, version: u64) {
        self.current.remove(key);
        self.writes.push(Write { version, key: key.to_owned(), state: None });
    }

    pub(crate) fn exists(&self, key: &str) -> bool {
        self.current.contains_key(key)
    }

    /// Returns the state of an object at a version.
    pub(crate) fn state_at(&self, key: &str, version: u64) -> Option<&State> {
        self.all_states.get(&(key.to_owned(), version))
    }

    /// Returns whether `found` was the complete state of the matching objects at one of these versions.
    pub(crate) fn was_complete_state(
        &self,
        found: &Versions,
        versions: RangeInclusive<u64>,
        matches: impl Fn(&str, &State) -> bool,
    ) -> bool {
        let (mut now, mut since) = (BTreeMap::new(), 0);
        // A state lasts until the version before that of the next write.
        for write in &self.writes {
            let is_in_range = *versions.start() < write.version && since <= *versions.end();
            if is_in_range && now == *found {
                return true;
            }
            since = write.version;
            match write.state.as_ref().filter(|state| matches(&write.key, state)) {
                Some(state) => drop(now.insert(write.key.clone(), state.version)),
                None => drop(now.remove(&write.key)),
            }
        }
        since <= *versions.end() && now == *found
    }

    /// Returns the versions of the matching objects that exist.
    pub(crate) fn versions(&self, matches: impl Fn(&str, &State) -> bool) -> Versions {
        let matching = self.current.iter().filter(|(key, state)| matches(key, state));
        matching.map(|(key, state)| (key.clone(), state.version)).collect()
    }
}

impl Scope {
    /// Returns the namespaces, each with its own watch; one `None` for a watch of all namespaces.
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

    pub(crate) fn matches(&self, key: &str, state: &State) -> bool {
        self.has(key) && (state.is_front || !self.only_front)
    }
}

/// Returns the namespace of a key.
pub(crate) fn namespace(key: &str) -> &str {
    key.split('/').next().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_state_lasts_from_its_write_to_the_next() {
        let mut write_log = WriteLog::default();
        let state = |version| State { version, uid: String::new(), value: String::new(), is_front: true };
        write_log.written("a/x", &state(3));
        write_log.written("b/y", &state(5));
        write_log.deleted("a/x", 9);
        let existed = |found: &[(&str, u64)], versions| {
            let found = found.iter().map(|(key, version)| ((*key).to_owned(), *version)).collect();
            write_log.was_complete_state(&found, versions, |_, _| true)
        };
        assert!(existed(&[], 0..=2) && !existed(&[], 3..=u64::MAX));
        assert!(existed(&[("a/x", 3)], 4..=4) && !existed(&[("a/x", 3)], 5..=5));
        assert!(existed(&[("a/x", 3), ("b/y", 5)], 8..=8) && !existed(&[("a/x", 3), ("b/y", 5)], 9..=9));
        assert!(existed(&[("b/y", 5)], 12..=12) && !existed(&[("b/y", 5)], 5..=8));
        assert!(!existed(&[("b/y", 4)], 0..=u64::MAX));
    }
}
