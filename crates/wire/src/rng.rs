//! Random numbers, and the seed of hashes.
//!
//! They come from the system. Under the feature `__simulation`, which is for this project's own simulation, a thread can
//! make them follow from a seed.

use std::hash::{BuildHasher, DefaultHasher, RandomState};

/// Returns a random number. It is not suitable for cryptography.
#[must_use]
pub fn next_u64() -> u64 {
    seeded::next_u64().unwrap_or_else(|| RandomState::new().hash_one(0))
}

/// Whether random numbers on this thread follow from a seed.
#[must_use]
pub fn is_seeded() -> bool {
    seeded::is_seeded()
}

/// Returns `true` with a probability of one in `times` if this thread is seeded, and `false` otherwise.
///
/// The simulation uses it to trigger rare events.
#[must_use]
pub fn buggify(times: u64) -> bool {
    is_seeded() && next_u64().is_multiple_of(times)
}

#[cfg(feature = "__simulation")]
pub use seeded::seed_thread;

#[cfg(feature = "__simulation")]
mod seeded {
    use std::cell::Cell;

    thread_local! {
        static STATE: Cell<Option<u64>> = const { Cell::new(None) };
    }

    /// Makes random numbers on this thread follow from a seed. Hashes are then the same for every seed.
    pub fn seed_thread(seed: u64) {
        STATE.set(Some(seed));
    }

    pub(super) fn is_seeded() -> bool {
        STATE.get().is_some()
    }

    /// Returns the next number of SplitMix64; `None` if the thread is not seeded.
    pub(super) fn next_u64() -> Option<u64> {
        let state = STATE.get()?.wrapping_add(0x9e37_79b9_7f4a_7c15);
        STATE.set(Some(state));
        let mut bits = state;
        bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        Some(bits ^ (bits >> 31))
    }
}

#[cfg(not(feature = "__simulation"))]
mod seeded {
    pub(super) const fn is_seeded() -> bool {
        false
    }

    pub(super) const fn next_u64() -> Option<u64> {
        None
    }
}

/// The random seed of the hashes of a process; a fixed one on threads that are seeded.
#[derive(Debug)]
pub struct HashSeed(RandomState);

impl HashSeed {
    /// Creates a random seed.
    #[expect(clippy::new_without_default, reason = "two of them differ")]
    #[must_use]
    pub fn new() -> Self {
        Self(RandomState::new())
    }
}

impl BuildHasher for HashSeed {
    type Hasher = DefaultHasher;

    fn build_hasher(&self) -> DefaultHasher {
        if is_seeded() { DefaultHasher::new() } else { self.0.build_hasher() }
    }
}

#[cfg(all(test, feature = "__simulation"))]
mod tests {
    use super::*;
    use crate::Key;

    #[test]
    fn random_numbers_follow_from_the_seed_of_the_thread() {
        let draw = |seed| {
            std::thread::spawn(move || {
                seed_thread(seed);
                (next_u64(), next_u64(), Key::new(None, "a").unwrap().digest())
            })
        };
        let [one, again, other] = [draw(1), draw(1), draw(2)].map(|thread| thread.join().unwrap());
        assert_eq!(one, again);
        assert_ne!(one.0, one.1);
        assert_ne!((one.0, one.1), (other.0, other.1));
        assert_eq!(one.2, other.2);
        assert!(!is_seeded());
        assert!(!buggify(1));
        assert_ne!(next_u64(), next_u64());
    }
}
