//! Names, labels and annotations of Leases.

use crate::error::ConfigError;
use crate::range::shard_hash;

/// The label with the name of the shard group.
pub(crate) const GROUP_LABEL: &str = "leases.kube-informer.io/group";
/// The label with the purpose of a Lease of a shard group.
pub(crate) const ROLE_LABEL: &str = "leases.kube-informer.io/role";
/// The annotation with the number of shards.
pub(crate) const SHARDS_ANNOTATION: &str = "leases.kube-informer.io/shards";
/// The annotation with the field that is hashed.
pub(crate) const KEY_ANNOTATION: &str = "leases.kube-informer.io/shard-key";
/// The annotation that distinguishes processes with the same identity.
pub(crate) const INSTANCE_ANNOTATION: &str = "leases.kube-informer.io/instance";
/// The annotation of a shard with the uid of the member Lease of its holder.
pub(crate) const MEMBER_ANNOTATION: &str = "leases.kube-informer.io/member-uid";
/// The annotation of a member that drains its shards and gets no others.
pub(crate) const LEAVING_ANNOTATION: &str = "leases.kube-informer.io/leaving";

/// The largest number of shards of a group.
pub(crate) const MAX_SHARDS: u32 = 1024;
const MAX_NAME: usize = 253;
const MAX_LABEL: usize = 63;

/// The purpose of a Lease of a shard group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Role {
    Group,
    Member,
    Shard,
}

impl Role {
    pub(crate) const fn label(self) -> &'static str {
        match self {
            Self::Group => "group",
            Self::Member => "member",
            Self::Shard => "shard",
        }
    }
}

/// Returns the name of the Lease of a shard.
pub(crate) fn shard_lease(group: &str, index: u32) -> String {
    format!("{group}-shard-{index}")
}

/// Returns the name of the member Lease of a replica. The identity is hashed, as it can have any length and characters.
pub(crate) fn member_lease(group: &str, identity: &str) -> String {
    format!("{group}-member-{:016x}", shard_hash(identity))
}

/// Returns the value of the label of a group: its name, shortened with a hash if it is too long for a label.
pub(crate) fn group_label(group: &str) -> String {
    if group.len() <= MAX_LABEL {
        return group.to_owned();
    }
    let kept = group[..MAX_LABEL - 17].trim_end_matches(['-', '.']);
    format!("{kept}-{:016x}", shard_hash(group))
}

/// Checks that a name, and the longest name that is derived from it, can be names of Leases.
pub(crate) fn validate_name(name: &str, longest: String) -> Result<(), ConfigError> {
    let invalid = |reason| Err(ConfigError::InvalidName { name: name.to_owned(), reason });
    if name.is_empty() {
        return invalid("it is empty");
    }
    if !name.bytes().all(|byte| matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.')) {
        return invalid("use lower case letters, digits, '-' and '.'");
    }
    let is_valid_label = |label: &str| !label.is_empty() && !label.starts_with('-') && !label.ends_with('-');
    if !name.split('.').all(is_valid_label) {
        return invalid("each part between dots must start and end with a letter or digit");
    }
    if longest.len() > MAX_NAME {
        return Err(ConfigError::NameTooLong { name: name.to_owned(), length: longest.len(), longest });
    }
    Ok(())
}

/// Checks that a namespace can exist.
pub(crate) fn validate_namespace(namespace: &str) -> Result<(), ConfigError> {
    let is_valid = (1..=MAX_LABEL).contains(&namespace.len())
        && namespace.bytes().all(|byte| matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'-'))
        && !namespace.starts_with('-')
        && !namespace.ends_with('-');
    if is_valid { Ok(()) } else { Err(ConfigError::InvalidNamespace { namespace: namespace.to_owned() }) }
}

/// Checks that an identity can be the holder of a Lease.
pub(crate) fn validate_identity(identity: &str) -> Result<(), ConfigError> {
    let is_valid = (1..=MAX_NAME).contains(&identity.chars().count()) && !identity.contains(char::is_control);
    if is_valid { Ok(()) } else { Err(ConfigError::InvalidIdentity { identity: identity.to_owned() }) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_over_253_characters_are_rejected_with_the_excess() {
        let name = "a".repeat(250);
        let error = validate_name(&name, member_lease(&name, "x")).unwrap_err().to_string();
        assert!(
            error.contains("would have 274 characters, and the limit is 253; shorten it by 21"),
            "{error}"
        );
        let name = "a".repeat(229);
        assert_eq!(validate_name(&name, member_lease(&name, "x")), Ok(()));
    }

    #[test]
    fn names_that_are_not_dns_subdomains_are_rejected() {
        for name in ["", "Web", "a_b", "-a", "a-", "a..b", "a.-b", "ä"] {
            assert!(
                matches!(validate_name(name, name.to_owned()), Err(ConfigError::InvalidName { .. })),
                "{name}"
            );
        }
        for name in ["a", "a-b.c0", "0"] {
            assert_eq!(validate_name(name, name.to_owned()), Ok(()));
        }
    }

    #[test]
    fn group_labels_fit_into_63_characters_and_stay_distinct() {
        let long = |end: &str| format!("{}{end}", "a-".repeat(60));
        assert_eq!(group_label("websites"), "websites");
        assert!(group_label(&long("x")).len() <= 63);
        assert_ne!(group_label(&long("x")), group_label(&long("y")));
        assert!(group_label(&long("x")).starts_with("a-a"));
        assert!(!group_label(&long("x")).contains("--"));
    }

    #[test]
    fn namespaces_and_identities_are_checked() {
        assert_eq!(validate_namespace("ops"), Ok(()));
        for namespace in ["", "a.b", "-a", "A", &"a".repeat(64)] {
            assert!(validate_namespace(namespace).is_err(), "{namespace}");
        }
        assert_eq!(validate_identity("web-7d4f_1"), Ok(()));
        for identity in ["", "a\nb", &"a".repeat(254)] {
            assert!(validate_identity(identity).is_err());
        }
    }
}
