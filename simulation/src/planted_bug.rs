//! Bugs that are planted on purpose, to test that the rules find them.

/// A bug at the boundary between the informer and the checks, with the same effect as one in the informer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PlantedBug {
    /// The idle timeout is so long that a dead watch is never noticed.
    DeadWatchUnnoticed,
    /// Other content of an object under the same version is never applied.
    SameVersionChangeIgnored,
    /// Events of different objects are delivered in another order.
    ObjectsReordered,
}
