//! What goes in comes out, whichever dictionary it went in with.

use super::{
    codec::{Codec, expand},
    dictionary::{Dictionary, SMALL},
    loose::{Loose, groups},
    packed::Packed,
    packer::Packer,
};
use crate::source::{Decoder, Wire};
use k8s_openapi::api::core::v1::ConfigMap;
use kube_informer_wire::{Format, Identity, ManagedFields, Raw};
use proptest::prelude::*;
use std::sync::Arc;

/// What one object became.
struct Small {
    bytes: Vec<u8>,
    dictionary: Option<Arc<Dictionary>>,
    length: usize,
}

fn compress(codec: &Codec, bytes: &[u8]) -> Small {
    codec.compress(&[bytes], |compressed, dictionary| Small {
        bytes: compressed.into(),
        dictionary: dictionary.cloned(),
        length: bytes.len(),
    })
}

impl Small {
    fn expand(&self) -> Vec<u8> {
        expand(&self.bytes, self.dictionary.as_deref(), self.length)
    }

    /// Whether both took the same dictionary, or none.
    fn is_like(&self, other: &Self) -> bool {
        self.dictionary.as_ref().map(Arc::as_ptr) == other.dictionary.as_ref().map(Arc::as_ptr)
    }
}

/// A kilobyte or so that says little new.
fn text(kind: u64, number: u64) -> Vec<u8> {
    let line = |line: u64| {
        let noise = (kind + line).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        format!("{noise:016x}: {}\n", noise.rotate_left(29))
    };
    let lines: String = (0..32).map(line).collect();
    format!("{number}\n{lines}").into_bytes()
}

/// Sources of one cache share a packer, and each has saved the dictionary.
#[cfg(feature = "saved")]
#[test]
fn a_dictionary_that_is_restored_twice_is_one() {
    let codec = Codec::new(SMALL);
    let content = (0..100).flat_map(|number| text(1, number)).collect::<Vec<_>>();
    let [first, again] = [0, 1].map(|_| codec.resume(&content).unwrap());
    assert!(Arc::ptr_eq(&first, &again));
    assert!(!Arc::ptr_eq(&first, &codec.resume(&text(2, 0)).unwrap()));
    assert!(compress(&codec, &text(1, 7)).dictionary.is_some_and(|taken| Arc::ptr_eq(&taken, &first)));
}

