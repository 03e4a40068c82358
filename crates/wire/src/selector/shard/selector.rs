//! A shard selector: ranges of hashes of one field.

use crate::selector::error::{Flaw, SelectorError, Subject};
use std::fmt;

/// Selects the objects whose field hashes into one of a few ranges, so that several clients share the work.
///
/// The server has it behind the alpha gate `ShardedListAndWatch`, and one that lacks it ignores the parameter; a list
/// that was sharded says so in its `shardInfo`. The hash is FNV-1a with 64 bits.
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

/// The field whose hash decides.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ShardField {
    /// `object.metadata.uid`: spreads evenly.
    Uid,
    /// `object.metadata.namespace`: keeps a namespace together.
    Namespace,
}

/// A range of hashes, from `start` up to and without `end`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ShardRange {
    /// The first hash.
    pub start: u64,
    /// The hash after the last; 2^64 at most, which is why it is wider than a hash.
    pub end: u128,
}

/// One more than the largest hash.
pub(super) const END: u128 = 1 << 64;

impl ShardSelector {
    /// Selects the objects of which `field` hashes into one of `ranges`.
    ///
    /// # Errors
    /// If there is no range, or one is empty or ends past 2^64.
    pub fn new(field: ShardField, ranges: impl Into<Vec<ShardRange>>) -> Result<Self, SelectorError> {
        let made = Self { field, ranges: ranges.into() };
        match made.ranges.iter().all(ShardRange::is_sound) && !made.ranges.is_empty() {
            true => Ok(made),
            false => Err(Flaw::new(0, "ranges that begin before they end")
                .of(Subject::ShardSelector, &made.to_string())),
        }
    }

    /// The part number `index`, counted from 0, of `count` parts of about equal size.
    ///
    /// # Errors
    /// If there is no such part.
    pub fn part(field: ShardField, index: u32, count: u32) -> Result<Self, SelectorError> {
        let bound = |index: u128| END * index / u128::from(count.max(1));
        let (start, end) = (bound(index.into()), bound(u128::from(index) + 1));
        match u64::try_from(start) {
            Ok(start) if index < count => Self::new(field, [ShardRange { start, end }]),
            _ => Self::new(field, []),
        }
    }

    /// The field whose hash decides.
    #[must_use]
    pub fn field(&self) -> ShardField {
        self.field
    }

    /// The ranges, in the order in which they were written.
    #[must_use]
    pub fn ranges(&self) -> &[ShardRange] {
        &self.ranges
    }

    /// Whether the object with this uid and namespace is meant; what it lacks is `""`.
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
    /// Whether `hash` lies within.
    #[must_use]
    pub fn contains(&self, hash: u64) -> bool {
        self.start <= hash && u128::from(hash) < self.end
    }

    pub(super) fn is_sound(&self) -> bool {
        u128::from(self.start) < self.end && self.end <= END
    }
}

fn fnv1a(text: &str) -> u64 {
    let step = |hash: u64, byte: u8| (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3);
    text.bytes().fold(0xcbf2_9ce4_8422_2325, step)
}

impl fmt::Display for ShardSelector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (place, ShardRange { start, end }) in self.ranges.iter().enumerate() {
            let or = if place == 0 { "" } else { " || " };
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
