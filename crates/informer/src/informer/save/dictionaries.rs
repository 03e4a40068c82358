//! The dictionaries of a saved cache, by the numbers under which they are saved.

use crate::object::encoded::Dictionary;
use std::sync::Arc;

/// Those that are saved, or are about to be.
#[derive(Debug)]
pub(super) struct Dictionaries<D = Dictionary>(Vec<(u32, Arc<D>)>);

/// The number of the first.
pub(super) const FIRST: u32 = 16;

/// Where there are more than this, it is looked whether all are in use: there is a new one whenever objects have come to pack badly.
const MANY: usize = 8;

impl<D> Dictionaries<D> {
    pub(super) fn number_of(&self, dictionary: &Arc<D>) -> Option<u32> {
        self.iter().find(|(_, known)| Arc::ptr_eq(known, dictionary)).map(|(number, _)| number)
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (u32, &Arc<D>)> {
        self.0.iter().map(|(number, dictionary)| (*number, dictionary))
    }

    /// Gives a number to one that has none.
    pub(super) fn add(&mut self, dictionary: &Arc<D>) -> u32 {
        let number = self.iter().map(|(number, _)| number + 1).max().unwrap_or(FIRST);
        self.0.push((number, Arc::clone(dictionary)));
        number
    }

    /// Where there are many, forgets those that no object is packed with any longer, and says whether there were any.
    pub(super) fn drop_unused(&mut self) -> bool {
        let before = self.0.len();
        if before > MANY {
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
    fn of_many_those_that_nobody_uses_go_and_the_others_keep_their_numbers() {
        let mut all = Dictionaries::from_iter([]);
        let mut used: Vec<_> = (0..MANY).map(Arc::new).collect();
        for (place, dictionary) in used.iter().enumerate() {
            assert_eq!(all.add(dictionary), FIRST + place as u32);
        }
        used.drain(..3);
        assert!(!all.drop_unused(), "there are few");
        assert_eq!(all.add(&Arc::new(MANY)), FIRST + MANY as u32);
        assert!(all.drop_unused());
        assert!(!all.drop_unused());
        let left: Vec<_> = all.iter().map(|(number, dictionary)| (number, **dictionary)).collect();
        assert_eq!(left, (3..MANY).map(|place| (FIRST + place as u32, place)).collect::<Vec<_>>());
        assert_eq!(all.number_of(&used[0]), Some(FIRST + 3));
        assert_eq!(all.number_of(&Arc::new(3)), None);
    }
}
