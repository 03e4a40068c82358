//! Numbers that look random and depend on nothing but a seed.

/// A number that two others determine, and that says nothing about them (the finalizer of splitmix64).
pub(super) const fn mixed(seed: u64, index: u64) -> u64 {
    let mut bits = seed.wrapping_add(index.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15));
    bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    bits ^ (bits >> 31)
}

/// A number below a limit.
pub(super) const fn below(limit: u64, seed: u64, index: u64) -> u64 {
    mixed(seed, index) % limit
}

/// One of several.
pub(super) const fn pick<'a>(choices: &[&'a str], seed: u64, index: u64) -> &'a str {
    choices[below(choices.len() as u64, seed, index) as usize]
}
