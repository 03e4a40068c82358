//! The bodies of lists, in either encoding.

use crate::pieces::cuts;
use bytes::Bytes;
use kube_informer_wire::{Format, Items, ListMeta, ManagedFields, Raw, Schema};
use serde_json::Value;

/// The items, and the metadata of the list or an error.
type Cut = (Vec<Raw>, Option<ListMeta>);

pub(crate) fn json(data: &[u8]) {
    let whole = read(Items::json(), [Bytes::copy_from_slice(data)]);
    for cut in cuts(data) {
        assert_eq!(read(Items::json(), cut), whole, "the pieces make no difference");
    }
    whole.0.iter().for_each(poke);
    against_serde(data, &whole);
}

pub(crate) fn protobuf(data: &[u8]) {
    // Most inputs start with the prefix of a list, so that the rest is decoded.
    let pods = Schema::of("v1", "PodList").expect("it is there").body(data);
    for data in [data, &pods] {
        let whole = read(Items::protobuf(), [Bytes::copy_from_slice(data)]);
        for cut in cuts(data) {
            assert_eq!(read(Items::protobuf(), cut), whole, "the pieces make no difference");
        }
        whole.0.iter().for_each(poke);
    }
}

fn read(mut items: Items, pieces: impl IntoIterator<Item = Bytes>) -> Cut {
    let mut found = Vec::new();
    for piece in pieces {
        items.push(piece);
        loop {
            match items.next() {
                Ok(Some(item)) => found.push(item),
                Ok(None) => break,
                Err(error) => {
                    assert!(items.next().is_err(), "an error stays: {error}");
                    return (found, None);
                }
            }
        }
    }
    (found, items.finish().ok())
}

fn poke(item: &Raw) {
    drop(item.identity());
    drop(item.decode::<Value>(ManagedFields::Drop));
}

/// Compares the items with those of serde_json, if it accepts the list.
fn against_serde(data: &[u8], cut: &Cut) {
    let (items, meta) = cut;
    let (Ok(theirs), Some(meta)) = (serde_json::from_slice::<Value>(data), meta) else { return };
    let is_plain = data.windows(5).filter(|window| window == b"items").count() == 1;
    if !is_plain {
        // The result for duplicate names is not specified.
        return;
    }
    let decode = |item: &Raw| item.decode::<Value>(ManagedFields::Keep).expect("serde_json read it");
    let ours: Vec<_> = items.iter().map(decode).collect();
    assert!(items.iter().all(|item| item.format() == Format::Json));
    let items = theirs["items"].as_array().cloned().unwrap_or_default();
    assert_eq!(ours, items);
    let version = theirs["metadata"]["resourceVersion"].as_str().unwrap_or_default();
    assert_eq!(meta.version.as_ref().map(ToString::to_string).unwrap_or_default(), version);
}
