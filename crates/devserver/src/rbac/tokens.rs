//! The bearer tokens that a server has given to users.

use crate::rbac::user::User;
use std::{
    collections::HashMap,
    sync::{Mutex, MutexGuard, PoisonError},
};
use tokio::time::Instant;

/// The users by their tokens.
#[derive(Default)]
pub(crate) struct TokenTable(Mutex<HashMap<String, Entry>>);

#[derive(Clone)]
struct Entry {
    user: User,
    expires: Option<Instant>,
}

/// The maximum number of tokens; the one that expires first is dropped.
const MOST: usize = 10_000;

impl TokenTable {
    /// Adds a token that does not expire.
    pub(crate) fn insert(&self, token: &str, user: User) {
        self.lock().insert(token.to_owned(), Entry { user, expires: None });
    }

    /// Adds a token that expires.
    pub(crate) fn insert_until(&self, token: &str, user: User, expires: Instant) {
        let mut entries = self.lock();
        if entries.len() >= MOST {
            entries.retain(|_, entry| entry.expires.is_none_or(|expires| expires > Instant::now()));
        }
        if entries.len() >= MOST {
            let first = entries
                .iter()
                .filter(|(_, entry)| entry.expires.is_some())
                .min_by_key(|(_, entry)| entry.expires);
            if let Some(first) = first.map(|(token, _)| token.clone()) {
                entries.remove(&first);
            }
        }
        entries.insert(token.to_owned(), Entry { user, expires: Some(expires) });
    }

    /// Returns the user of a token that has not expired.
    pub(crate) fn user(&self, token: &str) -> Option<User> {
        let entries = self.lock();
        let entry = entries.get(token)?;
        let is_valid = entry.expires.is_none_or(|expires| Instant::now() < expires);
        is_valid.then(|| entry.user.clone())
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<String, Entry>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl std::fmt::Debug for TokenTable {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("TokenTable(..)")
    }
}
