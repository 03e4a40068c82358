//! Splits of an input into chunks.

use bytes::Bytes;
use testkit::Random;

/// The maximum length of inputs that are split into single bytes.
const SHORT: usize = 2048;

/// Returns several splits of the input: at positions that depend on it, and at every byte.
pub(crate) fn cuts(data: &[u8]) -> Vec<Vec<Bytes>> {
    let mut random = Random::from_state(hash(data));
    let mut ends: Vec<_> = (0..random.index(9)).map(|_| random.index(data.len() + 1)).collect();
    ends.extend([0, data.len()]);
    ends.sort_unstable();
    let some = ends.windows(2).map(|ends| Bytes::copy_from_slice(&data[ends[0]..ends[1]])).collect();
    let mut cuts = vec![some];
    if data.len() <= SHORT {
        cuts.push(data.chunks(1).map(Bytes::copy_from_slice).collect());
    }
    cuts
}

/// Returns a hash of bytes (FNV-1a).
fn hash(bytes: &[u8]) -> u64 {
    let mix = |hash: u64, byte: &u8| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, mix)
}
