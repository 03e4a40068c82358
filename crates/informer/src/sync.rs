//! The lock that the model checker can take over.

#[cfg(not(feature = "__model"))]
pub(crate) use std::sync::{Mutex, MutexGuard};

#[cfg(feature = "__model")]
pub(crate) use shuttle::sync::{Mutex, MutexGuard};
