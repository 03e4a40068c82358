//! Valid and malformed lists in chunks of any size.

use super::{JsonList, ListError};
use bytes::Bytes;
use proptest::prelude::*;
use serde_json::{Value, json};

/// Reads a body that arrives in pieces of these sizes, repeatedly.
fn read(body: &[u8], sizes: &[usize]) -> Result<(Vec<Vec<u8>>, super::ListMeta), ListError> {
    let (mut list, mut items, mut rest) = (JsonList::with_limit(1 << 20), Vec::new(), body);
    for size in sizes.iter().cycle() {
        let (piece, after) = rest.split_at((*size).clamp(1, rest.len().max(1)).min(rest.len()));
        list.push(Bytes::copy_from_slice(piece));
        while let Some(item) = list.next()? {
            items.push(item.to_vec());
        }
        rest = after;
        if rest.is_empty() {
            break;
        }
    }
    list.finish().map(|meta| (items, meta))
}

fn count(body: &str) -> Result<usize, String> {
    read(body.as_bytes(), &[7]).map(|(items, _)| items.len()).map_err(|error| error.to_string())
}

#[test]
fn reads_the_metadata_of_a_list() {
    let body = r#"{"kind":"PodList","apiVersion":"v1","metadata":{"resourceVersion":"10","continue":"C1",
        "remainingItemCount":3,"shardInfo":{"selector":"s"}},"items":[{"metadata":{"name":"a"}},{"items":[{}]}],"extra":{"items":[{}]}}"#;
    let (items, meta) = read(body.as_bytes(), &[1]).unwrap();
    assert_eq!(items, [br#"{"metadata":{"name":"a"}}"#.to_vec(), br#"{"items":[{}]}"#.to_vec()]);
    assert_eq!((meta.kind.as_str(), meta.api_version.as_str()), ("PodList", "v1"));
    assert_eq!(meta.version.unwrap().to_string(), "10");
    assert_eq!((meta.continue_token.as_deref(), meta.remaining), (Some("C1"), Some(3)));
    assert_eq!(meta.shard_selector.as_deref(), Some("s"));
}

#[test]
fn finds_items_at_any_position() {
    assert_eq!(count(r#"{"items":[{},{}],"metadata":{}}"#), Ok(2));
    assert_eq!(count(r#"{"items" : [ ] }"#), Ok(0));
    assert_eq!(count(r#"{"items":null}"#), Ok(0));
    assert_eq!(count(r#"{"kind":"items","metadata":{"items":[1]},"items":[]}"#), Ok(0));
    assert_eq!(count(r#"{"a":"items","b":[{},[1]],"items":[]}"#), Ok(0));
    assert_eq!(count(r#"{"not-items":[1],"itemsx":[2],"xitems":[3],"items":[{"a":"}]\"{"}]}"#), Ok(1));
}

#[test]
fn errors_have_an_offset() {
    assert_eq!(count(r#"{"items":[1]}"#), Err("list item is not an object at byte 10".into()));
    assert_eq!(count(r#"{"items":[{},"a"]}"#), Err("list item is not an object at byte 13".into()));
    assert_eq!(count(r#"{"items":[[]]}"#), Err("list item is not an object at byte 10".into()));
    assert_eq!(count(r#"{"items":[{}"#), Err("list ended unexpectedly after 12 bytes".into()));
    assert_eq!(count(""), Err("list ended unexpectedly after 0 bytes".into()));
    for body in [
        "7",
        " ",
        r#"{"items":[{}{}]}"#,
        r#"{"items":[{},]}"#,
        r#"{"items":[]}{"items":[]}"#,
        r#"{"items":[]}}"#,
        r#"{"items":[],"metadata":7}"#,
        r#"{"items":[{}],"items":[{}]}"#,
    ] {
        assert_eq!(count(body), Err("response is not a list".into()), "{body}");
    }
    let long = format!(r#"{{"items":[],"metadata":{{"resourceVersion":"{}"}}}}"#, "1".repeat(300));
    assert_eq!(count(&long), Err("invalid resourceVersion of the list".into()));
}

#[test]
fn errors_of_the_parts_around_items_do_not_show_values() {
    for body in [
        r#"{"items":"HUNTER2"}"#,
        r#"{"items":[],"metadata":"HUNTER2"}"#,
        r#"{"items":[],"metadata":{"continue":{"x":"HUNTER2"}}}"#,
        r#"{"items":[],"kind":["HUNTER2, expected \"HUNTER2\""]}"#,
        r#"{"items":[],"kind":{"a":"HUNTER2"}}"#,
        r#""HUNTER2""#,
    ] {
        let mut list = JsonList::new();
        list.push(Bytes::copy_from_slice(body.as_bytes()));
        let error = loop {
            match list.next() {
                Ok(Some(_)) => {}
                Ok(None) => break list.finish().unwrap_err(),
                Err(error) => break error,
            }
        };
        let mut text = error.to_string();
        let mut cause = std::error::Error::source(&error);
        while let Some(error) = cause {
            text = format!("{text}: {error} {error:?}");
            cause = error.source();
        }
        assert!(!text.contains("HUNTER2"), "{text}");
    }
}

#[test]
fn a_body_without_items_is_not_a_list() {
    for body in [
        "{}",
        r#"{"kind":"Status","code":500}"#,
        r#"{"metadata":{"resourceVersion":"1"}}"#,
        r#"{"items":{"a":{}}}"#,
        r#"{"items":7}"#,
        r#"{"it\u0065ms":[{}]}"#,
    ] {
        assert_eq!(count(body), Err("response is not a list".into()), "{body}");
    }
}

#[test]
fn metadata_may_be_missing() {
    let said = r#"{"resourceVersion":"","continue":"","remainingItemCount":-1}"#;
    for metadata in ["null", "{}", said, r#"{"resourceVersion":null,"continue":null}"#] {
        let body = format!(r#"{{"kind":null,"metadata":{metadata},"items":[]}}"#);
        let (_, meta) = read(body.as_bytes(), &[3]).unwrap();
        assert_eq!(meta, super::ListMeta::default(), "{metadata}");
    }
}

#[test]
fn an_error_is_returned_again() {
    let mut list = JsonList::with_limit(40);
    for piece in [r#"{"items":["#, "1", "]}"] {
        list.push(piece.into());
    }
    for _ in 0..3 {
        assert!(matches!(list.next(), Err(ListError::NotAnObject { offset: 10 })));
    }
    assert!(matches!(list.finish(), Err(ListError::NotAnObject { offset: 10 })));

    let mut list = JsonList::with_limit(40);
    list.push(format!(r#"{{"items":[{{"a":"{}"}}"#, "x".repeat(40)).into());
    assert!(matches!(list.next(), Err(ListError::TooLong { limit: 40, .. })));
    list.push(",{}]}".into());
    assert!(matches!(list.next(), Err(ListError::TooLong { limit: 40, .. })));
}

#[test]
fn the_limit_of_an_item_does_not_limit_their_number() {
    let mut list = JsonList::with_limit(40);
    let items = vec!["{}"; 1000].join(",");
    list.push(format!(r#"{{"items":[{items}],"kind":"L"}}"#).into());
    assert_eq!(std::iter::from_fn(|| list.next().unwrap()).count(), 1000);
    assert_eq!(list.finish().unwrap().kind, "L");
    // The rest of the list is limited as well.
    let mut list = JsonList::with_limit(40);
    list.push(format!(r#"{{"items":[{{}},{{}}{}],"kind":"L"}}"#, " ".repeat(40)).into());
    let read = std::iter::from_fn(|| list.next().transpose()).collect::<Result<Vec<_>, _>>();
    assert!(matches!(read, Err(ListError::TooLong { limit: 40, .. })), "{read:?}");
}

#[test]
fn all_items_must_be_read_before_the_end() {
    let list = || {
        let mut list = JsonList::new();
        list.push("".into());
        list.push(r#"{"items":[{}"#.into());
        list.push(r#"],"kind":"L"}"#.into());
        list
    };
    let mut read = list();
    assert!(read.next().unwrap().is_some());
    assert_eq!(read.finish().unwrap().kind, "L");
    assert!(matches!(list().finish(), Err(ListError::UnreadItem { offset: 12 })));
}

#[test]
fn depth_and_length_are_limited() {
    let deep = format!(r#"{{"a":{}"#, r#"{"a":"#.repeat(1000));
    assert_eq!(count(&deep), Err("list is nested deeper than 128 levels at byte 640".into()));
    // Decoding reports an item that is nested too deep.
    let item = format!("{}1{}", r#"{"a":"#.repeat(1000), "}".repeat(1000));
    assert_eq!(count(&format!(r#"{{"kind":"L","apiVersion":"v1","items":[{item},{{}}]}}"#)), Ok(2));
    let item = format!(r#"{{"items":[{{"a":"{}"}}]}}"#, "x".repeat(2 << 20));
    assert!(count(&item).unwrap_err().contains("longer than 1048576 bytes"), "an item");
    let around = format!(r#"{{"a":"{}","items":[]}}"#, "x".repeat(2 << 20));
    assert!(count(&around).unwrap_err().contains("longer than 1048576 bytes"), "the envelope");
}

#[test]
fn an_item_within_one_piece_is_a_slice_of_it() {
    let body = Bytes::from_static(br#"{"items":[{"a":1},{"b":2}]}"#);
    let mut list = JsonList::new();
    list.push(body.clone());
    let item = list.next().unwrap().unwrap();
    assert!(body.as_ptr_range().contains(&item.as_ptr()));
}

fn object() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        "[\\PC\"\\\\{}\\[\\],:]{0,12}".prop_map(Value::from),
    ];
    let value = leaf.prop_recursive(4, 24, 4, |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            proptest::collection::btree_map("(items|[a-z\"\\\\]{0,4})", inner, 0..4)
                .prop_map(|map| Value::Object(map.into_iter().collect())),
        ]
    });
    proptest::collection::btree_map("(items|metadata|[a-z]{1,4})", value, 0..4)
        .prop_map(|map| Value::Object(map.into_iter().collect()))
}

proptest! {
    #[test]
    fn returns_the_items_in_order_from_any_pieces(
        items in proptest::collection::vec(object(), 0..8),
        extra in object(),
        sizes in proptest::collection::vec(1..40_usize, 1..5),
        pretty: bool,
    ) {
        let body = json!({ "apiVersion": "v1", "kind": "List", "metadata": {"resourceVersion": "5"}, "extra": extra, "items": items });
        let text = if pretty { serde_json::to_vec_pretty(&body) } else { serde_json::to_vec(&body) }.unwrap();
        let (found, meta) = read(&text, &sizes).unwrap();
        let found: Vec<Value> = found.iter().map(|item| serde_json::from_slice(item).unwrap()).collect();
        prop_assert_eq!(found, items);
        prop_assert_eq!(meta.version.unwrap().to_string(), "5");
    }

    #[test]
    fn the_pieces_make_no_difference_for_malformed_lists(
        items in proptest::collection::vec(object(), 0..4),
        cut in any::<prop::sample::Index>(),
        flip in any::<(prop::sample::Index, u8)>(),
        sizes in proptest::collection::vec(1..40_usize, 1..5),
    ) {
        let mut text = serde_json::to_vec(&json!({ "items": items, "metadata": {} })).unwrap();
        let position = flip.0.index(text.len());
        text[position] = flip.1;
        text.truncate(cut.index(text.len() + 1));
        let shown = |result: Result<(Vec<Vec<u8>>, super::ListMeta), ListError>| format!("{result:?}");
        let (cut, whole) = (read(&text, &sizes), read(&text, &[usize::MAX]));
        prop_assert_eq!(shown(cut), shown(whole));
    }

    #[test]
    fn never_panics_on_random_bytes(text in proptest::collection::vec(any::<u8>(), 0..200), size in 1..20_usize) {
        _ = read(&text, &[size]);
    }
}
