//! The options of a recorder.

use crate::redaction::Redaction;
use std::time::Duration;

/// The options of a [`Recorder`](crate::Recorder).
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct RecorderOptions {
    /// The maximum age of changes: older segments are removed. `None`, the default, for no limit.
    pub max_age: Option<Duration>,
    /// The maximum size of the folder: the oldest segments are removed. `None`, the default, for no limit.
    pub max_size: Option<u64>,
    /// A new segment is started when the changes in the current one have this size (32 MiB), or four times the size of its checkpoint
    /// if that is larger.
    pub segment_size: u64,
    /// A new segment is started when the current one has this age (6 hours).
    pub segment_age: Duration,
    /// The maximum size of the objects that are kept in memory to compress their next version (256 MiB). Other objects are read from
    /// the segment.
    pub memory: usize,
    /// The zstd level (3).
    pub level: i32,
    /// Whether Secrets are recorded. The default is [`Secrets::Refuse`].
    pub secrets: Secrets,
    /// The values that are replaced before an object is recorded.
    pub redactions: Vec<Redaction>,
}

/// Whether Secrets are recorded.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Secrets {
    /// They are not recorded.
    #[default]
    Refuse,
    /// They are recorded like other objects.
    Record,
}

impl Default for RecorderOptions {
    fn default() -> Self {
        Self {
            max_age: None,
            max_size: None,
            segment_size: 32 << 20,
            segment_age: Duration::from_secs(6 * 60 * 60),
            memory: 256 << 20,
            level: 3,
            secrets: Secrets::Refuse,
            redactions: Vec::new(),
        }
    }
}

impl RecorderOptions {
    /// Sets the maximum age of changes.
    #[must_use]
    pub fn max_age(self, age: Duration) -> Self {
        Self { max_age: Some(age), ..self }
    }

    /// Sets the maximum size of the folder.
    #[must_use]
    pub fn max_size(self, bytes: u64) -> Self {
        Self { max_size: Some(bytes), ..self }
    }

    /// Sets the size of the changes in a segment.
    #[must_use]
    pub fn segment_size(self, bytes: u64) -> Self {
        Self { segment_size: bytes, ..self }
    }

    /// Sets the maximum age of the current segment.
    #[must_use]
    pub fn segment_age(self, age: Duration) -> Self {
        Self { segment_age: age, ..self }
    }

    /// Sets the maximum size of the objects in memory.
    #[must_use]
    pub fn memory(self, bytes: usize) -> Self {
        Self { memory: bytes, ..self }
    }

    /// Sets the zstd level.
    #[must_use]
    pub fn level(self, level: i32) -> Self {
        Self { level, ..self }
    }

    /// Sets whether Secrets are recorded.
    #[must_use]
    pub fn secrets(self, secrets: Secrets) -> Self {
        Self { secrets, ..self }
    }

    /// Adds a path whose values are replaced before an object is recorded.
    #[must_use]
    pub fn redact(mut self, redaction: Redaction) -> Self {
        self.redactions.push(redaction);
        self
    }
}
