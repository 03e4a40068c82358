//! Errors in selectors.

use std::fmt;

/// The maximum length of a selector in bytes; a longer one does not fit in a request line.
pub const MAX_SELECTOR_LENGTH: usize = 64 * 1024;

/// The maximum number of characters of an invalid selector in the error message.
const MAX_EXCERPT: usize = 160;

/// An invalid selector, or an invalid part of one.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("invalid {subject} {text:?} at byte {offset}: expected {expected}")]
pub struct SelectorError {
    subject: Subject,
    text: String,
    offset: usize,
    expected: &'static str,
}

/// The part that is invalid.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Subject {
    LabelSelector,
    LabelKey,
    LabelValue,
    MatchExpression,
    FieldSelector,
    FieldPath,
    ShardSelector,
}

/// The expected token at an offset.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ParseError {
    pub(super) offset: usize,
    pub(super) expected: &'static str,
}

impl SelectorError {
    /// Returns the offset of the error.
    #[must_use]
    pub fn offset(&self) -> usize {
        self.offset
    }

    /// Returns the expected token.
    #[must_use]
    pub fn expected(&self) -> &'static str {
        self.expected
    }
}

impl ParseError {
    pub(super) fn new(offset: usize, expected: &'static str) -> Self {
        Self { offset, expected }
    }

    /// Adds the offset of the text within a longer one.
    pub(super) fn offset_by(self, start: usize) -> Self {
        Self { offset: start + self.offset, ..self }
    }

    pub(super) fn of(self, subject: Subject, text: &str) -> SelectorError {
        let mut excerpt: String = text.chars().take(MAX_EXCERPT).collect();
        if excerpt.len() < text.len() {
            excerpt.push('…');
        }
        SelectorError { subject, text: excerpt, offset: self.offset, expected: self.expected }
    }
}

/// Checks the length of a selector.
pub(super) fn check_length(text: &str) -> Result<(), ParseError> {
    if text.len() > MAX_SELECTOR_LENGTH {
        return Err(ParseError::new(MAX_SELECTOR_LENGTH, "at most 65536 bytes"));
    }
    Ok(())
}

impl fmt::Display for Subject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::LabelSelector => "label selector",
            Self::LabelKey => "label key",
            Self::LabelValue => "label value",
            Self::MatchExpression => "match expression",
            Self::FieldSelector => "field selector",
            Self::FieldPath => "field path",
            Self::ShardSelector => "shard selector",
        })
    }
}
