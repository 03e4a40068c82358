//! The warnings that a response has in its headers.

use std::sync::{Mutex, PoisonError};

/// The maximum number of warnings of a response.
const MOST: usize = 100;

/// The maximum length of a warning, in characters.
const LONGEST: usize = 256;

/// The warnings of one request.
#[derive(Debug, Default)]
pub(crate) struct Warnings(Mutex<Vec<String>>);

impl Warnings {
    /// Adds a warning, unless it was added before.
    pub(crate) fn add(&self, warning: String) {
        let mut warnings = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if warnings.len() < MOST && !warnings.contains(&warning) {
            warnings.push(warning);
        }
    }

    /// Returns the values of the header `Warning`.
    pub(crate) fn headers(&self) -> Vec<String> {
        let warnings = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        warnings.iter().map(|text| format!("299 - \"{}\"", quoted(text))).collect()
    }
}

/// Returns a text as a header can have it: quotes are escaped, and characters that are not printable ASCII.
fn quoted(text: &str) -> String {
    let letter = |letter: char| match letter {
        '"' | '\\' => format!("\\{letter}"),
        ' '..='~' => letter.to_string(),
        other => other.escape_unicode().to_string(),
    };
    text.chars().take(LONGEST).map(letter).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers_are_printable_and_short() {
        let warnings = Warnings::default();
        warnings.add("unknown field \"\u{e9}\n\"".to_owned());
        warnings.add("a".repeat(10_000));
        let headers = warnings.headers();
        assert_eq!(headers[0], r#"299 - "unknown field \"\u{e9}\u{a}\"""#);
        assert_eq!(headers[1].len(), 264);
    }
}
