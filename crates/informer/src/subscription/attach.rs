//! How followers come to a hub, and what it does for them in the background.

#[cfg(any(test, feature = "testing"))]
use super::event_batch::Tidings;
use super::{
    follower::Follower,
    handler::{EventHandler, drive},
    broadcaster::Hub,
    options::Subscribe,
    registration::Registration,
    subscriber::Ending,
    stream::Subscription,
};
#[cfg(any(test, feature = "testing"))]
use crate::{cache::Tell, event::Event};
use kube_core::Resource;
use std::sync::Arc;
use tokio::{runtime::Handle, time::Instant};
use tokio_util::{sync::CancellationToken, task::TaskTracker};

/// Why a handler was not added.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum AddError {
    /// The informer has been stopped.
    #[error("handler was not added: the informer has stopped already")]
    Stopped,
    /// There is no tokio runtime here in which the handler could run.
    #[error("handler was not added: this is not within a tokio runtime")]
    NoRuntime,
}

impl<K: Send + Sync + 'static> Hub<K> {
    /// Follows as a stream. Once the hub is closed, the stream is at its end.
    pub(crate) fn subscribe(self: &Arc<Self>, options: Subscribe<K>) -> Subscription<K> {
        let seat = self.join(options, Ending::Drains);
        let follower = seat.clone().map(|seat| Follower::new(Arc::clone(self), seat));
        Subscription::new(follower, Registration::new(Arc::clone(self), seat))
    }

    /// Follows with a handler, in a task of its own among `tasks`.
    pub(crate) fn attach<H: EventHandler<K>>(
        self: &Arc<Self>,
        handler: H,
        mut options: Subscribe<K>,
        tasks: &TaskTracker,
    ) -> Result<Registration<K>, AddError> {
        let runtime = Handle::try_current().map_err(|_| AddError::NoRuntime)?;
        options.name.get_or_insert_with(|| std::any::type_name::<H>().to_owned());
        let seat = self.join(options, Ending::Leaves).ok_or(AddError::Stopped)?;
        let follower = Follower::new(Arc::clone(self), Arc::clone(&seat));
        let task = tasks.spawn_on(drive(follower, handler), &runtime);
        // Nobody else sets it.
        let _ = seat.task.set(task.id());
        Ok(Registration::new(Arc::clone(self), Some(seat)))
    }

    /// Tells followers what did not happen. The cache stays as it is.
    #[cfg(any(test, feature = "testing"))]
    pub(crate) fn pretend(&self, events: impl IntoIterator<Item = Event<K>>)
    where
        K: Resource,
    {
        let tell = |told: &mut Tidings<K>| events.into_iter().for_each(|event| told.change(event));
        self.publish(Instant::now(), |_, told| tell(told));
    }

    /// Tells followers everything again when it is their turn, until cancelled.
    pub(crate) async fn keep_resyncing(self: Arc<Self>, cancel: CancellationToken)
    where
        K: Resource,
    {
        loop {
            let mut rescheduled = std::pin::pin!(self.rescheduled.notified());
            rescheduled.as_mut().enable();
            let next = self.resync(Instant::now());
            let turn = async {
                match next {
                    Some(next) => tokio::time::sleep_until(next).await,
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                biased;
                () = cancel.cancelled() => return,
                () = rescheduled => {}
                () = turn => {}
            }
        }
    }

    /// Where its followers stand.
    pub(crate) fn followers(self: &Arc<Self>) -> Vec<Registration<K>> {
        let place = |seat| Registration::new(Arc::clone(self), Some(seat));
        self.seats().into_iter().map(place).collect()
    }
}
