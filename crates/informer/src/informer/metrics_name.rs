//! Names of informers in metrics, which no two informers of a process share.

use std::{
    collections::BTreeSet,
    fmt,
    sync::{Mutex, PoisonError},
};

/// The names of all informers of the process.
static NAMES: Mutex<BTreeSet<String>> = Mutex::new(BTreeSet::new());

/// The name of an informer in metrics. It is the name of the informer, followed by ` #2` and so on if another informer has it.
pub(super) struct MetricsName(String);

impl MetricsName {
    /// Reserves a name until this is dropped.
    pub(super) fn reserve(wanted: &str) -> Self {
        let mut names = NAMES.lock().unwrap_or_else(PoisonError::into_inner);
        let mut name = wanted.to_owned();
        let mut number = 1;
        while !names.insert(name.clone()) {
            number += 1;
            name = format!("{wanted} #{number}");
        }
        Self(name)
    }

    pub(super) fn as_str(&self) -> &str {
        &self.0
    }
}

impl Drop for MetricsName {
    fn drop(&mut self) {
        NAMES.lock().unwrap_or_else(PoisonError::into_inner).remove(&self.0);
    }
}

impl fmt::Debug for MetricsName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // A6
    #[test]
    fn names_are_unique_while_they_are_reserved() {
        let wanted = "names_are_unique";
        let reserve = || MetricsName::reserve(wanted);
        let names = [reserve(), reserve(), reserve()];
        let expected = [wanted, "names_are_unique #2", "names_are_unique #3"];
        assert_eq!(names.each_ref().map(MetricsName::as_str), expected);
        let [first, second, _third] = names;
        drop(second);
        assert_eq!(reserve().as_str(), "names_are_unique #2", "a name is free again");
        drop(first);
        assert_eq!(reserve().as_str(), wanted);
    }
}
