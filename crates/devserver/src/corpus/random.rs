//! Pseudorandom numbers that depend only on a seed.

/// Returns a pseudorandom number for a seed and an index, by the finalizer of SplitMix64.
pub(super) const fn mixed(seed: u64, index: u64) -> u64 {
    let mut bits = seed.wrapping_add(index.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15));
    bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    bits ^ (bits >> 31)
}

/// Returns a number below a limit.
pub(super) const fn below(limit: u64, seed: u64, index: u64) -> u64 {
    mixed(seed, index) % limit
}

/// Returns one of the choices.
pub(super) const fn pick<'a>(choices: &[&'a str], seed: u64, index: u64) -> &'a str {
    choices[below(choices.len() as u64, seed, index) as usize]
}
