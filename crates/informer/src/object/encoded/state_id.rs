//! The uid and version of an object in a few bytes.

use kube_informer_wire::{Identity, ResourceVersion};
use std::{array, ops::Range};

/// Identifies one version of one object. Takes 24 bytes and no allocation if both parts are as the API server writes them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum StateId {
    Binary { version: u64, uid: [u64; 2] },
    Text(Box<StateText>),
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct StateText {
    version: Box<str>,
    uid: Box<str>,
}

impl StateId {
    /// `None` if the object has no version.
    pub(super) fn new(identity: &Identity<'_>) -> Option<Self> {
        let version = &*identity.version;
        let uid = &*identity.uid;
        if matches!(version, "" | "0") {
            return None;
        }
        Some(match (parse_version(version), parse_uid(uid)) {
            (Some(version), Some(uid)) => Self::Binary { version, uid },
            _ => Self::Text(Box::new(StateText { version: version.into(), uid: uid.into() })),
        })
    }

    pub(super) fn version(&self) -> Option<ResourceVersion> {
        match self {
            Self::Binary { version, .. } => Some(ResourceVersion::number(*version)),
            Self::Text(text) => text.version.parse().ok(),
        }
    }
}

#[cfg(feature = "saved")]
impl StateId {
    /// Creates an id from saved [parts](Self::uid_and_version). `None` if there is no version.
    pub(super) fn from_saved(uid: &str, version: &ResourceVersion) -> Option<Self> {
        if let (Some(version), Some(uid)) = (version.to_number(), parse_uid(uid)) {
            return (version != 0).then_some(Self::Binary { version, uid });
        }
        let version = version.to_string();
        let mut identity = Identity::default();
        identity.uid = uid.into();
        identity.version = version.as_str().into();
        Self::new(&identity)
    }

    pub(super) fn uid_and_version(&self) -> (String, String) {
        match self {
            Self::Binary { version, uid } => (format_uid(*uid), version.to_string()),
            Self::Text(text) => (text.uid.to_string(), text.version.to_string()),
        }
    }
}

/// `None` if the text is not the canonical form of a number.
fn parse_version(text: &str) -> Option<u64> {
    let is_canonical = text.bytes().all(|byte| byte.is_ascii_digit()) && !text.starts_with('0');
    text.parse().ok().filter(|_| is_canonical)
}

/// Parses a lower-case UUID; an empty uid is zero. `None` if it is neither.
fn parse_uid(uid: &str) -> Option<[u64; 2]> {
    /// The groups of digits, between which there are hyphens.
    const GROUPS: [Range<usize>; 5] = [0..8, 9..13, 14..18, 19..23, 24..36];
    if uid.is_empty() {
        return Some([0, 0]);
    }
    let uid: &[u8; 36] = uid.as_bytes().try_into().ok()?;
    let mut digits = [0; 32];
    let mut filled = 0;
    for group in GROUPS {
        if uid.get(group.end).is_some_and(|&byte| byte != b'-') {
            return None;
        }
        let end = filled + group.len();
        digits[filled..end].copy_from_slice(&uid[group]);
        filled = end;
    }
    // Without a branch for each digit: a relist parses the uid of each object.
    let values = digits.map(|digit| match digit {
        b'0'..=b'9' => digit - b'0',
        b'a'..=b'f' => digit - b'a' + 10,
        _ => u8::MAX,
    });
    let is_valid = values.iter().fold(0, |all, value| all | value) < 16;
    let bytes: [u8; 16] = array::from_fn(|index| values[2 * index] << 4 | values[2 * index + 1]);
    let number = u128::from_be_bytes(bytes);
    // Zero is reserved for an empty uid.
    (is_valid && number != 0).then_some([(number >> 64) as u64, number as u64])
}

#[cfg(feature = "saved")]
fn format_uid([high, low]: [u64; 2]) -> String {
    if [high, low] == [0, 0] {
        return String::new();
    }
    format!(
        "{:08x}-{:04x}-{:04x}-{:04x}-{:012x}",
        high >> 32,
        high >> 16 & 0xffff,
        high & 0xffff,
        low >> 48,
        low & 0xffff_ffff_ffff
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn state(version: &str, uid: &str) -> Option<StateId> {
        let mut identity = Identity::default();
        identity.version = version.into();
        identity.uid = uid.into();
        StateId::new(&identity)
    }

    #[test]
    fn ids_differ_if_version_or_uid_differ() {
        let uid = "0f1e2d3c-4b5a-6978-8796-a5b4c3d2e1f0";
        let nil = "00000000-0000-0000-0000-000000000000";
        let upper = uid.to_uppercase();
        let [hyphen, digit] = ["4b5a:6978", "4b5a-697g"].map(|part| uid.replace("4b5a-6978", part));
        let uids = [uid, "0f1e2d3c-4b5a-6978-8796-a5b4c3d2e1f1", &upper, nil, &hyphen, &digit, "", "u"];
        let versions = ["1", "01", "+1", "18446744073709551615", "18446744073709551616", "1a"];
        let all: Vec<_> = uids.iter().flat_map(|uid| versions.map(|version| state(version, uid))).collect();
        for (position, one) in all.iter().enumerate() {
            assert!(one.is_some());
            assert_eq!(all.iter().filter(|other| *other == one).count(), 1, "{position}");
            let (uid, version) = one.as_ref().unwrap().uid_and_version();
            assert_eq!((&*uid, &*version), (uids[position / 6], versions[position % 6]));
            assert_eq!(state(&version, &uid), *one);
            assert_eq!(StateId::from_saved(&uid, &version.parse().unwrap()), *one);
        }
        assert_eq!(
            state("7", uid),
            Some(StateId::Binary { version: 7, uid: [0x0f1e_2d3c_4b5a_6978, 0x8796_a5b4_c3d2_e1f0] })
        );
    }

    #[test]
    fn an_object_without_a_version_has_no_id() {
        assert_eq!(state("", "u"), None);
        assert_eq!(state("0", "u"), None);
        assert_eq!(StateId::from_saved("u", &ResourceVersion::ANY), None);
    }
}
