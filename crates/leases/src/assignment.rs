//! The assignment of shards to members: a pure function of the members and the current holders.

use crate::range::rendezvous_score;
use std::collections::BTreeMap;

/// Returns the member that should hold each shard; all `None` if there are no members.
///
/// `holders` has the current holder of each shard. A holder that is not in `members` does not count. The result depends only on the
/// sets, not on their order, so that all members with the same view agree without a coordinator:
///
/// - Each member gets `floor(shards / members)` or `ceil(shards / members)` shards.
/// - Holders keep their shards up to this quota. Members that have more shards than the lower quota are the
///   first to get the higher one.
/// - The remaining shards go to members below their quota, in rendezvous order.
///
/// ```
/// use kube_leases::assign;
///
/// // "b" joins: it gets one of the two shards of "a", and the other one stays.
/// let assigned = assign(&["a", "b"], &[Some("a"), Some("a")]);
/// assert_eq!(assigned.iter().filter(|member| **member == Some("a")).count(), 1);
/// assert_eq!(assigned.iter().filter(|member| **member == Some("b")).count(), 1);
/// ```
#[must_use]
pub fn assign<'a>(members: &[&'a str], holders: &[Option<&str>]) -> Vec<Option<&'a str>> {
    let mut assigned = vec![None; holders.len()];
    let mut held: BTreeMap<&'a str, Vec<u32>> = members.iter().map(|member| (*member, Vec::new())).collect();
    if held.is_empty() {
        return assigned;
    }
    for (shard, holder) in (0..).zip(holders) {
        if let Some(shards) = holder.and_then(|holder| held.get_mut(holder)) {
            shards.push(shard);
        }
    }
    let mut quotas = quotas(&held, holders.len());
    for (member, shards) in &mut held {
        let quota = quotas.get_mut(member).expect("each member has a quota");
        shards.sort_by_key(|shard| std::cmp::Reverse(rendezvous_score(member, *shard)));
        for shard in shards.iter().take(*quota) {
            assigned[*shard as usize] = Some(*member);
        }
        *quota -= shards.len().min(*quota);
    }
    for (shard, assigned) in (0..).zip(&mut assigned) {
        if assigned.is_none() {
            let free = quotas.iter_mut().filter(|(_, quota)| **quota > 0);
            let next = free.max_by_key(|(member, _)| (rendezvous_score(member, shard), **member));
            let (member, quota) = next.expect("quotas add up to the number of shards");
            *quota -= 1;
            *assigned = Some(*member);
        }
    }
    assigned
}

/// Returns the number of shards of each member; the sum is `shards`.
fn quotas<'a>(held: &BTreeMap<&'a str, Vec<u32>>, shards: usize) -> BTreeMap<&'a str, usize> {
    let floor = shards / held.len();
    let extra = shards % held.len();
    // Members above `floor` come first, so that the fewest shards move. Otherwise the order does not depend
    // on the number of shards, so that it stays the same while free shards are acquired.
    let mut order: Vec<_> = held.iter().map(|(member, shards)| (shards.len() <= floor, *member)).collect();
    order.sort_by_key(|(is_below, member)| (*is_below, rendezvous_score(member, u32::MAX), *member));
    let quota = |rank: usize| if rank < extra { floor + 1 } else { floor };
    order.into_iter().enumerate().map(|(rank, (_, member))| (member, quota(rank))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const NAMES: [&str; 8] = ["a", "b", "c", "d", "e", "f", "g", "h"];

    fn counts(assigned: &[Option<&str>], members: &[&str]) -> Vec<usize> {
        members.iter().map(|name| assigned.iter().filter(|held| **held == Some(*name)).count()).collect()
    }

    #[test]
    fn no_members_hold_no_shards() {
        assert_eq!(assign(&[], &[Some("a"), None]), [None, None]);
        assert_eq!(assign(&["a"], &[]), []);
    }

    #[test]
    fn one_member_holds_all_shards() {
        assert_eq!(assign(&["a"], &[Some("b"), None]), [Some("a"), Some("a")]);
    }

    #[test]
    fn a_balanced_assignment_stays() {
        let holders = [Some("a"), Some("b"), Some("a"), Some("b"), Some("b")];
        assert_eq!(assign(&["b", "a"], &holders), holders);
    }

    proptest! {
        #[test]
        fn assignments_are_balanced_minimal_and_independent_of_order(
            picks in proptest::collection::vec(proptest::option::of(0_usize..8), 0..40),
            count in 1_usize..=8,
            rotation in 0_usize..8,
        ) {
            let members = &NAMES[..count];
            let holders: Vec<_> = picks.iter().map(|pick| pick.map(|index| NAMES[index])).collect();
            let assigned = assign(members, &holders);

            let counts_after = counts(&assigned, members);
            let floor = holders.len() / count;
            prop_assert_eq!(counts_after.iter().sum::<usize>(), holders.len());
            prop_assert!(counts_after.iter().all(|held| *held == floor || *held == floor + 1));

            // No assignment with these quotas moves fewer shards.
            let mut before = counts(&holders, members);
            before.sort_unstable_by(|a, b| b.cmp(a));
            let extra = holders.len() % count;
            let surplus: usize = before
                .iter()
                .enumerate()
                .map(|(rank, held)| held.saturating_sub(floor + usize::from(rank < extra)))
                .sum();
            let is_moved = |shard: usize| {
                holders[shard].is_some_and(|holder| members.contains(&holder) && assigned[shard] != Some(holder))
            };
            prop_assert_eq!((0..holders.len()).filter(|shard| is_moved(*shard)).count(), surplus);

            let mut rotated = members.to_vec();
            rotated.rotate_left(rotation % count);
            prop_assert_eq!(&assign(&rotated, &holders), &assigned);
            // Taking the shards does not change the assignment.
            prop_assert_eq!(&assign(members, &assigned), &assigned);
        }
    }

    /// Assigns free shards one after another, in any order, to the members of the assignment. It must not
    /// change in the meantime.
    #[test]
    fn the_assignment_is_stable_while_shards_are_taken() {
        let holders = [Some("a"), None, None, Some("b"), None, None, None, Some("x")];
        let target = assign(&["a", "b", "c"], &holders);
        let mut current = holders.map(|holder| holder.filter(|name| *name != "x"));
        for shard in [5, 1, 7, 2, 6, 4] {
            current[shard] = target[shard];
            assert_eq!(assign(&["a", "b", "c"], &current), target, "after {shard}");
        }
    }
}
