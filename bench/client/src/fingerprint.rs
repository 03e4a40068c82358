//! A fingerprint of a set of objects, equal for all caches with the same contents.

use crate::object::BenchObject;

/// The number of objects and two hashes that do not depend on their order.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Fingerprint {
    /// The number of objects.
    pub count: u64,
    /// The hash of key, uid and version.
    pub identity: u64,
    /// The hash of key and nested field, such as `status.podIP`.
    pub nested: u64,
}

impl Fingerprint {
    /// Adds an object.
    pub fn add(&mut self, object: &(impl BenchObject + ?Sized)) {
        let text = |text: &'_ Option<String>| text.clone().unwrap_or_default();
        let meta = object.metadata();
        let [namespace, name] = [&meta.namespace, &meta.name].map(text);
        let [uid, version] = [&meta.uid, &meta.resource_version].map(text);
        self.add_parts(&[&namespace, &name, &uid, &version], &[&namespace, &name, object.nested_field()]);
    }

    /// Adds an object by the strings of its hashes.
    pub fn add_parts(&mut self, identity: &[&str], nested: &[&str]) {
        self.count += 1;
        self.identity ^= fnv(identity);
        self.nested ^= fnv(nested);
    }
}

/// Returns the FNV-1a hash of the parts, with a zero byte after each.
#[must_use]
pub fn fnv(parts: &[&str]) -> u64 {
    let bytes = parts.iter().flat_map(|part| part.bytes().chain([0]));
    bytes.fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
}

#[cfg(test)]
mod tests {
    use super::*;
    use k8s_openapi::api::core::v1::Pod;

    fn pod(name: &str, version: &str) -> Pod {
        let mut pod = Pod::default();
        pod.metadata.name = Some(name.to_owned());
        pod.metadata.resource_version = Some(version.to_owned());
        pod
    }

    fn fingerprint(pods: &[Pod]) -> Fingerprint {
        let mut fingerprint = Fingerprint::default();
        pods.iter().for_each(|pod| fingerprint.add(pod));
        fingerprint
    }

    #[test]
    fn depends_on_versions_and_not_on_the_order() {
        assert_eq!(
            fingerprint(&[pod("a", "1"), pod("b", "2")]),
            fingerprint(&[pod("b", "2"), pod("a", "1")])
        );
        assert_ne!(fingerprint(&[pod("a", "1")]).identity, fingerprint(&[pod("a", "2")]).identity);
    }

    #[test]
    fn the_hash_is_fnv_with_a_zero_after_each_part() {
        assert_eq!(fnv(&["a", "b"]), 0xab40_d782_0d40_8076);
    }
}
