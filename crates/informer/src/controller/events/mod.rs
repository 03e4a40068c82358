//! Kubernetes events: notes about an object, which `kubectl describe` shows.

mod correlator;
mod recorder;

pub use recorder::{EventKind, EventNote, Recorded, Recorder};
