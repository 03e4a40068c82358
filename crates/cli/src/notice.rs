//! What is said on stderr.

use crate::safe::clean_lines;
use std::io::{IsTerminal, Write};

/// Says something to the person, if there is one: a stderr that nobody reads is no reason to end.
pub(crate) fn say(text: impl AsRef<str>) {
    // On a terminal there may be a line that tells of progress, which is drawn again below.
    let clear = if std::io::stderr().is_terminal() { "\r\x1b[K" } else { "" };
    let _ = writeln!(std::io::stderr(), "{clear}informer: {}", clean_lines(text.as_ref()));
}
