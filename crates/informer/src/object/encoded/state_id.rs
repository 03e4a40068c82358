//! Which state of which object, in a few bytes.

use kube_informer_wire::{Identity, ResourceVersion};

/// A uid and a version. Where both are as the API server writes them, they take 24 bytes and no text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Stamp {
    Short { version: u64, uid: [u64; 2] },
    Text(Box<[Box<str>; 2]>),
}

impl Stamp {
    /// The version.
    pub(super) fn version(&self) -> Option<ResourceVersion> {
        match self {
            Self::Short { version, .. } => Some(ResourceVersion::number(*version)),
            Self::Text(texts) => texts[0].parse().ok(),
        }
    }

    /// The stamp of an object; nothing if it has no version, and so nothing is known of its state.
    pub(super) fn of(identity: &Identity<'_>) -> Option<Self> {
        let (version, uid) = (&*identity.version, &*identity.uid);
        if matches!(version, "" | "0") {
            return None;
        }
        Some(match (number(version), words(uid)) {
            (Some(version), Some(uid)) => Self::Short { version, uid },
            _ => Self::Text(Box::new([version.into(), uid.into()])),
        })
    }
}

#[cfg(feature = "saved")]
impl Stamp {
    /// The stamp of an object of which these were written down.
    pub(super) fn read(uid: &str, version: &ResourceVersion) -> Option<Self> {
        match (version.to_number(), words(uid)) {
            (Some(0), _) => None,
            (Some(version), Some(uid)) => Some(Self::Short { version, uid }),
            _ => {
                let (mut identity, version) = (Identity::default(), version.to_string());
                (identity.uid, identity.version) = (uid.into(), version.as_str().into());
                Self::of(&identity)
            }
        }
    }

    /// The uid and the version, as they were written.
    pub(super) fn parts(&self) -> (String, String) {
        match self {
            Self::Short { version, uid: [0, 0] } => (String::new(), version.to_string()),
            Self::Short { version, uid: [high, low] } => {
                let uid = format!(
                    "{:08x}-{:04x}-{:04x}-{:04x}-{:012x}",
                    high >> 32,
                    high >> 16 & 0xffff,
                    high & 0xffff,
                    low >> 48,
                    low & 0xffff_ffff_ffff
                );
                (uid, version.to_string())
            }
            Self::Text(parts) => (parts[1].to_string(), parts[0].to_string()),
        }
    }
}

/// A number that has no other way to be written.
fn number(text: &str) -> Option<u64> {
    let is_plain = text.bytes().all(|byte| byte.is_ascii_digit()) && !text.starts_with('0');
    text.parse().ok().filter(|_| is_plain)
}

/// The words of a uid in its usual form, `8-4-4-4-12` digits in lower case, and zero for none.
fn words(uid: &str) -> Option<[u64; 2]> {
    if uid.is_empty() {
        return Some([0, 0]);
    }
    let (bytes, mut words, mut digits) = (uid.as_bytes(), [0_u64; 2], 0_usize);
    if bytes.len() != 36 {
        return None;
    }
    for (place, byte) in bytes.iter().enumerate() {
        if matches!(place, 8 | 13 | 18 | 23) {
            if *byte != b'-' {
                return None;
            }
            continue;
        }
        let digit = match byte {
            b'0'..=b'9' => byte - b'0',
            b'a'..=b'f' => byte - b'a' + 10,
            _ => return None,
        };
        words[digits / 16] = words[digits / 16] << 4 | u64::from(digit);
        digits += 1;
    }
    // All zeros would be taken for none.
    (words != [0, 0]).then_some(words)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stamp(version: &str, uid: &str) -> Option<Stamp> {
        let mut identity = Identity::default();
        (identity.version, identity.uid) = (version.into(), uid.into());
        Stamp::of(&identity)
    }

    #[test]
    fn what_differs_in_version_or_uid_differs() {
        let uid = "0f1e2d3c-4b5a-6978-8796-a5b4c3d2e1f0";
        let nil = "00000000-0000-0000-0000-000000000000";
        let upper = uid.to_uppercase();
        let uids = [uid, "0f1e2d3c-4b5a-6978-8796-a5b4c3d2e1f1", &upper, nil, "", "u"];
        let versions = ["1", "01", "+1", "18446744073709551615", "18446744073709551616", "1a"];
        let all: Vec<_> = uids.iter().flat_map(|uid| versions.map(|version| stamp(version, uid))).collect();
        for (place, one) in all.iter().enumerate() {
            assert!(one.is_some());
            #[cfg(feature = "saved")]
            {
                let (uid, version) = one.as_ref().unwrap().parts();
                assert_eq!(stamp(&version, &uid), *one);
                assert_eq!(Stamp::read(&uid, &version.parse().unwrap()), *one);
                assert_eq!(
                    (uids[place / versions.len()], versions[place % versions.len()]),
                    (&*uid, &*version)
                );
            }
            assert_eq!(all.iter().filter(|other| *other == one).count(), 1, "{place}");
        }
        assert_eq!(
            stamp("7", uid),
            Some(Stamp::Short { version: 7, uid: [0x0f1e_2d3c_4b5a_6978, 0x8796_a5b4_c3d2_e1f0] })
        );
    }

    #[test]
    fn without_a_version_nothing_is_known() {
        assert_eq!(stamp("", "u"), None);
        assert_eq!(stamp("0", "u"), None);
        #[cfg(feature = "saved")]
        assert_eq!(Stamp::read("u", &ResourceVersion::ANY), None);
    }
}
