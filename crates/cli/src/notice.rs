//! What is said on stderr.

use std::io::Write;

/// Says something to the person, if there is one: a stderr that nobody reads is no reason to end.
pub(crate) fn say(text: impl AsRef<str>) {
    let _ = writeln!(std::io::stderr(), "informer: {}", text.as_ref());
}
