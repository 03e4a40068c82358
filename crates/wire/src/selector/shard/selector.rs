//! A shard selector: ranges of the hash of one field.

use crate::selector::error::{ParseError, SelectorError, Subject};
use std::fmt;

/// Selects objects by ranges of the hash of a field, so that several clients can divide the objects.
///
/// The server supports it behind the alpha gate `ShardedListAndWatch`, and ignores the parameter otherwise; a sharded list
/// has a `shardInfo`. The hash is 64-bit FNV-1a.
///
/// ```
/// use kube_informer_wire::{ShardField, ShardSelector};
///
/// let second = ShardSelector::part(ShardField::Uid, 1, 2)?;
/// assert_eq!(
///     second.to_string(),
///     "shardRange(object.metadata.uid, '0x8000000000000000', '0x10000000000000000')",
/// );
/// # Ok::<(), kube_informer_wire::SelectorError>(())
/// ```
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct ShardSelector {
    pub(super) field: ShardField,
    pub(super) ranges: Vec<ShardRange>,
}

/// The field that is hashed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ShardField {
    /// `object.metadata.uid`: distributes evenly.
    Uid,
    /// `object.metadata.namespace`: keeps a namespace together.
    Namespace,
}

/// A range of hashes, including `start` and excluding `end`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ShardRange {
    /// The first hash.
    pub start: u64,
    /// The end of the range, at most 2^64.
    pub end: u128,
}

/// One more than the largest hash.
pub(super) const END: u128 = 1 << 64;

impl ShardSelector {
    /// Creates a selector for objects whose hash of `field` is in one of `ranges`.
    ///
    /// # Errors
    /// [`SelectorError`] if there is no range, or one is empty or ends after 2^64.
    pub fn new(field: ShardField, ranges: impl Into<Vec<ShardRange>>) -> Result<Self, SelectorError> {
        let selector = Self { field, ranges: ranges.into() };
        if selector.ranges.is_empty() || !selector.ranges.iter().all(ShardRange::is_valid) {
            let error = ParseError::new(0, "ranges that begin before they end");
            return Err(error.of(Subject::ShardSelector, &selector.to_string()));
        }
        Ok(selector)
    }

    /// Creates a selector for shard `index`, from 0, of `count` shards of about equal size.
    ///
    /// # Errors
    /// [`SelectorError`] unless `index` is less than `count`.
    pub fn part(field: ShardField, index: u32, count: u32) -> Result<Self, SelectorError> {
        let bound = |index: u128| END * index / u128::from(count.max(1));
        let end = bound(u128::from(index) + 1);
        match u64::try_from(bound(index.into())) {
            Ok(start) if index < count => Self::new(field, [ShardRange { start, end }]),
            _ => Self::new(field, []),
        }
    }

    /// Returns the field that is hashed.
    #[must_use]
    pub fn field(&self) -> ShardField {
        self.field
    }

    /// Returns the ranges.
    #[must_use]
    pub fn ranges(&self) -> &[ShardRange] {
        &self.ranges
    }

    /// Whether an object with this uid and namespace matches; an absent one is `""`.
    #[must_use]
    pub fn matches(&self, uid: &str, namespace: &str) -> bool {
        let hash = fnv1a(match self.field {
            ShardField::Uid => uid,
            ShardField::Namespace => namespace,
        });
        self.ranges.iter().any(|range| range.contains(hash))
    }
}

impl ShardField {
    pub(super) const fn path(self) -> &'static str {
        match self {
            Self::Uid => "object.metadata.uid",
            Self::Namespace => "object.metadata.namespace",
        }
    }
}

impl ShardRange {
    /// Whether the range contains `hash`.
    #[must_use]
    pub fn contains(&self, hash: u64) -> bool {
        self.start <= hash && u128::from(hash) < self.end
    }

    pub(super) fn is_valid(&self) -> bool {
        u128::from(self.start) < self.end && self.end <= END
    }
}

fn fnv1a(text: &str) -> u64 {
    let step = |hash: u64, byte: u8| (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3);
    text.bytes().fold(0xcbf2_9ce4_8422_2325, step)
}

impl fmt::Display for ShardSelector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, ShardRange { start, end }) in self.ranges.iter().enumerate() {
            let or = if index == 0 { "" } else { " || " };
            write!(f, "{or}shardRange({}, '0x{start:016x}', '0x{end:016x}')", self.field.path())?;
        }
        Ok(())
    }
}

impl fmt::Debug for ShardSelector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ShardSelector({self})")
    }
}
