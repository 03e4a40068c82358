//! What somebody knows who believes every event, and nothing else.

use k8s_openapi::api::core::v1::ConfigMap;
use kube_informer::Event;
use kube_informer_bench_client::hash::{Hash, fnv};
use serde_json::{Value, json};
use std::collections::HashMap;

/// Where the writer says when it wrote, in nanoseconds since 1970.
pub(crate) const SENT: &str = "sent";

/// Each object of one namespace by its name, as its events tell it.
#[derive(Debug, Default)]
pub(crate) struct Fold {
    known: HashMap<Box<str>, State>,
    went_back: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct State {
    uid: u64,
    version: u64,
}

impl Fold {
    /// Takes an event; says when a state that was unknown so far was written.
    pub(crate) fn told(&mut self, event: &Event<ConfigMap>) -> Option<u64> {
        let object = event.object().get();
        let name = object.metadata.name.as_deref().unwrap_or_default();
        let is_gone = matches!(event, Event::Deleted { .. });
        let state = (!is_gone).then(|| State::of(object));
        self.set(name, state).then(|| sent(object)).flatten()
    }

    /// Remembers the state of an object; says whether there is one, and it is new.
    fn set(&mut self, name: &str, state: Option<State>) -> bool {
        let Some(state) = state else {
            self.went_back += u64::from(self.known.remove(name).is_none());
            return false;
        };
        match self.known.get_mut(name) {
            Some(known) => {
                let before = std::mem::replace(known, state);
                self.went_back += u64::from(state.version < before.version);
                before != state
            }
            None => self.known.insert(name.into(), state).is_none(),
        }
    }

    /// What it amounts to.
    pub(crate) fn sum(&self) -> Value {
        let mut sum = Sum::default();
        self.known.iter().for_each(|(name, state)| sum.add(name, *state));
        sum.report()
    }

    /// How often an event told of something older than what was known, or of the end of something unknown.
    pub(crate) fn went_back(&self) -> u64 {
        self.went_back
    }
}

impl State {
    fn of(object: &ConfigMap) -> Self {
        let meta = &object.metadata;
        Self::new(
            meta.uid.as_deref().unwrap_or_default(),
            meta.resource_version.as_deref().unwrap_or_default(),
        )
    }

    fn new(uid: &str, version: &str) -> Self {
        Self { uid: fnv(&[uid]), version: version.parse().unwrap_or(0) }
    }
}

/// How many objects there are, and the hash of their names, uids and versions in any order.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Sum(Hash);

impl Sum {
    /// Adds an object with this name, uid and version.
    pub(crate) fn add_object(&mut self, name: &str, uid: &str, version: &str) {
        self.add(name, State::new(uid, version));
    }

    fn add(&mut self, name: &str, State { uid, version }: State) {
        self.0.add_parts(&[name, &uid.to_string(), &version.to_string()], &[]);
    }

    pub(crate) fn report(&self) -> Value {
        json!({ "count": self.0.count, "identity": format!("{:016x}", self.0.identity) })
    }
}

fn sent(object: &ConfigMap) -> Option<u64> {
    object.data.as_ref()?.get(SENT)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use kube_informer::event::Deletion;
    use std::sync::Arc;

    fn map(name: &str, version: &str) -> Arc<ConfigMap> {
        let mut map = ConfigMap::default();
        map.metadata.name = Some(name.to_owned());
        map.metadata.uid = Some(format!("uid of {name}"));
        map.metadata.resource_version = Some(version.to_owned());
        map.data = Some([(SENT.to_owned(), "7".to_owned())].into());
        Arc::new(map)
    }

    fn added(name: &str, version: &str) -> Event<ConfigMap> {
        Event::create(map(name, version)).unwrap()
    }

    #[test]
    fn what_is_told_adds_up_to_what_there_is() {
        let mut fold = Fold::default();
        let gone = Event::delete(map("b", "9"), Deletion::Observed).unwrap();
        for event in [&added("a", "3"), &added("b", "4"), &gone] {
            fold.told(event);
        }
        let mut sum = Sum::default();
        sum.add_object("a", "uid of a", "3");
        assert_eq!(fold.sum(), sum.report());
        assert_eq!(fold.went_back(), 0);
    }

    #[test]
    fn only_what_is_new_has_a_time() {
        let mut fold = Fold::default();
        assert_eq!(fold.told(&added("a", "3")), Some(7));
        assert_eq!(fold.told(&Event::resync(map("a", "3")).unwrap()), None);
        assert_eq!(fold.told(&Event::resync(map("a", "4")).unwrap()), Some(7));
    }

    #[test]
    fn going_back_is_counted() {
        let mut fold = Fold::default();
        fold.told(&added("a", "3"));
        fold.told(&Event::resync(map("a", "2")).unwrap());
        assert_eq!(fold.went_back(), 1);
    }
}
