//! The same bytes, as they may arrive.

use crate::random::Random;
use bytes::Bytes;

/// Longer input does not come byte by byte, which takes too long.
const SHORT: usize = 2048;

/// The same bytes cut in other ways: at places that follow from them, and everywhere.
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
