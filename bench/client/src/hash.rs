//! Two numbers that are the same for everyone who holds the same objects.

use crate::subject::Subject;

/// The number of objects and the hashes of what they are, in any order.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Hash {
    /// How many objects were added.
    pub count: u64,
    /// Of key, uid and version.
    pub identity: u64,
    /// Of key and the field that stands deep in an object, such as `status.podIP`.
    pub address: u64,
}

impl Hash {
    /// Adds an object.
    pub fn add(&mut self, subject: &(impl Subject + ?Sized)) {
        let meta = subject.metadata();
        let (namespace, name) = (text(meta.namespace.as_ref()), text(meta.name.as_ref()));
        let (uid, version) = (text(meta.uid.as_ref()), text(meta.resource_version.as_ref()));
        self.add_parts(&[namespace, name, uid, version], &[namespace, name, subject.deep()]);
    }

    /// Adds an object of which these are the parts.
    pub fn add_parts(&mut self, identity: &[&str], address: &[&str]) {
        self.count += 1;
        self.identity ^= fnv(identity);
        self.address ^= fnv(address);
    }
}

fn text(text: Option<&String>) -> &str {
    text.map_or("", String::as_str)
}

/// FNV-1a of the parts, with a zero after each.
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

    fn hash(pods: &[Pod]) -> Hash {
        let mut hash = Hash::default();
        pods.iter().for_each(|pod| hash.add(pod));
        hash
    }

    #[test]
    fn order_makes_no_difference_and_versions_do() {
        assert_eq!(hash(&[pod("a", "1"), pod("b", "2")]), hash(&[pod("b", "2"), pod("a", "1")]));
        assert_ne!(hash(&[pod("a", "1")]).identity, hash(&[pod("a", "2")]).identity);
    }

    #[test]
    fn is_fnv_of_the_parts_and_a_zero_after_each() {
        assert_eq!(fnv(&["a", "b"]), 0xab40_d782_0d40_8076);
    }
}
