//! Tests of encoding, decoding, blocks, and restoring.

use super::{
    super::{Storage, raw::Decoder},
    encoder::Encoder,
    input::{EncodeInput, groups},
    object::EncodedObject,
    restorer::{Restorer, SavedCompression, SavedObject},
};
use bytes::Bytes;
use k8s_openapi::api::core::v1::ConfigMap;
use kube_informer_wire::{Format, Identity, ManagedFields, Raw};
use std::sync::Arc;

fn decoder(managed_fields: ManagedFields) -> Decoder<ConfigMap> {
    Decoder::new(move |raw| Ok(raw.decode(managed_fields)?)).managed_fields(managed_fields)
}

/// Returns a config map of about half a kilobyte, with this number as its version.
fn map(number: usize) -> Raw {
    let json = format!(
        r#"{{"metadata":{{"name":"m{number}","uid":"u","resourceVersion":"{number}","managedFields":[{{"manager":"{}"}}]}}}}"#,
        "manager ".repeat(45)
    );
    Raw::new(Format::Json, json.into())
}

fn input(decoder: &Decoder<ConfigMap>, raw: &Raw) -> EncodeInput<ConfigMap> {
    EncodeInput::new(raw, decoder, &Identity::of(&decoder.decode(raw).unwrap())).unwrap()
}

fn encode_all(
    encoder: &Encoder<ConfigMap>,
    decoder: &Decoder<ConfigMap>,
    count: usize,
) -> Vec<EncodedObject<ConfigMap>> {
    let inputs: Vec<_> = (0..count).map(|number| input(decoder, &map(number))).collect();
    encoder.encode(&inputs.iter().collect::<Vec<_>>())
}

fn encode(
    encoder: &Encoder<ConfigMap>,
    decoder: &Decoder<ConfigMap>,
    number: usize,
) -> EncodedObject<ConfigMap> {
    encoder.encode(&[&input(decoder, &map(number))]).pop().unwrap()
}

fn encoders() -> [Encoder<ConfigMap>; 2] {
    [Encoder::uncompressed(), Encoder::compressed()]
}

#[test]
fn managed_fields_are_not_kept_if_the_decoder_drops_them() {
    for encoder in encoders() {
        let [kept, dropped] =
            [ManagedFields::Keep, ManagedFields::Drop].map(|fields| encode(&encoder, &decoder(fields), 7));
        assert!(String::from_utf8(kept.raw().bytes().to_vec()).unwrap().contains("manager"));
        assert!(!String::from_utf8(dropped.raw().bytes().to_vec()).unwrap().contains("manager"));
        assert_eq!(dropped.decode().metadata.name.as_deref(), Some("m7"));
        assert!(kept.is_same_state(&dropped));
        assert!(!kept.is_same_state(&encode(&encoder, &decoder(ManagedFields::Drop), 8)));
    }
}

#[test]
fn state_is_known_without_decoding() {
    for encoder in encoders() {
        let undecodable = Decoder::new(|_: &Raw| panic!("decoded"));
        let raw = map(7);
        let identity = raw.identity().unwrap();
        let object: EncodedObject<ConfigMap> =
            encoder.encode(&[&EncodeInput::new(&raw, &undecodable, &identity).unwrap()]).remove(0);
        assert_eq!(object.version(), "7".parse().ok());
        assert!(object.is_state(&identity));
        assert!(!object.is_state(&map(8).identity().unwrap()));
        assert!(!object.keeps_decoded());
    }
}

#[test]
fn an_uncompressed_object_does_not_share_the_allocation_of_its_list() {
    struct Page(Arc<Vec<u8>>);
    impl AsRef<[u8]> for Page {
        fn as_ref(&self) -> &[u8] {
            &self.0
        }
    }
    let allocation = Arc::new(map(1).bytes().repeat(2));
    let page = Bytes::from_owner(Page(Arc::clone(&allocation)));
    let raw = Raw::new(Format::Json, page.slice(..page.len() / 2));
    let object = Encoder::uncompressed().encode(&[&input(&decoder(ManagedFields::Keep), &raw)]).remove(0);
    drop((page, raw));
    assert_eq!(Arc::strong_count(&allocation), 1);
    assert_eq!(object.decode().metadata.name.as_deref(), Some("m1"));
}

