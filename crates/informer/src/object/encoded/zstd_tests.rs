//! Tests of compression: every object can be decompressed, whichever dictionary it was compressed with.

use super::{
    dictionary::Dictionary,
    zstd::{DEFAULT_LEVEL, ZstdCompressor, decompress},
};
use proptest::prelude::*;
use std::sync::Arc;

struct Compressed {
    bytes: Vec<u8>,
    dictionary: Option<Arc<Dictionary>>,
    length: usize,
}

fn compressor() -> ZstdCompressor {
    ZstdCompressor::new(DEFAULT_LEVEL)
}

fn compress(compressor: &ZstdCompressor, bytes: &[u8]) -> Compressed {
    compress_all(compressor, &[bytes])
}

fn compress_all(compressor: &ZstdCompressor, objects: &[&[u8]]) -> Compressed {
    compressor.compress(objects, |compressed, dictionary| Compressed {
        bytes: compressed.into(),
        dictionary: dictionary.cloned(),
        length: objects.iter().map(|object| object.len()).sum(),
    })
}

impl Compressed {
    fn decompress(&self) -> Vec<u8> {
        decompress(&self.bytes, self.dictionary.as_deref(), self.length).expect("the block is valid")
    }

    fn has_same_dictionary(&self, other: &Self) -> bool {
        self.dictionary == other.dictionary
    }
}

/// Returns about a kilobyte. Texts of one kind differ only in the number.
fn text(kind: u64, number: u64) -> Vec<u8> {
    let line = |line: u64| {
        let noise = (kind + line).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        format!("{noise:016x}: {}\n", noise.rotate_left(29))
    };
    let lines: String = (0..32).map(line).collect();
    format!("{number}\n{lines}").into_bytes()
}

#[test]
fn a_dictionary_that_is_loaded_twice_is_shared() {
    let compressor = compressor();
    let content = (0..100).flat_map(|number| text(1, number)).collect::<Vec<_>>();
    let [first, again] = [0, 1].map(|_| compressor.load_dictionary(&content).unwrap());
    assert!(Arc::ptr_eq(&first, &again));
    assert!(!Arc::ptr_eq(&first, &compressor.load_dictionary(&text(2, 0)).unwrap()));
    let used = compress(&compressor, &text(1, 7)).dictionary.unwrap();
    assert!(Arc::ptr_eq(&used, &first));
}

#[test]
fn a_dictionary_is_created_after_256_objects() {
    let compressor = compressor();
    let all: Vec<_> = (0..300).map(|number| compress(&compressor, &text(1, number))).collect();
    assert!(all[..255].iter().all(|object| object.dictionary.is_none()));
    assert!(all[255..].iter().all(|object| object.dictionary.is_some()));
    assert!(all[255..].iter().all(|object| object.has_same_dictionary(&all[255])));
    assert!(all[299].bytes.len() * 5 < all[0].bytes.len());
    assert!((0..300).all(|number| all[number].decompress() == text(1, number as u64)));
}

#[test]
fn a_long_list_gets_a_dictionary_from_a_larger_sample() {
    let compressor = compressor();
    // The first objects do not represent the list.
    let kind = |number: u64| number / 300 * 1000;
    let all: Vec<_> = (0..5000).map(|number| compress(&compressor, &text(kind(number), number))).collect();
    let changes: Vec<_> =
        (1..5000).filter(|number| !all[*number].has_same_dictionary(&all[number - 1])).collect();
    assert_eq!(changes, [255, 4095]);
    for number in (0..5000).step_by(97) {
        assert_eq!(all[number as usize].decompress(), text(kind(number), number));
    }
    compressor.list_completed();
    let after: Vec<_> = (0..70_000).map(|number| compress(&compressor, &text(1, number))).collect();
    assert!(
        after.iter().all(|object| object.has_same_dictionary(&after[0])),
        "sampling ends when the list is complete"
    );
}

#[test]
fn a_complete_list_of_16_objects_gets_a_dictionary() {
    let compressor = compressor();
    (0..15).for_each(|number| drop(compress(&compressor, &text(1, number))));
    assert!(!compressor.list_completed(), "15 are too few");
    compress(&compressor, &text(1, 15));
    assert!(compressor.list_completed());
    let object = compress(&compressor, &text(1, 16));
    assert!(object.dictionary.is_some());
    assert_eq!(object.decompress(), text(1, 16));
}

#[test]
fn the_dictionary_is_replaced_when_objects_compress_much_worse() {
    let compressor = compressor();
    let before: Vec<_> = (0..3000).map(|number| compress(&compressor, &text(1, number))).collect();
    compressor.list_completed();
    let after: Vec<_> = (0..7000).map(|number| compress(&compressor, &text(1000, number))).collect();
    let old = &before[2999];
    let new = &after[6999];
    assert!(!old.has_same_dictionary(new));
    assert!(new.bytes.len() < old.bytes.len() * 5 / 4, "{} and {}", old.bytes.len(), new.bytes.len());
    let changes = after.windows(2).filter(|pair| !pair[0].has_same_dictionary(&pair[1])).count();
    assert!((1..=2).contains(&changes), "{changes}");
    assert!((0..3000).step_by(97).all(|number| before[number].decompress() == text(1, number as u64)));
    assert!((0..7000).step_by(97).all(|number| after[number].decompress() == text(1000, number as u64)));
}

#[test]
fn a_dictionary_is_freed_with_the_last_object_that_needs_it() {
    let compressor = compressor();
    (0..256).for_each(|number| drop(compress(&compressor, &text(1, number))));
    let object = compress(&compressor, &text(1, 256));
    let dictionary = object.dictionary.as_ref().map(Arc::downgrade).unwrap();
    drop(compressor);
    assert_eq!(object.decompress(), text(1, 256));
    drop(object);
    assert!(dictionary.upgrade().is_none());
}

#[test]
fn a_damaged_block_is_not_decompressed() {
    let object = compress(&compressor(), &text(1, 0));
    assert!(decompress(&object.bytes[1..], None, object.length).is_none());
    assert!(decompress(&object.bytes, None, object.length - 1).is_none());
    assert!(decompress(&object.bytes, None, object.length + 1).is_none());
}

proptest! {
    #[test]
    fn objects_of_one_block_are_decompressed_together(objects in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..600), 1..20)) {
        let compressor = compressor();
        let parts: Vec<_> = objects.iter().map(Vec::as_slice).collect();
        for _ in 0..2 {
            prop_assert_eq!(compress_all(&compressor, &parts).decompress(), objects.concat());
            compressor.list_completed();
        }
    }

    #[test]
    fn any_bytes_can_be_compressed_and_decompressed(objects in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..600), 0..400)) {
        let compressor = compressor();
        let all: Vec<_> = objects.iter().map(|object| compress(&compressor, object)).collect();
        compressor.list_completed();
        for (object, compressed) in objects.iter().zip(&all) {
            prop_assert_eq!(&compressed.decompress(), object);
            prop_assert_eq!(&compress(&compressor, object).decompress(), object);
        }
    }
}
