//! From here to `kube::runtime`, for those who move over piece by piece.

use crate::{controller::Event, subscription::Subscription};
use futures_core::Stream;
use futures_util::{FutureExt, future::BoxFuture, stream};
use kube_runtime::watcher;
use std::{collections::VecDeque, sync::Arc};

/// What `kube::runtime::watcher` would give, of an informer that is there already.
///
/// What is there comes between `Init` and `InitDone`, what happens comes after. It never fails: the informer copes. Each
/// object is cloned, as kube's events own theirs. With kube's `reflector` behind it, this drives a
/// `kube::runtime::Controller`, as the example `from_kube_rs` shows.
pub fn watcher_events<K: Clone + Send + Sync + 'static>(
    subscription: Subscription<K>,
) -> impl Stream<Item = Result<watcher::Event<K>, watcher::Error>> + Send {
    let synced = subscription.registration().settled().boxed();
    let state = Bridge { subscription, synced: Some(synced), ready: VecDeque::from([watcher::Event::Init]) };
    stream::unfold(state, |mut state| async move { state.next().await.map(|event| (Ok(event), state)) })
}

struct Bridge<K> {
    subscription: Subscription<K>,
    /// Until `InitDone` has been said.
    synced: Option<BoxFuture<'static, bool>>,
    ready: VecDeque<watcher::Event<K>>,
}

impl<K: Clone> Bridge<K> {
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
                    _ = synced => {
                        self.initial_state_ends();
                        continue;
                    }
                },
            };
            self.tell(event);
        }
    }

    fn tell(&mut self, event: Event<K>) {
        match event {
            Event::Added { object, initial: true } if self.synced.is_some() => {
                self.ready.push_back(watcher::Event::InitApply(Arc::unwrap_or_clone(object.into())));
            }
            Event::Added { object: new, .. } | Event::Updated { new, .. } => {
                self.initial_state_ends();
                self.ready.push_back(watcher::Event::Apply(Arc::unwrap_or_clone(new.into())));
            }
            Event::Deleted { last_known, .. } => {
                self.initial_state_ends();
                self.ready.push_back(watcher::Event::Delete(Arc::unwrap_or_clone(last_known.into())));
            }
        }
    }

    /// A change ends the initial state too: kube's reflector would lose one that came within.
    fn initial_state_ends(&mut self) {
        if self.synced.take().is_some() {
            self.ready.push_back(watcher::Event::InitDone);
        }
    }
}
