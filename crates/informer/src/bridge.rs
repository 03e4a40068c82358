//! From here to `kube::runtime`, for those who move over piece by piece.

use crate::{event::Event, subscription::Subscription};
use futures_core::Stream;
use futures_util::{FutureExt, future::BoxFuture, stream};
use kube_core::Resource;
use kube_informer_wire::KeyMap;
use kube_runtime::watcher;
use std::{collections::VecDeque, sync::Arc};

/// What `kube::runtime::watcher` would give, of an informer that is there already.
///
/// What is there comes between `Init` and `InitDone`, what happens comes after. It never fails: the informer copes. Each
/// object is cloned, as kube's events own theirs. With kube's `reflector` behind it, this drives a
/// `kube::runtime::Controller`, as the example `from_kube_rs` shows.
pub fn watcher_events<K: Resource + Clone + Send + Sync + 'static>(
    subscription: Subscription<K>,
) -> impl Stream<Item = Result<watcher::Event<K>, watcher::Error>> + Send {
    let synced = subscription.registration().clone().wait_for_sync().boxed();
    let ready = VecDeque::from([watcher::Event::Init]);
    let state = Bridge { subscription, synced: Some(synced), ready, gone: KeyMap::default() };
    stream::unfold(state, |mut state| async move { state.next().await.map(|event| (Ok(event), state)) })
}

struct Bridge<K> {
    subscription: Subscription<K>,
    /// Until `InitDone` has been said.
    synced: Option<BoxFuture<'static, bool>>,
    ready: VecDeque<watcher::Event<K>>,
    /// What was told and went before `InitDone`, after which it is said.
    gone: KeyMap<K>,
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
                        self.initial_state_ends(is_synced);
                        continue;
                    }
                },
            };
            self.tell(event);
        }
    }

    fn tell(&mut self, event: Event<K>) {
        let is_initial = self.synced.is_some();
        match event {
            Event::Added { object: new, .. } | Event::Updated { new, .. } if is_initial => {
                if let Ok(key) = new.key() {
                    self.gone.remove(&key);
                }
                self.ready.push_back(watcher::Event::InitApply(Arc::unwrap_or_clone(new.into())));
            }
            // Kube's words have no deletion within the initial state.
            Event::Deleted { last_known, .. } if is_initial => {
                if let Ok(key) = last_known.key() {
                    self.gone.insert(key, Arc::unwrap_or_clone(last_known.into()));
                }
            }
            Event::Added { object: new, .. } | Event::Updated { new, .. } => {
                self.ready.push_back(watcher::Event::Apply(Arc::unwrap_or_clone(new.into())));
            }
            Event::Deleted { last_known, .. } => {
                self.ready.push_back(watcher::Event::Delete(Arc::unwrap_or_clone(last_known.into())));
            }
        }
    }

    /// The initial state is complete, or never will be.
    fn initial_state_ends(&mut self, is_complete: bool) {
        self.synced = None;
        if is_complete {
            self.ready.push_back(watcher::Event::InitDone);
            self.ready.extend(self.gone.drain().map(|(_, object)| watcher::Event::Delete(object)));
        }
    }
}
