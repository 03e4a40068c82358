//! A hash of the content of an object, to detect that a server sends it differently under the same version.

use std::num::NonZeroU64;

/// A hash of the bytes of an object, without `apiVersion`, `kind` and dropped fields. Only hashes of the same encoding can be
/// compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ContentHash(NonZeroU64);

/// The bit that is set for protobuf.
const PROTOBUF: u64 = 1;

/// The bit that is always set, so that the hash is not zero.
const NOT_ZERO: u64 = 2;

impl ContentHash {
    pub(super) fn json<'p>(parts: impl IntoIterator<Item = &'p [u8]>) -> Self {
        Self::new(hash(parts) & !PROTOBUF)
    }

    pub(super) fn protobuf<'p>(parts: impl IntoIterator<Item = &'p [u8]>) -> Self {
        Self::new(hash(parts) | PROTOBUF)
    }

    fn new(hash: u64) -> Self {
        Self(NonZeroU64::new(hash | NOT_ZERO).expect("a bit is set"))
    }

    /// Returns whether the contents differ. `false` if the encodings differ, since such hashes cannot be compared.
    #[must_use]
    pub fn differs_from(self, other: Self) -> bool {
        (self.0.get() ^ other.0.get()) & PROTOBUF == 0 && self != other
    }

    /// Returns the hash as a number, which is at least 2.
    #[must_use]
    pub fn to_number(self) -> u64 {
        self.0.get()
    }

    /// Returns the hash with this number; `None` for 0 and 1.
    #[must_use]
    pub fn from_number(number: u64) -> Option<Self> {
        NonZeroU64::new(number).filter(|number| number.get() & NOT_ZERO != 0).map(Self)
    }
}

/// Four lanes of 16 bytes, which a processor computes at the same time.
const BLOCK: usize = LANES * LANE;
const LANES: usize = 4;
const LANE: usize = 16;
const SEEDS: [u64; 2] = [0x9E37_79B9_7F4A_7C15, 0xC2B2_AE3D_27D4_EB4F];

/// Hashes the concatenation of some parts, wherever it is split. Fast rather than resistant to chosen collisions: a server
/// can hide a change by not sending it.
fn hash<'p>(parts: impl IntoIterator<Item = &'p [u8]>) -> u64 {
    let mut state = [SEEDS[0]; LANES];
    let mut length = 0_u64;
    let mut pending = [0; BLOCK];
    let mut filled = 0;
    for mut part in parts {
        length += part.len() as u64;
        if filled > 0 {
            let (head, rest) = part.split_at(part.len().min(BLOCK - filled));
            pending[filled..filled + head.len()].copy_from_slice(head);
            filled += head.len();
            part = rest;
            if filled < BLOCK {
                continue;
            }
            mix(&mut state, &pending);
        }
        let (blocks, rest) = part.as_chunks::<BLOCK>();
        for block in blocks {
            mix(&mut state, block);
        }
        pending[..rest.len()].copy_from_slice(rest);
        filled = rest.len();
    }
    pending[filled..].fill(0);
    mix(&mut state, &pending);
    state.into_iter().fold(length, |hash, lane| folded_multiply(hash ^ lane, SEEDS[1]).rotate_left(17))
}

fn mix(state: &mut [u64; LANES], block: &[u8; BLOCK]) {
    let (lanes, _) = block.as_chunks::<LANE>();
    for (state, lane) in state.iter_mut().zip(lanes) {
        let lane = u128::from_le_bytes(*lane);
        *state = folded_multiply(*state ^ lane as u64, SEEDS[1] ^ (lane >> 64) as u64).rotate_left(23);
    }
}

fn folded_multiply(one: u64, other: u64) -> u64 {
    let product = u128::from(one) * u128::from(other);
    product as u64 ^ (product >> 64) as u64
}

#[cfg(test)]
mod tests {
    use crate::{ContentHash, Format, ManagedFields, Raw, Schema};
    use proptest::prelude::*;

    fn json(text: &str) -> ContentHash {
        Raw::new(Format::Json, text.to_owned().into()).content_hash(ManagedFields::Drop)
    }

