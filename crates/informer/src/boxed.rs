//! Boxed errors and futures.

use std::pin::Pin;

/// An error of any type.
pub type BoxError = Box<dyn std::error::Error + Send + Sync>;

/// A future of any type, as returned by trait objects.
pub type BoxFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;
