//! What a state consists of, to hold one against another.

use crate::object::listing::Listing;
use kube_core::Resource;
use kube_informer_wire::{Key, ListOptions, ResourceVersion, VersionMatch};
use std::{
    collections::{BTreeMap, BTreeSet},
    fmt,
};

/// The objects of a streamed state: which there were, and which state each was in.
#[derive(Debug)]
pub(super) struct Inventory {
    version: ResourceVersion,
    objects: BTreeMap<Key, Identity>,
    /// Of these nothing is known but that they exist.
    unreadable: BTreeSet<Key>,
}

#[derive(Debug, PartialEq, Eq)]
struct Identity {
    uid: Option<String>,
    version: Option<String>,
}

/// How a streamed state differs from a list at the same version.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Differences {
    /// The version of both.
    pub version: ResourceVersion,
    /// What was listed and not streamed.
    pub missing: Vec<Key>,
    /// What was streamed and not listed.
    pub extra: Vec<Key>,
    /// What was in another state, or is another object of the same name.
    pub changed: Vec<Key>,
}

impl Inventory {
    /// What `listing` consists of; nothing if it has no version to list at.
    pub(super) fn of<K: Resource>(listing: &Listing<K>) -> Option<Self> {
        let version = listing.version.clone().filter(|version| !version.is_any())?;
        let objects = listing.objects.iter().map(|(key, object)| (key.clone(), object.with(identity)));
        let unreadable = listing.unreadable.iter().cloned().collect();
        Some(Self { version, objects: objects.collect(), unreadable })
    }

    /// Asks for the list to hold it against.
    pub(super) fn request(&self) -> ListOptions {
        ListOptions {
            resource_version: Some(self.version.clone()),
            resource_version_match: Some(VersionMatch::Exact),
            ..ListOptions::default()
        }
    }

    /// How it differs from what was listed, where `unread` could not be read; nothing if it does not.
    pub(super) fn differences<'k, K: Resource>(
        mut self,
        listed: &[K],
        unread: impl Iterator<Item = &'k Key>,
    ) -> Option<Differences> {
        let (mut missing, mut changed) = (Vec::new(), Vec::new());
        for object in listed {
            let Ok(key) = Key::of(object) else { continue };
            match self.objects.remove(&key) {
                Some(streamed) if streamed == identity(object) => {}
                Some(_) => changed.push(key),
                None if self.unreadable.contains(&key) => {}
                None => missing.push(key),
            }
        }
        for key in unread {
            self.objects.remove(key);
        }
        let extra: Vec<_> = self.objects.into_keys().collect();
        let differs = !(missing.is_empty() && extra.is_empty() && changed.is_empty());
        differs.then_some(Differences { version: self.version, missing, extra, changed })
    }
}

fn identity<K: Resource>(object: &K) -> Identity {
    let meta = object.meta();
    Identity { uid: meta.uid.clone(), version: meta.resource_version.clone() }
}

impl fmt::Display for Differences {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { version, missing, extra, changed } = self;
        write!(f, "state streamed at {version} is not what a list finds there")?;
        for (what, keys) in [("missing", missing), ("extra", extra), ("changed", changed)] {
            if let Some(first) = keys.first() {
                write!(f, ", {what} {} such as {first}", keys.len())?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{PodBuilder, pod, rv};
    use k8s_openapi::api::core::v1::Pod;
    use std::sync::Arc;

    fn inventory(pods: &[Pod], version: u64) -> Option<Inventory> {
        let pods = pods.iter().cloned().map(Arc::new);
        Inventory::of(&Listing::new(pods, Some(rv(version))).unwrap())
    }

    /// What differs, in words; nothing if nothing does.
    fn differences(streamed: &[Pod], listed: &[Pod]) -> Option<String> {
        let differences = inventory(streamed, 5).unwrap().differences(listed, std::iter::empty());
        differences.map(|differences| differences.to_string())
    }

    // R54
    #[test]
    fn tells_what_is_missing_extra_or_changed() {
        let a = || pod("a").version(1).uid("u");
        assert_eq!(differences(&[a()], &[a()]), None);
        let begins = "state streamed at 5 is not what a list finds there";
        let check = |streamed: &[Pod], listed: &[Pod], ends: &str| {
            assert_eq!(differences(streamed, listed), Some(format!("{begins}, {ends}")));
        };
        check(&[], &[a()], "missing 1 such as a");
        check(&[a(), pod("b")], &[], "extra 2 such as a");
        check(&[a()], &[a().version(2)], "changed 1 such as a");
        check(&[a()], &[a().uid("v")], "changed 1 such as a");
    }

    // R54
    #[test]
    fn what_could_not_be_read_is_not_missing() {
        let mut listing = Listing::<Pod>::empty(Some(rv(5)));
        listing.unreadable.push("a".parse().unwrap());
        let inventory = Inventory::of(&listing).unwrap();
        assert_eq!(inventory.differences(&[pod("a")], std::iter::empty()), None);
        let read = self::inventory(&[pod("a")], 5).unwrap();
        assert_eq!(read.differences::<Pod>(&[], ["a".parse().unwrap()].iter()), None);
    }

    // R54
    #[test]
    fn a_state_at_any_version_cannot_be_held_against_a_list() {
        assert!(inventory(&[], 0).is_none());
    }
}
