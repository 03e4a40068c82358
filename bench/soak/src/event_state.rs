//! The objects that a handler knows from its events alone.

use k8s_openapi::{api::core::v1::ConfigMap, apimachinery::pkg::apis::meta::v1::ObjectMeta};
use kube_informer::Event;
use kube_informer_bench_client::fingerprint::{Fingerprint, fnv};
use serde_json::{Value, json};
use std::collections::HashMap;

/// The data key with the time of the write, in nanoseconds since 1970.
pub(crate) const SENT: &str = "sent";

/// The objects of one namespace by name, as their events describe them.
#[derive(Debug, Default)]
pub(crate) struct EventState {
    objects: HashMap<Box<str>, State>,
    stale_events: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct State {
    uid: u64,
    version: u64,
}

impl EventState {
    /// Applies an event. Returns the time of the write if the state is new.
    pub(crate) fn apply(&mut self, event: &Event<ConfigMap>) -> Option<u64> {
        let object = event.object().get();
        let name = object.metadata.name.as_deref().unwrap_or_default();
        let is_deleted = matches!(event, Event::Deleted { .. });
        let state = (!is_deleted).then(|| State::of(&object.metadata));
        let is_new = self.set(name, state);
        let sent = || object.data.as_ref()?.get(SENT)?.parse().ok();
        is_new.then(sent).flatten()
    }

    /// Stores the state of an object, `None` if it was deleted. Returns true if there is a state and it is new.
    fn set(&mut self, name: &str, state: Option<State>) -> bool {
        let Some(state) = state else {
            self.stale_events += u64::from(self.objects.remove(name).is_none());
            return false;
        };
        match self.objects.get_mut(name) {
            Some(known) => {
                let before = std::mem::replace(known, state);
                self.stale_events += u64::from(state.version < before.version);
                before != state
            }
            None => self.objects.insert(name.into(), state).is_none(),
        }
    }

    pub(crate) fn summary(&self) -> Value {
        let mut summary = Summary::default();
        self.objects.iter().for_each(|(name, state)| summary.add_state(name, *state));
        summary.report()
    }

    /// Returns the number of events with an older version than the known one, or for the deletion of an unknown object.
    pub(crate) fn stale_events(&self) -> u64 {
        self.stale_events
    }
}

impl State {
    fn of(metadata: &ObjectMeta) -> Self {
        let uid = metadata.uid.as_deref().unwrap_or_default();
        let version = metadata.resource_version.as_deref().unwrap_or_default();
        Self { uid: fnv(&[uid]), version: version.parse().unwrap_or(0) }
    }
}

/// The number of objects, and the hash of their names, uids and versions in any order.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Summary(Fingerprint);

impl Summary {
    pub(crate) fn add(&mut self, metadata: &ObjectMeta) {
        self.add_state(metadata.name.as_deref().unwrap_or_default(), State::of(metadata));
    }

    fn add_state(&mut self, name: &str, State { uid, version }: State) {
        self.0.add_parts(&[name, &uid.to_string(), &version.to_string()], &[]);
    }

    pub(crate) fn report(&self) -> Value {
        json!({ "count": self.0.count, "identity": format!("{:016x}", self.0.identity) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use kube_informer::event::Deletion;
    use std::sync::Arc;

    fn config_map(name: &str, version: &str) -> Arc<ConfigMap> {
        let mut map = ConfigMap::default();
        map.metadata.name = Some(name.to_owned());
        map.metadata.uid = Some(format!("uid of {name}"));
        map.metadata.resource_version = Some(version.to_owned());
        map.data = Some([(SENT.to_owned(), "7".to_owned())].into());
        Arc::new(map)
    }

    fn added(name: &str, version: &str) -> Event<ConfigMap> {
        Event::create(config_map(name, version)).unwrap()
    }

    #[test]
    fn events_add_up_to_the_existing_objects() {
        let mut state = EventState::default();
        let deleted = Event::delete(config_map("b", "9"), Deletion::Observed).unwrap();
        for event in [&added("a", "3"), &added("b", "4"), &deleted] {
            state.apply(event);
        }
        let mut summary = Summary::default();
        summary.add(&config_map("a", "3").metadata);
        assert_eq!(state.summary(), summary.report());
        assert_eq!(state.stale_events(), 0);
    }

    #[test]
    fn only_new_states_have_a_time() {
        let mut state = EventState::default();
        assert_eq!(state.apply(&added("a", "3")), Some(7));
        assert_eq!(state.apply(&Event::resync(config_map("a", "3")).unwrap()), None);
        assert_eq!(state.apply(&Event::resync(config_map("a", "4")).unwrap()), Some(7));
    }

    #[test]
    fn older_versions_are_counted() {
        let mut state = EventState::default();
        state.apply(&added("a", "3"));
        state.apply(&Event::resync(config_map("a", "2")).unwrap());
        assert_eq!(state.stale_events(), 1);
    }
}
