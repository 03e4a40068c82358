//! Boxed errors and futures, and the text of an error with its causes.

use std::{error::Error, pin::Pin};

/// An error of any type.
pub type BoxError = Box<dyn std::error::Error + Send + Sync>;

/// A future of any type, as returned by trait objects.
pub type BoxFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// Returns the text of an error and of its causes, separated by colons.
pub(crate) fn error_chain(error: &dyn Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        text = format!("{text}: {error}");
        cause = error.source();
    }
    text
}
