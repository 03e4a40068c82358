//! Finds the least that still goes wrong.

use crate::{
    history::Rule,
    run::run,
    scenario::{Entry, Scenario},
};

/// Leaves out of a scenario whatever can be left out without mending it: what is left breaks the same rule, and would not without
/// any one of its acts.
///
/// It tries halves first, then quarters, and so on down to single acts, and begins anew until nothing more can go.
#[must_use]
pub fn shrink(scenario: &Scenario, rule: Rule) -> Scenario {
    let breaks = |script: &[Entry]| {
        run(&scenario.with(script.to_vec())).broken.is_some_and(|broken| broken.rule == rule)
    };
    scenario.with(least(scenario.script.clone(), breaks))
}

/// The least of a list for which something is still so, by leaving out parts of it.
fn least<T: Clone>(mut list: Vec<T>, is_so: impl Fn(&[T]) -> bool) -> Vec<T> {
    let mut size = list.len().div_ceil(2);
    while size > 0 {
        let mut start = 0;
        let before = list.len();
        while start < list.len() {
            let end = (start + size).min(list.len());
            let without = [&list[..start], &list[end..]].concat();
            if is_so(&without) {
                list = without;
            } else {
                start = end;
            }
        }
        // A single one may be needed only by one that is gone since.
        size = if size == 1 { usize::from(list.len() < before) } else { size.div_ceil(2) };
    }
    list
}

#[cfg(test)]
mod tests {
    use super::least;
    use std::cell::Cell;

    #[test]
    fn what_is_left_is_what_it_takes() {
        let list: Vec<u32> = (0..100).collect();
        for needed in [vec![], vec![7], vec![3, 4, 99], vec![0, 50, 51, 98]] {
            let is_so = |list: &[u32]| needed.iter().all(|number| list.contains(number));
            assert_eq!(least(list.clone(), is_so), needed);
        }
    }

    #[test]
    fn what_others_needed_goes_with_them() {
        // Each even number needs the one behind it, unless it is gone itself.
        let is_so = |list: &[u32]| {
            list.contains(&41) && list.iter().all(|number| number % 2 == 1 || list.contains(&(number + 1)))
        };
        assert_eq!(least((0..60).collect(), is_so), [41]);
    }

    #[test]
    fn it_takes_few_tries() {
        let tries = Cell::new(0);
        let is_so = |list: &[u32]| {
            tries.set(tries.get() + 1);
            list.contains(&500)
        };
        assert_eq!(least((0..1000).collect(), is_so), [500]);
        assert!(tries.get() < 60, "{tries:?}");
    }
}
