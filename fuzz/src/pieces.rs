//! Splits of an input into chunks.

use crate::random::Random;
use bytes::Bytes;

/// The maximum length of inputs that are split into single bytes.
const SHORT: usize = 2048;

/// Returns several splits of the input: at positions that depend on it, and at every byte.
pub(crate) fn cuts(data: &[u8]) -> Vec<Vec<Bytes>> {
    let mut random = Random::of(data);
    let mut ends: Vec<_> = (0..random.below(9)).map(|_| random.below(data.len() + 1)).collect();
    ends.extend([0, data.len()]);
    ends.sort_unstable();
    let some = ends.windows(2).map(|ends| Bytes::copy_from_slice(&data[ends[0]..ends[1]])).collect();
    let mut cuts = vec![some];
    if data.len() <= SHORT {
        cuts.push(data.chunks(1).map(Bytes::copy_from_slice).collect());
    }
    cuts
}
