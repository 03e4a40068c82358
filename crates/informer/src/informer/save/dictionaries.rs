//! The compression dictionaries of a saved cache.

use crate::object::encoded::Dictionary;
use std::sync::Arc;

/// The dictionaries of a file by their numbers, including those that are not written yet.
#[derive(Debug)]
pub(super) struct Dictionaries<D = Dictionary>(Vec<(u32, Arc<D>)>);

/// The number of the first dictionary.
pub(super) const FIRST: u32 = 16;

/// The number of dictionaries beyond which unused ones are dropped. A new one is trained whenever the compression ratio degrades.
const MAX_UNUSED: usize = 8;

impl<D> Dictionaries<D> {
    pub(super) fn number_of(&self, dictionary: &Arc<D>) -> Option<u32> {
        self.iter().find(|(_, known)| Arc::ptr_eq(known, dictionary)).map(|(number, _)| number)
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (u32, &Arc<D>)> {
        self.0.iter().map(|(number, dictionary)| (*number, dictionary))
    }

    /// Adds a dictionary, and returns its number.
    pub(super) fn add(&mut self, dictionary: &Arc<D>) -> u32 {
        let number = self.iter().map(|(number, _)| number + 1).max().unwrap_or(FIRST);
        self.0.push((number, Arc::clone(dictionary)));
        number
    }

    /// Drops the dictionaries that no object uses, if there are many. Returns true if any was dropped.
    pub(super) fn drop_unused(&mut self) -> bool {
        let before = self.0.len();
        if before > MAX_UNUSED {
            self.0.retain(|(_, dictionary)| Arc::strong_count(dictionary) > 1);
        }
        self.0.len() < before
    }
}

impl<D> Clone for Dictionaries<D> {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}

impl<D> FromIterator<(u32, Arc<D>)> for Dictionaries<D> {
    fn from_iter<I: IntoIterator<Item = (u32, Arc<D>)>>(all: I) -> Self {
        Self(all.into_iter().collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unused_dictionaries_are_dropped_and_the_others_keep_their_numbers() {
        let mut all = Dictionaries::from_iter([]);
        let mut used: Vec<_> = (0..MAX_UNUSED).map(Arc::new).collect();
        for (index, dictionary) in used.iter().enumerate() {
            assert_eq!(all.add(dictionary), FIRST + index as u32);
        }
        used.drain(..3);
        assert!(!all.drop_unused(), "there are not enough dictionaries");
        assert_eq!(all.add(&Arc::new(MAX_UNUSED)), FIRST + MAX_UNUSED as u32);
        assert!(all.drop_unused());
        assert!(!all.drop_unused());
        let left: Vec<_> = all.iter().map(|(number, dictionary)| (number, **dictionary)).collect();
        assert_eq!(left, (3..MAX_UNUSED).map(|index| (FIRST + index as u32, index)).collect::<Vec<_>>());
        assert_eq!(all.number_of(&used[0]), Some(FIRST + 3));
        assert_eq!(all.number_of(&Arc::new(3)), None);
    }
}
