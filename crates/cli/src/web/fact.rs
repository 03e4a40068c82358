//! What views read of every change.

use super::{
    address::address,
    change::{Change, Verb},
};

/// What views read of every change, in a quarter of the memory of a [`Change`]: they visit a million of them.
#[derive(Clone, Copy, Debug)]
pub(super) struct Fact {
    pub(super) time: i64,
    pub(super) slot: u32,
    pub(super) bytes: u32,
    pub(super) kind: u32,
    pub(super) verb: Verb,
    /// The addresses of texts, which identify them while the change is in the log; zero if there is none.
    pub(super) manager: usize,
    pub(super) owner: usize,
    pub(super) fields: usize,
}

impl Fact {
    pub(super) fn of(change: &Change) -> Self {
        Self {
            time: change.time,
            slot: change.slot,
            bytes: change.bytes,
            kind: u32::try_from(change.object.kind).unwrap_or(u32::MAX),
            verb: change.verb,
            manager: change.manager.as_deref().map_or(0, address),
            owner: change.owner.as_deref().map_or(0, address),
            fields: change.fields.as_ptr() as usize,
        }
    }
}
