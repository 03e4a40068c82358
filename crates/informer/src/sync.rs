//! The mutex, which a model checker can replace.

#[cfg(not(feature = "__model"))]
pub(crate) use std::sync::{Mutex, MutexGuard};

#[cfg(feature = "__model")]
pub(crate) use shuttle::sync::{Mutex, MutexGuard};
