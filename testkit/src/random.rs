//! Random numbers from a seed.

use std::time::Duration;

/// A SplitMix64 generator. The same seed has the same numbers in every run and on every machine.
#[derive(Clone, Debug)]
pub struct Random(u64);

impl Random {
    /// Creates a generator. Consecutive seeds have unrelated numbers.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        Self::from_state(seed.wrapping_mul(0xd134_2543_de82_ef95).wrapping_add(0x632b_e59b_d9b4_e019))
    }

    /// Creates a generator with this state.
    #[must_use]
    pub fn from_state(state: u64) -> Self {
        Self(state)
    }

    /// Returns the next number.
    pub fn next_u64(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut bits = self.0;
        bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        bits ^ (bits >> 31)
    }

    /// Returns a number below `limit`, and zero if `limit` is zero.
    pub fn below(&mut self, limit: u64) -> u64 {
        self.next_u64() % limit.max(1)
    }

    /// Returns an index of a slice with this length.
    pub fn index(&mut self, length: usize) -> usize {
        usize::try_from(self.below(length as u64)).unwrap_or_default()
    }

    /// Returns an element of a slice, which must not be empty.
    pub fn pick<'t, T>(&mut self, from: &'t [T]) -> &'t T {
        &from[self.index(from.len())]
    }

    /// Returns true with a probability of one in `times`.
    pub fn one_in(&mut self, times: u64) -> bool {
        self.below(times) == 0
    }

    /// Returns a number between both, inclusive.
    pub fn between(&mut self, least: u64, most: u64) -> u64 {
        least + self.below(most - least + 1)
    }

    /// Returns a number of milliseconds between both, inclusive.
    pub fn millis(&mut self, least: u64, most: u64) -> Duration {
        Duration::from_millis(self.between(least, most))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_numbers_are_those_of_split_mix_64() {
        // The first outputs of the reference implementation for the seed 1234567.
        let mut random = Random::from_state(1_234_567);
        let numbers = [random.next_u64(), random.next_u64(), random.next_u64()];
        assert_eq!(
            numbers,
            [6_457_827_717_110_365_317, 3_203_168_211_198_807_973, 9_817_491_932_198_370_423]
        );
    }

    #[test]
    fn numbers_are_within_their_limits() {
        let mut random = Random::new(1);
        for limit in 1..100 {
            assert!(random.below(limit) < limit);
            assert!((limit..=limit + 3).contains(&random.between(limit, limit + 3)));
        }
        assert_eq!((random.below(0), random.between(5, 5), *random.pick(&[7])), (0, 5, 7));
    }
}
