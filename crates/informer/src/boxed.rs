//! Boxed errors and futures, and the text of an error with its causes.

use std::{error::Error, pin::Pin};

/// An error of any type.
pub type BoxError = Box<dyn std::error::Error + Send + Sync>;

/// A future of any type, as returned by trait objects.
pub type BoxFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// Returns the text of an error and of its causes, separated by colons. A cause that is part of the text of its parent is not repeated.
pub(crate) fn error_chain(error: &dyn Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        let cause_text = cause.to_string();
        if !text.contains(&cause_text) {
            text.push_str(": ");
            text.push_str(&cause_text);
        }
        source = cause.source();
    }
    text
}
