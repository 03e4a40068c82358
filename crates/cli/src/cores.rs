//! Splits a computation over all cores.

use std::{num::NonZero, panic::resume_unwind, thread};

/// Returns the length of the parts in which `len` items are computed on all cores: at least `min`, because a thread has a cost.
pub(crate) fn part_len(len: usize, min: usize) -> usize {
    let cores = thread::available_parallelism().map_or(1, NonZero::get);
    len.div_ceil(cores).max(min).max(1)
}

/// Calls a function for each part, each on its own thread, and returns the results in the order of the parts.
pub(crate) fn on_all_cores<P: Send, T: Send>(
    parts: impl IntoIterator<Item = P>,
    compute: impl Fn(P) -> T + Sync,
) -> Vec<T> {
    let mut parts = parts.into_iter();
    let Some(first) = parts.next() else { return Vec::new() };
    let compute = &compute;
    thread::scope(|scope| {
        let others: Vec<_> = parts.map(|part| scope.spawn(move || compute(part))).collect();
        let mut results = vec![compute(first)];
        results.extend(
            others.into_iter().map(|other| other.join().unwrap_or_else(|panic| resume_unwind(panic))),
        );
        results
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_item_is_in_one_part() {
        for (len, min) in [(0, 1), (1, 5), (7, 3), (1_000, 10), (1_000, 0)] {
            let items: Vec<usize> = (0..len).collect();
            let parts = on_all_cores(items.chunks(part_len(len, min)), <[usize]>::to_vec);
            assert!(parts.iter().rev().skip(1).all(|part| part.len() >= min), "{len} {min}");
            assert_eq!(parts.concat(), items);
        }
    }
}