#[test]
fn uncompressed_objects_have_their_exact_size_and_cannot_shrink() {
    let encoder = Encoder::uncompressed();
    let objects = encode_all(&encoder, &decoder(ManagedFields::Keep), 100);
    assert!(!encoder.list_completed());
    for (number, object) in objects.iter().enumerate() {
        let bytes = map(number).bytes().len();
        assert!(!object.can_shrink());
        assert!((bytes..bytes + 120).contains(&object.size()), "{} for {bytes} bytes", object.size());
        assert_eq!(object.raw().bytes(), map(number).bytes());
        assert_eq!(object.decode().metadata.name, Some(format!("m{number}")));
    }
}

#[test]
fn clones_are_the_same_object() {
    let encoder = Encoder::uncompressed();
    let [one, other] = [1, 1].map(|number| encode(&encoder.clone(), &decoder(ManagedFields::Keep), number));
    assert!(one.ptr_eq(&one.clone()) && !one.ptr_eq(&other));
    assert!(one.is_same_state(&other));
}

#[test]
fn neighbors_are_grouped_up_to_a_number_and_a_length() {
    let [one, other] = [0, 1].map(|_| decoder(ManagedFields::Keep));
    let some = |decoder, count, length: usize| {
        let json = format!(r#"{{"metadata":{{"name":"a"}},"data":{{"text":"{}"}}}}"#, "x".repeat(length));
        let raw = Raw::new(Format::Json, json.into());
        (0..count).map(move |_| input(decoder, &raw))
    };
    let sizes = |inputs: Vec<EncodeInput<ConfigMap>>, max| -> Vec<usize> {
        groups(&inputs.iter().collect::<Vec<_>>(), max).map(<[_]>::len).collect()
    };
    assert_eq!(sizes(some(&one, 35, 10).collect(), 16), [16, 16, 3]);
    assert_eq!(sizes(some(&one, 9, 9_000).collect(), 16), [4, 4, 1]);
    assert_eq!(sizes(some(&one, 2, 100_000).collect(), 16), [1, 1]);
    assert_eq!(sizes(some(&one, 3, 10).chain(some(&other, 2, 10)).collect(), 16), [3, 2]);
    assert_eq!(sizes(some(&one, 3, 10).collect(), 1), [1, 1, 1]);
    assert_eq!(sizes(Vec::new(), 16), [0; 0]);
}

#[test]
fn each_object_of_a_block_is_decoded_and_freed_independently() {
    let encoder = Encoder::compressed();
    let decoder = decoder(ManagedFields::Keep);
    let together = encode_all(&encoder, &decoder, 100);
    let alone = encode(&encoder, &decoder, 0);
    assert!(together[0].size() * 2 < alone.size(), "{} and {}", together[0].size(), alone.size());
    assert!(together.iter().all(EncodedObject::can_shrink));
    assert!(encoder.list_completed());
    let again = encoder.reencode(&together);
    assert!(again.iter().all(|object| !object.can_shrink()) && again[0].size() < together[0].size());
    for all in [together, again] {
        let remaining: Vec<_> = all.into_iter().enumerate().skip(5).step_by(16).collect();
        for (number, object) in remaining {
            assert_eq!(object.decode().metadata.name, Some(format!("m{number}")));
            assert_eq!(object.raw().bytes(), map(number).bytes());
        }
    }
}

#[test]
fn the_size_of_a_block_is_divided_among_the_remaining_objects() {
    let mut together = encode_all(&Encoder::compressed(), &decoder(ManagedFields::Keep), 4);
    let all = together[0].size() * 4;
    let block = AsRef::<[u8]>::as_ref(&together[0]).len();
    together.truncate(1);
    assert!(together[0].size() > block && together[0].size() < all, "{} of {all}", together[0].size());
}

#[test]
fn a_recently_decoded_object_is_returned_only_for_the_same_encoded_object() {
    for encoder in encoders() {
        let decoder = decoder(ManagedFields::Keep);
        let [one, other] = [1, 2].map(|number| encode(&encoder, &decoder, number));
        let object = one.decode_cached(5);
        assert!(Arc::ptr_eq(&object, &one.decode_cached(5)));
        assert_eq!(other.decode_cached(5).metadata.name.as_deref(), Some("m2"));
        assert!(!Arc::ptr_eq(&object, &one.decode_cached(5)), "the other object has replaced it");
        drop(encoder);
        assert_eq!(one.decode_cached(5), object, "decoding does not need the cache");
    }
}

#[test]
fn an_object_that_makes_its_decoder_panic_cannot_be_decoded() {
    let raw = map(7);
    let encode = |decoder: Decoder<ConfigMap>| {
        let input = EncodeInput::new(&raw, &decoder, &raw.identity().unwrap()).unwrap();
        Encoder::compressed().encode(&[&input]).remove(0)
    };
    assert!(encode(decoder(ManagedFields::Keep)).can_be_decoded());
    assert!(!encode(Decoder::new(|_: &Raw| panic!("an unexpected object"))).can_be_decoded());
}

#[test]
fn an_encoder_for_saving_gives_each_object_its_own_block() {
    for storage in [Storage::Decoded, Storage::Encoded, Storage::Compressed] {
        let encoder = Encoder::for_saving(storage);
        assert_eq!(encoder.keeps_decoded(), storage == Storage::Decoded);
        let objects = encode_all(&encoder, &decoder(ManagedFields::Keep), 20);
        for object in &objects {
            assert!(object.has_own_block());
            assert_eq!(object.is_compressed(), storage != Storage::Encoded);
            assert_eq!(object.keeps_decoded(), storage == Storage::Decoded);
        }
    }
    assert!(!encode_all(&Encoder::compressed(), &decoder(ManagedFields::Keep), 2)[1].has_own_block());
}

/// Saves objects of one storage, and restores them with another.
#[test]
fn objects_are_restored_with_any_storage() {
    let decoder = decoder(ManagedFields::Keep);
    let storages = [Storage::Decoded, Storage::Encoded, Storage::Compressed];
    for [from, to] in storages.into_iter().flat_map(|from| storages.map(|to| [from, to])) {
        let encoder = Encoder::for_saving(from);
        let has_dictionary = {
            encode_all(&encoder, &decoder, 20);
            encoder.list_completed()
        };
        let saved = encode(&encoder, &decoder, 7);
        let target = Encoder::for_saving(to);
        let mut restorer = Restorer::new(target.clone(), decoder.clone());
        let dictionary = saved.dictionary().map(|dictionary| {
            assert!(restorer.add_dictionary(16, &dictionary.content));
            16
        });
        assert_eq!(dictionary.is_some(), has_dictionary);
        let compression = match from {
            Storage::Encoded => SavedCompression::None,
            Storage::Decoded | Storage::Compressed => SavedCompression::Zstd { dictionary },
        };
        let (uid, version) = saved.uid_and_version().unwrap();
        let version = version.parse().unwrap();
        let format = saved.format();
        let content = saved.known_content();
        assert!(content.is_some());
        let object =
            SavedObject { bytes: saved.as_ref(), format, compression, uid: &uid, version: &version, content };
        let restored = restorer.restore(&object).unwrap();
        assert!(restored.can_be_decoded() && restored.has_own_block() && restored.is_same_state(&saved));
        assert_eq!(restored.known_content(), content);
        assert_eq!(restored.is_compressed(), to != Storage::Encoded, "{from:?} to {to:?}");
        assert_eq!(restored.raw().bytes(), map(7).bytes());
        let damaged = SavedObject { bytes: &[1, 2, 3], ..object };
        assert!(restorer.restore(&damaged).is_none_or(|damaged| !damaged.can_be_decoded()));
    }
}

#[test]
fn an_object_of_an_unknown_dictionary_is_not_restored() {
    let mut restorer = Restorer::new(Encoder::compressed(), decoder(ManagedFields::Keep));
    let saved = encode(&Encoder::compressed(), &decoder(ManagedFields::Keep), 7);
    let version = saved.version().unwrap();
    let mut object = SavedObject {
        bytes: saved.as_ref(),
        format: Format::Json,
        compression: SavedCompression::Zstd { dictionary: Some(16) },
        uid: "u",
        version: &version,
        content: None,
    };
    assert!(restorer.restore(&object).is_none());
    object.compression = SavedCompression::Zstd { dictionary: None };
    assert_eq!(restorer.restore(&object).unwrap().decode().metadata.name.as_deref(), Some("m7"));
}

#[test]
fn labels_are_read_without_decoding_if_the_decoder_can_do_that() {
    let raw = Raw::new(Format::Json, r#"{"metadata":{"name":"a","labels":{"l":"1"}}}"#.into());
    let decoders = [
        decoder(ManagedFields::Keep),
        Decoder::new(|_: &Raw| panic!("decoded")).validate_with(
            crate::object::ValidationCost::Full,
            |raw, on_labels| {
                on_labels(raw.decode::<ConfigMap>(ManagedFields::Keep)?.metadata.labels.as_ref());
                Ok(())
            },
        ),
    ];
    for decoder in decoders {
        let input = EncodeInput::new(&raw, &decoder, &raw.identity().unwrap()).unwrap();
        let object = Encoder::uncompressed().encode(&[&input]).remove(0);
        assert_eq!(object.with_labels(|labels| labels.unwrap()["l"].clone()), "1");
    }
}
