//! Messages on stderr.

use crate::safe::clean_lines;
use std::io::{IsTerminal, Write};

/// Prints a message to stderr. A failure to do so is ignored.
pub(crate) fn print_notice(text: impl AsRef<str>) {
    // On a terminal, a line with the progress may have to be cleared.
    let clear = if std::io::stderr().is_terminal() { "\r\x1b[K" } else { "" };
    let _ = writeln!(std::io::stderr(), "{clear}informer: {}", clean_lines(text.as_ref()));
}
