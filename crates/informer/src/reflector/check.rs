//! Holds a streamed state against a list.

use super::{
    driver::Reflector,
    inventory::Inventory,
    report::{Activity, Cause, Outlook},
    sink::Sink,
};
use crate::source::{ItemError, Listed, ListerWatcher, Pager};
use kube_core::Resource;
use std::time::Duration;
use tokio::time::sleep;

/// How often the list is tried.
const TRIES: u32 = 10;

/// How long to wait before it is tried again.
const PAUSE: Duration = Duration::from_secs(1);

impl<K, L, S> Reflector<K, L, S>
where
    K: Resource + Send + Sync + 'static,
    L: ListerWatcher<K>,
    S: Sink<K>,
{
    /// Lists at exactly the version of what was streamed, and reports how that differs.
    pub(super) async fn check(&mut self, streamed: Inventory) {
        let options = streamed.request();
        for _ in 0..TRIES {
            match Pager::new(&self.source).unpaged().list::<K>(&options).await {
                Ok(Listed { items, undecodable, .. }) => {
                    let unread = undecodable.iter().filter_map(ItemError::key);
                    if let Some(differences) = streamed.differences(&items, unread) {
                        let cause = Cause::Inconsistent(&differences);
                        self.speaker.failed(Activity::Check, cause, Outlook::GoesOn);
                    }
                    return;
                }
                Err(error) => self.speaker.failed(Activity::Check, Cause::Source(&error), Outlook::GoesOn),
            }
            sleep(PAUSE).await;
        }
    }
}
