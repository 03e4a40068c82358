//! Objects and events for tests.

mod figures;

use crate::event::{Deletion, Event, Phase, UpdateCause};
use k8s_openapi::api::core::v1::{Pod, PodSpec};
use kube_informer_wire::{Key, ResourceVersion};
use std::{
    collections::BTreeMap,
    pin::pin,
    task::{Context, Poll, Waker},
};

pub(crate) use figures::Figures;

/// Creates a pod: `pod("web/a").version(3)`.
pub(crate) fn pod(key: &str) -> Pod {
    let key: Key = key.parse().unwrap();
    let mut pod = Pod::default();
    pod.metadata.name = Some(key.name().into());
    pod.metadata.namespace = key.namespace().map(Into::into);
    pod
}

/// Sets the fields of a pod.
pub(crate) trait PodBuilder {
    /// Sets the resource version.
    fn version(self, version: u64) -> Self;
    /// Adds a label.
    fn label(self, name: &str, value: &str) -> Self;
    /// Sets the node.
    fn node(self, node: &str) -> Self;
    /// Sets the uid.
    fn uid(self, uid: &str) -> Self;
}

impl PodBuilder for Pod {
    fn version(mut self, version: u64) -> Self {
        self.metadata.resource_version = Some(version.to_string());
        self
    }

    fn label(mut self, name: &str, value: &str) -> Self {
        self.metadata.labels.get_or_insert_with(BTreeMap::new).insert(name.into(), value.into());
        self
    }

    fn node(mut self, node: &str) -> Self {
        self.spec.get_or_insert_with(PodSpec::default).node_name = Some(node.into());
        self
    }

    fn uid(mut self, uid: &str) -> Self {
        self.metadata.uid = Some(uid.into());
        self
    }
}

/// Returns the version of a pod; zero if it has none.
pub(crate) fn version_of(pod: &Pod) -> u64 {
    pod.metadata.resource_version.as_deref().map_or(0, |version| version.parse().unwrap())
}

/// Formats a pod as `namespace/name@version`.
pub(crate) fn brief(pod: &Pod) -> String {
    format!("{}@{}", Key::of(pod).unwrap(), version_of(pod))
}

/// Formats an event: `+a@1`, `+a@1 initial`, `a@1 -> a@2`, `=a@1` for a resync, `-a@2`, `-a@2 inferred`, `-a@2 released`.
pub(crate) fn describe(event: &Event<Pod>) -> String {
    match event {
        Event::Added { object, phase: Phase::Initial, .. } => format!("+{} initial", brief(object.get())),
        Event::Added { object, phase: Phase::Live, .. } => format!("+{}", brief(object.get())),
        Event::Updated { new, cause: UpdateCause::Resync, .. } => format!("={}", brief(new.get())),
        Event::Updated { old, new, cause: UpdateCause::Changed, .. } => {
            format!("{} -> {}", brief(old.get()), brief(new.get()))
        }
        Event::Deleted { last_known, deletion: Deletion::Observed, .. } => {
            format!("-{}", brief(last_known.get()))
        }
        Event::Deleted { last_known, deletion: Deletion::Inferred, .. } => {
            format!("-{} inferred", brief(last_known.get()))
        }
        Event::Released { last_known, .. } => format!("-{} released", brief(last_known.get())),
    }
}

/// Creates a resource version.
pub(crate) fn rv(number: u64) -> ResourceVersion {
    ResourceVersion::number(number)
}

/// Polls a future that must be ready.
pub(crate) fn now<T>(future: impl Future<Output = T>) -> T {
    match poll_once(future) {
        Poll::Ready(value) => value,
        Poll::Pending => panic!("the future is not ready"),
    }
}

/// Polls a future once.
pub(crate) fn poll_once<T>(future: impl Future<Output = T>) -> Poll<T> {
    pin!(future).poll(&mut Context::from_waker(Waker::noop()))
}
