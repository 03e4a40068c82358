//! Why a text selects nothing that can be understood, and where it goes wrong.

use std::fmt;

/// The longest selector that is read, in bytes; a request line could not carry a longer one.
pub const MAX_SELECTOR_LENGTH: usize = 64 * 1024;

/// How many characters of a wrong text are repeated in the error.
const EXCERPT: usize = 160;

/// A selector, or a part of one, that is wrong: which kind of text, where, and what was expected there.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{subject} {text:?} is wrong at byte {offset}: expected {expected}")]
pub struct SelectorError {
    subject: Subject,
    text: String,
    offset: usize,
    expected: &'static str,
}

/// What kind of text is wrong.
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

/// A place in a text and what should stand there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Flaw {
    pub(super) offset: usize,
    pub(super) expected: &'static str,
}

impl SelectorError {
    /// The byte of the text at which it goes wrong.
    #[must_use]
    pub fn offset(&self) -> usize {
        self.offset
    }

    /// What was expected there.
    #[must_use]
    pub fn expected(&self) -> &'static str {
        self.expected
    }
}

impl Flaw {
    pub(super) fn new(offset: usize, expected: &'static str) -> Self {
        Self { offset, expected }
    }

    /// The same flaw, seen from a text in which this one begins at `start`.
    pub(super) fn within(self, start: usize) -> Self {
        Self { offset: start + self.offset, ..self }
    }

    pub(super) fn of(self, subject: Subject, text: &str) -> SelectorError {
        let mut excerpt: String = text.chars().take(EXCERPT).collect();
        if excerpt.len() < text.len() {
            excerpt.push('…');
        }
        SelectorError { subject, text: excerpt, offset: self.offset, expected: self.expected }
    }
}

/// Refuses a text that is too long to be a selector.
pub(super) fn bounded(text: &str) -> Result<(), Flaw> {
    if text.len() > MAX_SELECTOR_LENGTH {
        return Err(Flaw::new(MAX_SELECTOR_LENGTH, "the end, 65536 bytes being the most that is read"));
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
