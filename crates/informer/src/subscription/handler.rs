//! Following an informer with a callback.

use super::{follower::Follower, seat::Seat};
use crate::{event::Event, parallel::ThreadBudget};
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
    let mut looks = false;
    while let Some(chunk) = follower.next().await {
        let unseen = chunk.events().iter().map(Event::object).find(|object| object.is_closed());
        if looks && unseen.is_some() {
            decode_ahead(chunk.events());
        }
        let mut told = 0;
        while told < chunk.events().len() && !follower.seat.has_left() {
            // Caught around a run of events rather than each: what panicked is passed over, and the run goes on behind it.
            let run = tell(&follower.seat, &mut handler, chunk.events(), &mut told);
            if AssertUnwindSafe(run).catch_unwind().await.is_err() {
                follower.seat.panicked();
                tracing::error!(
                    handler = follower.seat.name,
                    "handler panicked; it goes on with the next event"
                );
                follower.seat.pause(PAUSE).await;
            }
        }
        if follower.seat.has_left() {
            return;
        }
        looks = unseen.map_or(looks, |unseen| !unseen.is_closed());
        follower.handled(&chunk);
        // A backlog must not keep the thread from others.
        tokio::task::yield_now().await;
    }
}

/// Decodes the second half of what a handler is about to look at, while it looks at the first: one that looks at what is kept
/// in the small does little else than to wait for that.
fn decode_ahead<K: Send + Sync + 'static>(events: &[Event<K>]) {
    let half = &events[events.len() / 2..];
    let objects: Vec<_> =
        half.iter().map(Event::object).filter(|object| object.is_closed()).cloned().collect();
    if !objects.is_empty()
        && let Some(helper) = ThreadBudget::process().try_acquire()
    {
        // Nobody waits for it but who wants an object that it is at.
        drop(helper.run(move || objects.iter().for_each(|object| drop(object.arc()))));
    }
}

/// So often is it noted how many events are left.
const NOTE: usize = 32;

/// Tells the events from number `told` on, and counts them there.
async fn tell<K>(seat: &Seat<K>, handler: &mut impl EventHandler<K>, events: &[Event<K>], told: &mut usize) {
    let begin = *told;
    for (number, event) in events.iter().enumerate().skip(begin) {
        if seat.has_left() {
            return;
        }
        *told = number + 1;
        if number % NOTE == 0 || number + 1 == events.len() {
            seat.holds(events.len() - number - 1);
        }
        if seat.filter.is_none() {
            handler.handle(event).await;
        } else if let Some(event) = seat.filter.view(event) {
            handler.handle(&event).await;
        }
    }
}
