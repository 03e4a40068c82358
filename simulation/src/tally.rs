//! How often what happened, so that one sees that a simulation is not idle.

use std::{collections::BTreeMap, fmt};

/// Counts by name.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tally(BTreeMap<String, u64>);

impl Tally {
    pub(crate) fn add(&mut self, what: &str, count: u64) {
        match self.0.get_mut(what) {
            Some(sum) => *sum += count,
            None => drop(self.0.insert(what.to_owned(), count)),
        }
    }

    /// Adds what another counted.
    pub fn merge(&mut self, other: &Self) {
        other.0.iter().for_each(|(what, count)| self.add(what, *count));
    }

    /// How often something happened.
    #[must_use]
    pub fn count(&self, what: &str) -> u64 {
        self.0.get(what).copied().unwrap_or_default()
    }
}

impl fmt::Display for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut group = "";
        for (what, count) in &self.0 {
            let (head, name) = what.split_once(": ").unwrap_or((what, ""));
            if head != group {
                write!(f, "{}  {head}:", if group.is_empty() { "" } else { "\n" })?;
                group = head;
            }
            let gap = if name.is_empty() { "" } else { " " };
            write!(f, " {name}{gap}{count};")?;
        }
        Ok(())
    }
}
