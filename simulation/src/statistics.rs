//! Counts of actions, faults and events, which show the coverage of a run.

use std::{collections::BTreeMap, fmt};

/// Counts by name, as `group: name`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Statistics(BTreeMap<String, u64>);

impl Statistics {
    pub(crate) fn add(&mut self, what: &str, count: u64) {
        match self.0.get_mut(what) {
            Some(sum) => *sum += count,
            None => drop(self.0.insert(what.to_owned(), count)),
        }
    }

    /// Adds the counts of another run.
    pub fn merge(&mut self, other: &Self) {
        other.0.iter().for_each(|(what, count)| self.add(what, *count));
    }

    /// Returns the count of a name.
    #[must_use]
    pub fn count(&self, what: &str) -> u64 {
        self.0.get(what).copied().unwrap_or_default()
    }
}

impl fmt::Display for Statistics {
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
