//! Following an informer with a callback.

use super::follower::Follower;
use crate::controller::Event;
use futures_util::FutureExt;
use std::{fmt, panic::AssertUnwindSafe, time::Duration};

/// Hears events, one after the other and in order.
///
/// A closure `FnMut(&Event<K>)` is one, and [`Async`] makes one of a function that returns a future.
pub trait EventHandler<K>: Send + 'static {
    /// Takes an event. The next one comes when this is done.
    ///
    /// Doing nothing for long without awaiting holds up a thread of the runtime, as anywhere.
    fn handle(&mut self, event: &Event<K>) -> impl Future<Output = ()> + Send;
}

impl<K: Send + Sync, F: FnMut(&Event<K>) + Send + 'static> EventHandler<K> for F {
    async fn handle(&mut self, event: &Event<K>) {
        self(event);
    }
}

/// Makes a handler of a function that returns a future: `Async(|event| async move { .. })`.
pub struct Async<F>(pub F);

impl<K, F, T> EventHandler<K> for Async<F>
where
    K: Send + Sync,
    F: FnMut(Event<K>) -> T + Send + 'static,
    T: Future<Output = ()> + Send,
{
    async fn handle(&mut self, event: &Event<K>) {
        (self.0)(event.clone()).await;
    }
}

impl<F> fmt::Debug for Async<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Async")
    }
}

/// How long a handler that panicked is left in peace: it may panic at every event.
const PAUSE: Duration = Duration::from_secs(1);

/// Tells a handler everything until it is removed or the informer is stopped.
pub(super) async fn drive<K: Send + Sync + 'static>(
    mut follower: Follower<K>,
    mut handler: impl EventHandler<K>,
) {
    while let Some(chunk) = follower.next().await {
        for (number, event) in chunk.events().iter().enumerate() {
            follower.seat.holds(chunk.events().len() - number - 1);
            if follower.seat.has_left() {
                return;
            }
            let tell = async {
                if let Some(event) = follower.seat.filter.view(event) {
                    handler.handle(&event).await;
                }
            };
            if AssertUnwindSafe(tell).catch_unwind().await.is_err() {
                follower.seat.panicked();
                tracing::error!(
                    handler = follower.seat.name,
                    "handler panicked; it goes on with the next event"
                );
                follower.seat.pause(PAUSE).await;
            }
        }
        follower.handled(&chunk);
        // A backlog must not keep the thread from others.
        tokio::task::yield_now().await;
    }
}
