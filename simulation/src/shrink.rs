//! Finds the smallest list of actions that still violates a rule.

use crate::{
    history::Rule,
    run::run_without_log,
    scenario::{Scenario, ScriptEntry},
};

/// Removes actions from a scenario as long as the same rule is violated. No single action of the result can be removed.
///
/// Halves are tried first, then quarters, and so on down to single actions, until no action can be removed.
#[must_use]
pub fn shrink(scenario: &Scenario, rule: Rule) -> Scenario {
    let violates = |script: &[ScriptEntry]| {
        run_without_log(&scenario.with(script.to_vec())).broken.is_some_and(|broken| broken.rule == rule)
    };
    scenario.with(smallest(scenario.script.clone(), violates))
}

/// Removes parts of a list as long as `holds` returns true for the rest.
fn smallest<T: Clone>(mut list: Vec<T>, holds: impl Fn(&[T]) -> bool) -> Vec<T> {
    let mut size = list.len().div_ceil(2);
    while size > 0 {
        let mut start = 0;
        let before = list.len();
        while start < list.len() {
            let end = (start + size).min(list.len());
            let without = [&list[..start], &list[end..]].concat();
            if holds(&without) {
                list = without;
            } else {
                start = end;
            }
        }
        // An element may have been needed only by one that was removed later.
        size = if size == 1 { usize::from(list.len() < before) } else { size.div_ceil(2) };
    }
    list
}

#[cfg(test)]
mod tests {
    use super::smallest;
    use std::cell::Cell;

    #[test]
    fn the_needed_elements_remain() {
        let list: Vec<u32> = (0..100).collect();
        for needed in [vec![], vec![7], vec![3, 4, 99], vec![0, 50, 51, 98]] {
            let holds = |list: &[u32]| needed.iter().all(|number| list.contains(number));
            assert_eq!(smallest(list.clone(), holds), needed);
        }
    }

    #[test]
    fn elements_that_only_removed_ones_needed_are_removed() {
        // Each even number needs the next one.
        let holds = |list: &[u32]| {
            list.contains(&41) && list.iter().all(|number| number % 2 == 1 || list.contains(&(number + 1)))
        };
        assert_eq!(smallest((0..60).collect(), holds), [41]);
    }

    #[test]
    fn few_tries_are_needed() {
        let tries = Cell::new(0);
        let holds = |list: &[u32]| {
            tries.set(tries.get() + 1);
            list.contains(&500)
        };
        assert_eq!(smallest((0..1000).collect(), holds), [500]);
        assert!(tries.get() < 60, "{tries:?}");
    }
}