    // A4
    #[test]
    fn kind_api_version_and_managed_fields_do_not_count() {
        let item = json(r#"{"metadata":{"name":"a","uid":"u"},"data":{"k":"v"}}"#);
        for same in [
            r#"{"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"a","uid":"u"},"data":{"k":"v"}}"#,
            r#"{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a","uid":"u"},"data":{"k":"v"}}"#,
            r#"{"kind":"ConfigMap","metadata":{"name":"a","managedFields":[{"manager":"m"}],"uid":"u"},"data":{"k":"v"}}"#,
            r#"{"metadata":{"managedFields":[],"name":"a","uid":"u"},"data":{"k":"v"}}"#,
        ] {
            assert_eq!(json(same), item, "{same}");
        }
        for other in [
            r#"{"metadata":{"name":"a","uid":"u"},"data":{"k":"w"}}"#,
            r#"{"metadata":{"name":"a","uid":"u"},"data":{"k":"v","l":""}}"#,
            r#"{"metadata":{"name":"b","uid":"u"},"data":{"k":"v"}}"#,
        ] {
            assert!(json(other).differs_from(item), "{other}");
        }
    }

    /// Hashes are saved with the objects of a cache. If the hash changes, every object is replaced after an upgrade.
    #[test]
    fn the_hash_is_the_same_in_every_release() {
        let text = format!(r#"{{"metadata":{{"name":"a"}},"data":{{"k":"{}"}}}}"#, "v".repeat(100));
        assert_eq!(json(&text).to_number(), 13_822_561_397_134_519_942);
        assert_eq!(json("{}").to_number(), 14_343_966_837_823_903_902);
    }

    // A4
    #[test]
    fn encodings_are_not_compared() {
        let schema = Schema::of("v1", "ConfigMap").unwrap();
        let bytes = schema.encode(&serde_json::json!({ "metadata": { "name": "a" } })).unwrap();
        let protobuf = Raw::new(Format::ProtobufItem(schema), bytes.into()).content_hash(ManagedFields::Drop);
        let json = json(r#"{"metadata":{"name":"a"}}"#);
        assert!(!protobuf.differs_from(json) && !json.differs_from(protobuf));
    }

    // A4
    #[test]
    fn managed_fields_in_protobuf_do_not_count_if_they_are_dropped() {
        let schema = Schema::of("v1", "ConfigMap").unwrap();
        let raw = |object: serde_json::Value| {
            Raw::new(Format::Protobuf(schema), schema.encode(&object).unwrap().into())
        };
        let managed = raw(serde_json::json!({
            "metadata": { "name": "a", "managedFields": [{ "manager": "m" }] }, "data": { "k": "v" }
        }));
        let plain = raw(serde_json::json!({ "metadata": { "name": "a" }, "data": { "k": "v" } }));
        let other = raw(serde_json::json!({ "metadata": { "name": "a" }, "data": { "k": "w" } }));
        let hash = |raw: &Raw| raw.content_hash(ManagedFields::Drop);
        assert_eq!(hash(&managed), hash(&plain));
        assert_eq!(hash(&managed.without_managed_fields()), hash(&plain));
        assert!(hash(&other).differs_from(hash(&plain)));
        assert!(
            managed.content_hash(ManagedFields::Keep).differs_from(plain.content_hash(ManagedFields::Keep))
        );
    }

    proptest! {
        #[test]
        fn the_hash_does_not_depend_on_the_split(bytes: Vec<u8>, splits in prop::collection::vec(0_usize..64, 0..4)) {
            let mut rest = &bytes[..];
            let mut parts = Vec::new();
            for split in splits {
                let (part, after) = rest.split_at(split.min(rest.len()));
                parts.push(part);
                rest = after;
            }
            parts.push(rest);
            prop_assert_eq!(super::hash(parts), super::hash([&bytes[..]]));
        }

        #[test]
        fn a_changed_byte_changes_the_hash(mut bytes in prop::collection::vec(any::<u8>(), 1..200), at: prop::sample::Index, bit in 0_u8..8) {
            let before = super::hash([&bytes[..]]);
            let at = at.index(bytes.len());
            bytes[at] ^= 1 << bit;
            prop_assert_ne!(super::hash([&bytes[..]]), before);
        }
    }
}
