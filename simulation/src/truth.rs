//! All that was ever written: what a cache is held against.

use std::collections::BTreeMap;

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

    /// What there is of all that passes.
    pub(crate) fn versions(&self, passes: impl Fn(&str, &State) -> bool) -> Versions {
        let passing = self.now.iter().filter(|(key, state)| passes(key, state));
        passing.map(|(key, state)| (key.clone(), state.version)).collect()
    }
}

impl Scope {
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