#[cfg(feature = "saved")]
#[test]
fn what_makes_its_decoder_panic_is_not_sound() {
    let raw = Raw::new(Format::Json, r#"{"metadata":{"name":"a","uid":"1","resourceVersion":"7"}}"#.into());
    let packed = |decoder: Decoder<ConfigMap>| {
        let wire = Wire { raw: raw.clone(), decoder };
        let identity = raw.identity().unwrap();
        Packer::new().pack(&[&Loose::new(&wire, &identity, None).unwrap()]).remove(0)
    };
    assert!(packed(Decoder::new(|raw: &Raw| Ok(raw.decode(ManagedFields::Keep)?))).is_sound());
    assert!(!packed(Decoder::new(|_: &Raw| panic!("an unexpected object"))).is_sound());
}

#[test]
fn the_first_256_make_a_dictionary() {
    let codec = Codec::new(SMALL);
    let all: Vec<_> = (0..300).map(|number| compress(&codec, &text(1, number))).collect();
    assert!(all[..255].iter().all(|small| small.dictionary.is_none()));
    assert!(all[255..].iter().all(|small| small.is_like(&all[255]) && small.dictionary.is_some()));
    assert!(all[299].bytes.len() * 5 < all[0].bytes.len());
    assert!((0..300).all(|number| all[number].expand() == text(1, number as u64)));
}

#[test]
fn a_long_list_gets_a_dictionary_of_more_of_it() {
    let codec = Codec::new(SMALL);
    // What comes first is not like the rest.
    let all: Vec<_> = (0..5000).map(|number| compress(&codec, &text(number / 300 * 1000, number))).collect();
    let changes: Vec<_> = (1..5000).filter(|number| !all[*number].is_like(&all[number - 1])).collect();
    assert_eq!(changes, [255, 4095]);
    assert!(
        (0..5000)
            .step_by(97)
            .all(|number| all[number].expand() == text(number as u64 / 300 * 1000, number as u64))
    );
    codec.list_ended();
    let after: Vec<_> = (0..70_000).map(|number| compress(&codec, &text(1, number))).collect();
    assert!(
        after.iter().all(|small| small.is_like(&after[0])),
        "a list that is complete says all there is to say"
    );
}

#[test]
fn so_do_fewer_if_that_is_all_there_are() {
    let codec = Codec::new(SMALL);
    (0..15).for_each(|number| drop(compress(&codec, &text(1, number))));
    assert!(!codec.list_ended(), "too few");
    compress(&codec, &text(1, 15));
    assert!(codec.list_ended());
    let small = compress(&codec, &text(1, 16));
    assert!(small.dictionary.is_some());
    assert_eq!(small.expand(), text(1, 16));
}

#[test]
fn objects_that_come_to_look_different_get_a_dictionary_of_their_own() {
    let codec = Codec::new(SMALL);
    let first: Vec<_> = (0..3000).map(|number| compress(&codec, &text(1, number))).collect();
    codec.list_ended();
    let then: Vec<_> = (0..7000).map(|number| compress(&codec, &text(1000, number))).collect();
    let (old, new) = (&first[2999], &then[6999]);
    assert!(!old.is_like(new));
    assert!(new.bytes.len() < old.bytes.len() * 5 / 4, "{} and {}", old.bytes.len(), new.bytes.len());
    let changes = then.windows(2).filter(|pair| !pair[0].is_like(&pair[1])).count();
    assert!((1..=2).contains(&changes), "{changes}");
    assert!((0..3000).step_by(97).all(|number| first[number].expand() == text(1, number as u64)));
    assert!((0..7000).step_by(97).all(|number| then[number].expand() == text(1000, number as u64)));
}

#[test]
fn a_dictionary_is_freed_with_the_last_object_that_needs_it() {
    let codec = Codec::new(SMALL);
    (0..256).for_each(|number| drop(compress(&codec, &text(1, number))));
    let small = compress(&codec, &text(1, 256));
    let dictionary = small.dictionary.as_ref().map(Arc::downgrade).unwrap();
    drop(codec);
    assert_eq!(small.expand(), text(1, 256));
    drop(small);
    assert!(dictionary.upgrade().is_none());
}

fn decoder(managed_fields: ManagedFields) -> Decoder<ConfigMap> {
    Decoder::new(move |raw| Ok(raw.decode(managed_fields)?)).managed_fields(managed_fields)
}

fn map(number: u64) -> Raw {
    let json = format!(
        r#"{{"metadata":{{"name":"m{number}","uid":"u","resourceVersion":"{number}","managedFields":[{{"manager":"{}"}}]}}}}"#,
        "somebody ".repeat(40)
    );
    Raw::new(Format::Json, json.into())
}

fn pack(packer: &Packer<ConfigMap>, decoder: &Decoder<ConfigMap>, number: u64) -> Packed<ConfigMap> {
    packer.pack(&[&loose(decoder, map(number))]).pop().unwrap()
}

#[test]
fn managed_fields_that_nobody_decodes_are_not_kept() {
    let packer = Packer::new();
    let [kept, dropped] =
        [ManagedFields::Keep, ManagedFields::Drop].map(|fields| pack(&packer, &decoder(fields), 7));
    assert!(String::from_utf8(kept.bytes().into()).unwrap().contains("somebody"));
    assert!(!String::from_utf8(dropped.bytes().into()).unwrap().contains("somebody"));
    assert_eq!(dropped.decode().metadata.name.as_deref(), Some("m7"));
    assert!(
        kept.is_same_state(&dropped) && !kept.is_same_state(&pack(&packer, &decoder(ManagedFields::Drop), 8))
    );
}

fn loose(decoder: &Decoder<ConfigMap>, raw: Raw) -> Loose<ConfigMap> {
    let object = decoder.decode(&raw).unwrap();
    Loose::new(&Wire { raw, decoder: decoder.clone() }, &Identity::of(&object), None).unwrap()
}

/// A map of so many bytes, about.
fn long(name: &str, length: usize) -> Raw {
    let json = format!(r#"{{"metadata":{{"name":"{name}"}},"data":{{"text":"{}"}}}}"#, "x".repeat(length));
    Raw::new(Format::Json, json.into())
}

fn sizes(objects: &[Loose<ConfigMap>]) -> Vec<usize> {
    groups(&objects.iter().collect::<Vec<_>>(), usize::MAX).map(<[_]>::len).collect()
}

#[test]
fn neighbours_are_packed_together_as_long_as_there_is_room() {
    let (one, other) = (decoder(ManagedFields::Keep), decoder(ManagedFields::Keep));
    let some = |decoder, count, length| (0..count).map(move |_| loose(decoder, long("a", length)));
    assert_eq!(sizes(&some(&one, 35, 10).collect::<Vec<_>>()), [16, 16, 3]);
    assert_eq!(sizes(&some(&one, 9, 9_000).collect::<Vec<_>>()), [4, 4, 1]);
    assert_eq!(sizes(&some(&one, 2, 100_000).collect::<Vec<_>>()), [1, 1]);
    assert_eq!(sizes(&some(&one, 3, 10).chain(some(&other, 2, 10)).collect::<Vec<_>>()), [3, 2]);
    assert_eq!(sizes(&[]), [0; 0]);
}

#[test]
fn each_of_a_group_is_read_by_itself_and_outlives_the_others() {
    let (packer, decoder) = (Packer::new(), decoder(ManagedFields::Keep));
    let objects: Vec<_> = (0..100).map(|number| loose(&decoder, map(number))).collect();
    let objects: Vec<_> = objects.iter().collect();
    let (together, alone) = (packer.pack(&objects), packer.pack(&objects[..1]));
    assert!(together[0].size() * 2 < alone[0].size(), "{} and {}", together[0].size(), alone[0].size());
    assert!(packer.list_ended());
    let again = packer.repack(&together);
    assert!(again.iter().all(|packed| !packed.is_loose()) && again[0].size() < together[0].size());
    for all in [together, again] {
        let survivors: Vec<_> = all.into_iter().enumerate().filter(|(number, _)| number % 16 == 5).collect();
        for (number, packed) in survivors {
            assert_eq!(packed.decode().metadata.name, Some(format!("m{number}")));
            assert_eq!(packed.bytes(), map(number as u64).bytes());
        }
    }
}

#[test]
fn who_is_left_pays_for_what_the_others_took() {
    let (packer, decoder) = (Packer::new(), decoder(ManagedFields::Keep));
    let objects: Vec<_> = (0..4).map(|number| loose(&decoder, map(number))).collect();
    let mut together = packer.pack(&objects.iter().collect::<Vec<_>>());
    let [all, block] = [together[0].size() * 4, AsRef::<[u8]>::as_ref(&together[0]).len()];
    together.truncate(1);
    assert!(together[0].size() > block && together[0].size() < all, "{} of {all}", together[0].size());
}

#[test]
fn what_was_read_last_is_at_hand_and_nothing_else_is_taken_for_it() {
    let (packer, decoder) = (Packer::new(), decoder(ManagedFields::Keep));
    let [one, other] = [1, 2].map(|number| pack(&packer, &decoder, number));
    let object = one.decode_again(5);
    assert!(Arc::ptr_eq(&object, &one.decode_again(5)));
    assert_eq!(other.decode_again(5).metadata.name.as_deref(), Some("m2"));
    assert!(!Arc::ptr_eq(&object, &one.decode_again(5)), "the place was taken");
    drop(packer);
    assert_eq!(one.decode_again(5), object, "without the cache it still can be read");
}

proptest! {
    #[test]
    fn several_that_go_in_as_one_come_out_as_one(objects in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..600), 1..20)) {
        let codec = Codec::new(SMALL);
        let parts: Vec<_> = objects.iter().map(Vec::as_slice).collect();
        for _ in 0..2 {
            let (bytes, dictionary) = codec.compress(&parts, |bytes, dictionary| (bytes.to_vec(), dictionary.cloned()));
            let whole = objects.concat();
            prop_assert_eq!(expand(&bytes, dictionary.as_deref(), whole.len()), whole);
            codec.list_ended();
        }
    }

    #[test]
    fn whatever_goes_in_comes_out(objects in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..600), 0..400)) {
        let codec = Codec::new(SMALL);
        let all: Vec<_> = objects.iter().map(|object| compress(&codec, object)).collect();
        codec.list_ended();
        for (object, small) in objects.iter().zip(&all) {
            prop_assert_eq!(&small.expand(), object);
            prop_assert_eq!(&compress(&codec, object).expand(), object);
        }
    }
}
