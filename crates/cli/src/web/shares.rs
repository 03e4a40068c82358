//! Computes a view of many changes on all cores.

use std::{num::NonZero, ops::Range, panic::resume_unwind, thread};

/// The minimum number of changes for one thread.
const MIN_SHARE: u64 = 20_000;

/// Calls a function for consecutive parts of a range of numbers on all cores, and returns the results in this order.
pub(super) fn in_shares<T: Send>(numbers: Range<u64>, compute: impl Fn(Range<u64>) -> T + Sync) -> Vec<T> {
    let cores = thread::available_parallelism().map_or(1, NonZero::get) as u64;
    let share = (numbers.end - numbers.start).div_ceil(cores).max(MIN_SHARE);
    let part = |start: u64| start..(start + share).min(numbers.end);
    let mut parts = numbers.clone().step_by(usize::try_from(share).unwrap_or(usize::MAX)).map(part);
    let Some(first) = parts.next() else { return vec![compute(numbers)] };
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
    fn every_number_is_in_one_part() {
        for (first, last) in [(5, 5), (0, 1), (3, 3 + MIN_SHARE), (7, 7 + 5 * MIN_SHARE)] {
            let parts = in_shares(first..last, |part| part);
            let numbers: Vec<u64> = parts.into_iter().flatten().collect();
            assert!(numbers.into_iter().eq(first..last), "{first} {last}");
        }
    }
}
