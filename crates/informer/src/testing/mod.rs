//! Objects for tests, in two words.

mod figures;

use crate::event::Event;
use k8s_openapi::api::core::v1::{Pod, PodSpec};
use kube_informer_wire::{Key, ResourceVersion};
use std::{
    collections::BTreeMap,
    pin::pin,
    task::{Context, Poll, Waker},
};

pub(crate) use figures::Figures;

/// A pod in the making: `pod("web/a").version(3)`.
pub(crate) fn pod(key: &str) -> Pod {
    let key: Key = key.parse().unwrap();
    let mut pod = Pod::default();
    pod.metadata.name = Some(key.name().into());
    pod.metadata.namespace = key.namespace().map(Into::into);
    pod
}

/// What can be said of a pod in a test.
pub(crate) trait PodBuilder {
    /// Its resource version.
    fn version(self, version: u64) -> Self;
    /// A label.
    fn label(self, name: &str, value: &str) -> Self;
    /// The node it runs on.
    fn node(self, node: &str) -> Self;
    /// Its uid.
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

/// The version of a pod, zero if it has none.
pub(crate) fn version_of(pod: &Pod) -> u64 {
    pod.metadata.resource_version.as_deref().map_or(0, |version| version.parse().unwrap())
}

/// `namespace/name@version`.
pub(crate) fn brief(pod: &Pod) -> String {
    format!("{}@{}", Key::of(pod).unwrap(), version_of(pod))
}

/// `+a@1`, `+a@1 initial`, `a@1 -> a@2`, `=a@1` for a sync, `-a@2`, `-a@2 unseen`.
pub(crate) fn say(event: &Event<Pod>) -> String {
    match event {
        Event::Added { object, initial: true } => format!("+{} initial", brief(object)),
        Event::Added { object, initial: false } => format!("+{}", brief(object)),
        Event::Updated { new, .. } if event.is_sync() => format!("={}", brief(new)),
        Event::Updated { old, new } => format!("{} -> {}", brief(old), brief(new)),
        Event::Deleted { last_known, observed: true, .. } => format!("-{}", brief(last_known)),
        Event::Deleted { last_known, observed: false, .. } => format!("-{} unseen", brief(last_known)),
    }
}

/// A version by its number.
pub(crate) fn rv(number: u64) -> ResourceVersion {
    ResourceVersion::number(number)
}

/// Polls a future that has no reason to wait.
pub(crate) fn now<T>(future: impl Future<Output = T>) -> T {
    match poll_once(future) {
        Poll::Ready(value) => value,
        Poll::Pending => panic!("it waits"),
    }
}

/// Polls a future once.
pub(crate) fn poll_once<T>(future: impl Future<Output = T>) -> Poll<T> {
    pin!(future).poll(&mut Context::from_waker(Waker::noop()))
}
