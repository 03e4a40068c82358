//! A source of decoded objects, for a controller or a reflector without a server.

use futures_util::{Stream, StreamExt, stream};
use k8s_openapi::api::core::v1::Pod;
use kube::runtime::watcher::{self, Event};
use kube_informer_bench_client::recorder::SENT;

/// The number of objects.
pub(crate) const OBJECTS: u64 = 10_000;

pub(crate) fn pod(number: u64, version: u64) -> Pod {
    let mut pod = Pod::default();
    pod.metadata.namespace = Some(format!("ns-{}", number % 40));
    pod.metadata.name = Some(format!("pod-{number}"));
    pod.metadata.resource_version = Some(version.to_string());
    pod
}

/// Returns the stream of a watcher without a server: a list, then changes.
pub(crate) fn events(
    changes: impl Stream<Item = Pod>,
) -> impl Stream<Item = Result<Event<Pod>, watcher::Error>> {
    let list = (0..OBJECTS).map(|number| Event::InitApply(pod(number, 1)));
    let list = stream::iter([Event::Init].into_iter().chain(list).chain([Event::InitDone]));
    list.chain(changes.map(Event::Apply)).map(Ok)
}

/// Returns the changed pod of this turn, with the time of sending.
pub(crate) fn stamped(turn: u64, sent: u64) -> Pod {
    let mut pod = pod(turn % OBJECTS, turn + 2);
    pod.metadata.annotations = Some([(SENT.to_owned(), sent.to_string())].into());
    pod
}
