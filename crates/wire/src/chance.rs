//! Where chance comes from: the seeds of hashes, and bits for jitter and names.
//!
//! It is the system's, and nobody can foresee it. Only under the feature `__simulation`, which is for this project's own
//! simulation, can a thread ask for chance that follows from a seed, and for company of no other thread.

use std::hash::{BuildHasher, DefaultHasher, RandomState};

/// Random bits, good enough for jitter and uids.
#[must_use]
pub fn bits() -> u64 {
    fixed::bits().unwrap_or_else(|| RandomState::new().hash_one(0))
}

/// Whether chance on this thread follows from a seed.
#[must_use]
pub fn is_fixed() -> bool {
    fixed::is_fixed()
}

/// Whether something happens that does so once in `times` under a fixed chance, and never otherwise: what seldom happens by itself.
#[must_use]
pub fn strikes(times: u64) -> bool {
    is_fixed() && bits().is_multiple_of(times)
}

#[cfg(feature = "__simulation")]
pub use fixed::fix;

#[cfg(feature = "__simulation")]
mod fixed {
    use std::cell::Cell;

    thread_local! {
        static STATE: Cell<Option<u64>> = const { Cell::new(None) };
    }

    /// From here on, chance on this thread follows from the seed. Hashes are then the same under every seed.
    pub fn fix(seed: u64) {
        STATE.set(Some(seed));
    }

    pub(super) fn is_fixed() -> bool {
        STATE.get().is_some()
    }

    pub(super) fn bits() -> Option<u64> {
        // SplitMix64.
        let state = STATE.get()?.wrapping_add(0x9e37_79b9_7f4a_7c15);
        STATE.set(Some(state));
        let mut bits = state;
        bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        Some(bits ^ (bits >> 31))
    }
}

#[cfg(not(feature = "__simulation"))]
mod fixed {
    pub(super) const fn is_fixed() -> bool {
        false
    }

    pub(super) const fn bits() -> Option<u64> {
        None
    }
}

/// The seed of the hashes of a process, or no seed where chance is fixed.
#[derive(Debug)]
pub struct HashSeed(RandomState);

impl HashSeed {
    /// A seed that nobody can foresee.
    #[expect(clippy::new_without_default, reason = "two of them differ")]
    #[must_use]
    pub fn new() -> Self {
        Self(RandomState::new())
    }
}

impl BuildHasher for HashSeed {
    type Hasher = DefaultHasher;

    fn build_hasher(&self) -> DefaultHasher {
        if is_fixed() { DefaultHasher::new() } else { self.0.build_hasher() }
    }
}

#[cfg(all(test, feature = "__simulation"))]
mod tests {
    use super::*;
    use crate::Key;

    #[test]
    fn chance_follows_from_a_seed_where_it_is_asked_to() {
        let drawn = |seed| {
            std::thread::spawn(move || {
                fix(seed);
                (bits(), bits(), Key::new(None, "a").unwrap().digest())
            })
        };
        let [one, again, other] = [drawn(1), drawn(1), drawn(2)].map(|thread| thread.join().unwrap());
        assert_eq!(one, again);
        assert_ne!(one.0, one.1);
        assert_ne!((one.0, one.1), (other.0, other.1));
        assert_eq!(one.2, other.2);
        assert!(!is_fixed());
        assert!(!strikes(1));
        assert_ne!(bits(), bits());
    }
}
