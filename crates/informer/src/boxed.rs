//! Boxed errors and futures, for trait objects.

use std::pin::Pin;

/// An error of any type.
pub type BoxError = Box<dyn std::error::Error + Send + Sync>;

/// A future that a method of a trait object can return.
pub type BoxFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;
