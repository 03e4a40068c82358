//! How much memory a collection keeps for the next items once the last one is gone.

/// The most items for which an empty collection keeps room.
///
/// What has grown past it is given back whole when it becomes empty. It then grows anew with the items that need it, so
/// that each item pays for a constant part of that.
pub(crate) const SPARE: usize = 1024;
