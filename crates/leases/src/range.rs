//! Hash ranges: the part of all objects that belongs to a shard.

/// The field of an object that decides to which shard it belongs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ShardKey {
    /// `metadata.namespace`: objects of one namespace, and the objects that they own, belong to one shard. Names that differ only in their
    /// last characters, such as `team-1` and `team-2`, are in the same few shards, because the hash has similar highest bits.
    #[default]
    Namespace,
    /// `metadata.uid`: objects are distributed evenly. Owned objects have other uids than their owners.
    Uid,
}

impl ShardKey {
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Namespace => "namespace",
            Self::Uid => "uid",
        }
    }
}

/// A range of 64-bit hashes, including `start` and excluding `end`.
///
/// The hash is [`shard_hash`] of the namespace or the uid, as in the `shardSelector` of KEP-5866.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct HashRange {
    /// The first hash.
    pub start: u64,
    /// The end of the range, at most 2^64.
    pub end: u128,
}

impl HashRange {
    /// Returns the range of shard `index` of `count` shards of about equal size; `None` unless `index` is less than `count`.
    #[must_use]
    pub fn of_shard(index: u32, count: u32) -> Option<Self> {
        if index >= count {
            return None;
        }
        let bound = |index: u32| (u128::from(index) << 64) / u128::from(count);
        Some(Self { start: u64::try_from(bound(index)).ok()?, end: bound(index + 1) })
    }

    /// Returns true if the range contains `hash`.
    #[must_use]
    pub fn contains(&self, hash: u64) -> bool {
        self.start <= hash && u128::from(hash) < self.end
    }
}

/// Returns the hash of a namespace or a uid: 64-bit FNV-1a, as in KEP-5866.
#[must_use]
pub fn shard_hash(text: &str) -> u64 {
    let step = |hash: u64, byte: u8| (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3);
    text.bytes().fold(0xcbf2_9ce4_8422_2325, step)
}

/// Returns the index of the shard of `count` shards whose range contains `hash`.
#[must_use]
pub fn shard_of(hash: u64, count: u32) -> u32 {
    // The inverse of the bounds of `HashRange::of_shard`, which are rounded down.
    let product = (u128::from(hash) + 1) * u128::from(count) - 1;
    u32::try_from(product >> 64).unwrap_or(u32::MAX)
}

/// Returns a well-distributed hash of two texts, for rendezvous hashing.
pub(crate) fn rendezvous_score(member: &str, shard: u32) -> u64 {
    let mut bits = shard_hash(member) ^ u64::from(shard).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    bits ^ (bits >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_differ_only_in_their_last_characters_use_few_shards() {
        let shards = |name: &dyn Fn(u32) -> String| {
            let shards: std::collections::BTreeSet<_> =
                (0..200).map(|number| shard_of(shard_hash(&name(number)), 16)).collect();
            shards.len()
        };
        assert_eq!(shards(&|number| format!("team-{number}")), 3);
        assert_eq!(shards(&|number| format!("{number}-team")), 16);
    }
    use proptest::prelude::*;

    #[test]
    fn hashes_are_fnv_1a() {
        assert_eq!(shard_hash(""), 0xcbf2_9ce4_8422_2325);
        assert_eq!(shard_hash("a"), 0xaf63_dc4c_8601_ec8c);
        assert_eq!(shard_hash("foobar"), 0x8594_4171_f739_67e8);
    }

    #[test]
    fn ranges_of_all_shards_are_adjacent_and_complete() {
        for count in [1, 2, 3, 7, 16, 1000, 1024] {
            let ranges: Vec<_> =
                (0..count).map(|index| HashRange::of_shard(index, count).expect("index < count")).collect();
            assert_eq!(ranges[0].start, 0);
            assert_eq!(ranges[ranges.len() - 1].end, 1 << 64);
            assert!(ranges.windows(2).all(|pair| pair[0].end == u128::from(pair[1].start)));
        }
        assert_eq!(HashRange::of_shard(3, 3), None);
    }

    proptest! {
        #[test]
        fn a_hash_is_in_the_range_of_its_shard(hash: u64, count in 1_u32..=1024) {
            let range = HashRange::of_shard(shard_of(hash, count), count).expect("index < count");
            prop_assert!(range.contains(hash));
        }

        #[test]
        fn bounds_of_ranges_belong_to_the_shard_that_starts_there(count in 1_u32..=1024, index in 0_u32..1024) {
            prop_assume!(index < count);
            let range = HashRange::of_shard(index, count).expect("index < count");
            prop_assert_eq!(shard_of(range.start, count), index);
            prop_assert_eq!(shard_of(u64::try_from(range.end - 1).expect("below 2^64"), count), index);
        }
    }
}
