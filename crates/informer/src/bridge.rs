//! Converts the events of an informer for `kube::runtime`, to migrate step by step.

#![cfg_attr(docsrs, doc(cfg(feature = "kube-runtime")))]

use crate::{event::Event, subscription::Subscription};
use futures_core::Stream;
use futures_util::{FutureExt, future::BoxFuture, stream};
use kube_core::Resource;
use kube_informer_wire::{Key, KeyMap};
use kube_runtime::watcher;
use std::{collections::VecDeque, sync::Arc};

/// Converts the events of a subscription to those of `kube::runtime::watcher`.
///
/// The initial list is sent between `Init` and `InitDone`, and changes after that. There are no errors, because the informer
/// handles them. Each object is cloned, since kube's events own their objects. The stream can be the input of kube's
/// `reflector` and of a `kube::runtime::Controller`; see the example `from_kube_rs`.
///
/// ```
/// use futures_util::StreamExt;
/// use k8s_openapi::api::core::v1::ConfigMap;
/// use kube::runtime::watcher::Event;
/// use kube_devserver::DevServer;
/// use kube_informer::{Informer, bridge::watcher_events};
///
/// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let server = DevServer::start();
/// let maps = Informer::<ConfigMap>::builder(server.client()).start()?;
/// let mut events = std::pin::pin!(watcher_events(maps.subscribe()));
/// assert!(matches!(events.next().await, Some(Ok(Event::Init))));
/// # Ok(()) }
/// ```
pub fn watcher_events<K: Resource + Clone + Send + Sync + 'static>(
    subscription: Subscription<K>,
) -> impl Stream<Item = Result<watcher::Event<K>, watcher::Error>> + Send {
    let synced = subscription.registration().clone().wait_for_sync().boxed();
    let ready = VecDeque::from([watcher::Event::Init]);
    let state = Bridge { subscription, synced: Some(synced), ready, deleted: KeyMap::default() };
    stream::unfold(state, |mut state| async move { state.next().await.map(|event| (Ok(event), state)) })
}

struct Bridge<K> {
    subscription: Subscription<K>,
    /// Set until `InitDone`.
    synced: Option<BoxFuture<'static, bool>>,
    ready: VecDeque<watcher::Event<K>>,
    /// Objects that were deleted before `InitDone`, which are sent after it because kube has no such event before it.
    deleted: KeyMap<K>,
}

impl<K: Resource + Clone> Bridge<K> {
    async fn next(&mut self) -> Option<watcher::Event<K>> {
        loop {
            if let Some(event) = self.ready.pop_front() {
                return Some(event);
            }
            let event = match &mut self.synced {
                None => self.subscription.next().await?,
                Some(synced) => tokio::select! {
                    biased;
                    event = self.subscription.next() => event?,
                    is_synced = synced => {
                        self.synced = None;
                        if is_synced {
                            self.initial_list_complete();
                        }
                        continue;
                    }
                },
            };
            self.convert(event);
        }
    }

    fn convert(&mut self, event: Event<K>) {
        let is_initial = self.synced.is_some();
        match event {
            Event::Added { key, object: new, .. } | Event::Updated { key, new, .. } if is_initial => {
                self.deleted.remove(&key);
                self.ready.push_back(watcher::Event::InitApply(Arc::unwrap_or_clone(new.into())));
            }
            Event::Deleted { key, last_known, .. } | Event::Released { key, last_known } if is_initial => {
                self.delete_later(key, last_known.arc());
            }
            Event::Added { object: new, .. } | Event::Updated { new, .. } => {
                self.ready.push_back(watcher::Event::Apply(Arc::unwrap_or_clone(new.into())));
            }
            Event::Deleted { last_known, .. } | Event::Released { last_known, .. } => {
                self.ready.push_back(watcher::Event::Delete(Arc::unwrap_or_clone(last_known.into())));
            }
        }
    }

    fn delete_later(&mut self, key: Key, object: Arc<K>) {
        self.deleted.insert(key, Arc::unwrap_or_clone(object));
    }

    fn initial_list_complete(&mut self) {
        self.ready.push_back(watcher::Event::InitDone);
        self.ready.extend(self.deleted.drain().map(|(_, object)| watcher::Event::Delete(object)));
    }
}
