//! The futures that wait for a queue.

use std::collections::VecDeque;
use std::task::Waker;

/// The wakers of waiting futures, in the order in which they started to wait.
#[derive(Debug, Default)]
pub(crate) struct Waiters {
    waiting: VecDeque<(WaiterId, Waker)>,
    last_id: u64,
}

/// Identifies a waiting future.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct WaiterId(u64);

impl Waiters {
    /// Registers the waker of a future, and assigns an id to the future if it has none.
    pub(crate) fn register(&mut self, id: &mut Option<WaiterId>, waker: &Waker) -> WaiterId {
        let id = *id.get_or_insert_with(|| {
            self.last_id += 1;
            WaiterId(self.last_id)
        });
        match self.waiting.iter_mut().find(|(waiting, _)| *waiting == id) {
            Some((_, known)) => known.clone_from(waker),
            None => self.waiting.push_back((id, waker.clone())),
        }
        id
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }

    /// Removes the waker of the future that has waited longest.
    pub(crate) fn pop(&mut self) -> Option<Waker> {
        self.waiting.pop_front().map(|(_, waker)| waker)
    }

    /// Removes the waker of this future; `None` if it was removed already.
    pub(crate) fn remove(&mut self, id: WaiterId) -> Option<Waker> {
        let at = self.waiting.iter().position(|(waiting, _)| *waiting == id)?;
        self.waiting.remove(at).map(|(_, waker)| waker)
    }
}
