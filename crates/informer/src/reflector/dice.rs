//! Random numbers for jitter, which need be neither good nor secret.

use kube_informer_wire::chance;

/// A stream of random numbers; the same from the same seed.
#[derive(Clone, Debug)]
pub(crate) struct Dice(u64);

impl Dice {
    /// A stream that nobody can foresee.
    pub(crate) fn shaken() -> Self {
        Self(chance::bits())
    }

    #[cfg(test)]
    pub(crate) fn seeded(seed: u64) -> Self {
        Self(seed)
    }

    /// A number from zero up to, but not including, one.
    pub(crate) fn roll(&mut self) -> f64 {
        // SplitMix64, of whose result the upper 53 bits fill a double exactly.
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        ((mixed ^ (mixed >> 31)) >> 11) as f64 / (1_u64 << 53) as f64
    }
}
