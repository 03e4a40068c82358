//! Compares a streaming list with a LIST at the same version.

use super::telemetry::{Activity, Cause, Differences, Retry, Telemetry};
use crate::{
    object::Listing,
    source::{ItemError, Listed, ListerWatcher, Pager},
};
use kube_core::Resource;
use kube_informer_wire::{Key, ListOptions, ResourceVersion, VersionMatch};
use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};
use tokio::time::sleep;

const MAX_ATTEMPTS: u32 = 10;

const RETRY_DELAY: Duration = Duration::from_secs(1);

/// Lists at exactly the version of a streaming list, and reports differences.
pub(super) async fn check<K, L>(source: &L, telemetry: &Telemetry, streamed: Fingerprint)
where
    K: Resource + Send + Sync + 'static,
    L: ListerWatcher<K>,
{
    let options = streamed.request();
    for _ in 0..MAX_ATTEMPTS {
        match Pager::new(source).unpaged().list::<K>(&options).await {
            Ok(Listed { items, undecodable, .. }) => {
                let undecodable = undecodable.iter().filter_map(ItemError::key);
                if let Some(differences) = streamed.compare(&items, undecodable) {
                    telemetry.failed(Activity::Check, Cause::Inconsistent(&differences), Retry::Continue);
                }
                return;
            }
            Err(error) => telemetry.failed(Activity::Check, Cause::Source(&error), Retry::Continue),
        }
        sleep(RETRY_DELAY).await;
    }
}

/// The UIDs and versions of the objects of a streaming list.
#[derive(Debug)]
pub(super) struct Fingerprint {
    version: ResourceVersion,
    objects: BTreeMap<Key, Identity>,
    /// Objects that exist but could not be decoded.
    undecodable: BTreeSet<Key>,
}

#[derive(Debug, PartialEq, Eq)]
struct Identity {
    uid: Option<String>,
    version: Option<String>,
}

impl Fingerprint {
    /// Returns the fingerprint of `listing`; `None` if it has no version to list at.
    pub(super) fn of<K: Resource>(listing: &Listing<K>) -> Option<Self> {
        let version = listing.version.clone().filter(|version| !version.is_any())?;
        let objects = listing.objects.iter().map(|(key, object)| (key.clone(), object.with(identity)));
        let undecodable = listing.skipped.iter().cloned().collect();
        Some(Self { version, objects: objects.collect(), undecodable })
    }

    fn request(&self) -> ListOptions {
        ListOptions {
            resource_version: Some(self.version.clone()),
            resource_version_match: Some(VersionMatch::Exact),
            ..ListOptions::default()
        }
    }

    /// Compares with a list in which the objects `undecodable` could not be decoded. Returns `None` if there is no difference.
    fn compare<'k, K: Resource>(
        mut self,
        listed: &[K],
        undecodable: impl Iterator<Item = &'k Key>,
    ) -> Option<Differences> {
        let mut missing = Vec::new();
        let mut changed = Vec::new();
        for object in listed {
            let Ok(key) = Key::of(object) else { continue };
            match self.objects.remove(&key) {
                Some(streamed) if streamed == identity(object) => {}
                Some(_) => changed.push(key),
                None if self.undecodable.contains(&key) => {}
                None => missing.push(key),
            }
        }
        for key in undecodable {
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{PodBuilder, pod, rv};
    use k8s_openapi::api::core::v1::Pod;
    use std::sync::Arc;

    fn fingerprint(pods: &[Pod], version: u64) -> Option<Fingerprint> {
        let pods = pods.iter().cloned().map(Arc::new);
        Fingerprint::of(&Listing::new(pods, Some(rv(version))).unwrap())
    }

    fn differences(streamed: &[Pod], listed: &[Pod]) -> Option<String> {
        let differences = fingerprint(streamed, 5).unwrap().compare(listed, std::iter::empty());
        differences.map(|differences| differences.to_string())
    }

    // R54
    #[test]
    fn reports_missing_extra_and_changed_objects() {
        let a = || pod("a").version(1).uid("u");
        assert_eq!(differences(&[a()], &[a()]), None);
        let start = "streaming list differs from a list at version 5";
        let check = |streamed: &[Pod], listed: &[Pod], end: &str| {
            assert_eq!(differences(streamed, listed), Some(format!("{start}, {end}")));
        };
        check(&[], &[a()], "missing 1 such as a");
        check(&[a(), pod("b")], &[], "extra 2 such as a");
        check(&[a()], &[a().version(2)], "changed 1 such as a");
        check(&[a()], &[a().uid("v")], "changed 1 such as a");
    }

    // R54
    #[test]
    fn undecodable_objects_are_not_compared() {
        let mut listing = Listing::<Pod>::empty(Some(rv(5)));
        listing.skipped.push("a".parse().unwrap());
        let streamed = Fingerprint::of(&listing).unwrap();
        assert_eq!(streamed.compare(&[pod("a")], std::iter::empty()), None);
        let streamed = fingerprint(&[pod("a")], 5).unwrap();
        assert_eq!(streamed.compare::<Pod>(&[], ["a".parse().unwrap()].iter()), None);
    }

    // R54
    #[test]
    fn a_list_at_any_version_has_no_fingerprint() {
        assert!(fingerprint(&[], 0).is_none());
    }
}
