//! What a follower of differences keeps itself, over the lives of an informer.

use crate::truth::Versions;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// What it was told, added up; what is told twice does no harm.
#[derive(Clone, Debug, Default)]
pub(crate) struct Diary(Arc<Mutex<Book>>);

#[derive(Clone, Debug, Default)]
struct Book {
    versions: Versions,
    doubt: Doubt,
}

/// Whether something may stand there of which nobody knows any more.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Doubt {
    #[default]
    None,
    /// Less was saved than stands there. A watch makes up for it.
    Ahead,
    /// All was listed since. What had been learned last and was gone by then could not be told.
    Listed,
}

impl Diary {
    fn lock(&self) -> MutexGuard<'_, Book> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The object is like this; nothing if it is gone.
    pub(crate) fn write(&self, key: &str, version: Option<u64>) {
        let versions = &mut self.lock().versions;
        match version {
            Some(version) => drop(versions.insert(key.to_owned(), version)),
            None => drop(versions.remove(key)),
        }
    }

    /// What stands in it now, in a book of its own.
    pub(crate) fn copied(&self) -> Self {
        Self(Arc::new(Mutex::new(self.lock().clone())))
    }

    /// Nothing stands there.
    pub(crate) fn begin(&self) {
        *self.lock() = Book::default();
    }

    /// Less was saved than stands there.
    pub(crate) fn is_ahead(&self) {
        let doubt = &mut self.lock().doubt;
        if *doubt == Doubt::None {
            *doubt = Doubt::Ahead;
        }
    }

    /// All was listed.
    pub(crate) fn listed(&self) {
        let doubt = &mut self.lock().doubt;
        if *doubt == Doubt::Ahead {
            *doubt = Doubt::Listed;
        }
    }

    /// What stands there once all is calm and this is what there is, of which it drops what nobody could tell it is gone.
    pub(crate) fn settled(&self, there: &Versions) -> Versions {
        let Book { versions, doubt } = &mut *self.lock();
        if std::mem::take(doubt) == Doubt::Listed {
            versions.retain(|key, _| there.contains_key(key));
        }
        versions.clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_who_is_ahead_and_hears_of_a_list_drops_what_is_not_there() {
        let (diary, there) = (Diary::default(), Versions::from([("a".to_owned(), 2)]));
        diary.write("a", Some(1));
        diary.write("a", Some(2));
        diary.write("b", Some(3));
        let both = Versions::from([("a".to_owned(), 2), ("b".to_owned(), 3)]);
        diary.listed();
        assert_eq!(diary.settled(&there), both);
        diary.is_ahead();
        assert_eq!(diary.settled(&there), both);
        diary.listed();
        assert_eq!(diary.settled(&there), both, "it has caught up since");
        diary.is_ahead();
        diary.listed();
        diary.is_ahead();
        assert_eq!(diary.settled(&there), there);
    }
}
