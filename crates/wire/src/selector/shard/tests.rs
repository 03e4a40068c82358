//! Shard selectors: parsing, matching and errors.

use super::{ShardField, ShardRange, ShardSelector, selector::END};
use proptest::prelude::*;

const LOW: &str = "shardRange(object.metadata.uid, '0x0000000000000000', '0x8000000000000000')";
const HIGH: &str = "shardRange(object.metadata.uid, '0x8000000000000000', '0x10000000000000000')";

fn selector(text: &str) -> ShardSelector {
    text.parse().unwrap_or_else(|error| panic!("{error}"))
}

#[test]
fn displays_like_the_server() {
    let both = format!("{LOW} || {HIGH}");
    let tight = LOW.replace(' ', "");
    let loose = format!("  {}\n", LOW.replace('(', " ( ").replace(',', " , ").replace(')', " )"));
    let quoted = LOW.replace('\'', "\"");
    for (text, canonical) in
        [(LOW, LOW), (HIGH, HIGH), (&both, &both), (&tight, LOW), (&loose, LOW), (&quoted, LOW)]
    {
        assert_eq!(selector(text).to_string(), canonical, "{text:?}");
    }
}

#[test]
fn rejects_invalid_selectors_with_an_offset() {
    let mixed = format!("{LOW} || {}", HIGH.replace("uid", "namespace"));
    let table = [
        ("", 0, "shardRange"),
        ("other(object.metadata.uid)", 0, "shardRange"),
        ("shardRange object.metadata.uid", 11, "'('"),
        (
            "shardRange(object.metadata.name, '0x0', '0x1')",
            11,
            "object.metadata.uid or object.metadata.namespace",
        ),
        ("shardRange(object.metadata.uid)", 30, "','"),
        (&LOW[..LOW.len() - 1], 74, "')'"),
        (&format!("{LOW} && {LOW}"), 76, "'||' or the end"),
        (&format!("{LOW} ||"), 78, "shardRange"),
        (&LOW.replace("80", "00"), 32, "a start before the end"),
        (
            &HIGH.replace("0x8", "0x9").replace("0x10000000000000000", "0x8000000000000000"),
            32,
            "a start before the end",
        ),
        (&mixed, 79, "the same field in every shardRange"),
    ];
    for (text, offset, expected) in table {
        let error = text.parse::<ShardSelector>().unwrap_err();
        assert_eq!((error.offset(), error.expected()), (offset, expected), "{text:?}");
    }
    for bound in [
        "'0x0'",
        "''",
        "'0x'",
        "0",
        "'0x000000000000000G'",
        "'0x000000000000000A'",
        "'0x20000000000000000'",
        "'0X0000000000000000'",
    ] {
        let text = LOW.replace("'0x0000000000000000'", bound);
        assert_eq!(text.parse::<ShardSelector>().unwrap_err().offset(), 32, "{text:?}");
    }
}

#[test]
fn hashes_as_fnv_1a() {
    // The published test vectors of 64-bit FNV-1a.
    for (text, hash) in
        [("", 0xcbf2_9ce4_8422_2325), ("a", 0xaf63_dc4c_8601_ec8c), ("foobar", 0x8594_4171_f739_67e8)]
    {
        let only = |start: u64| {
            ShardSelector::new(ShardField::Uid, [ShardRange { start, end: u128::from(start) + 1 }])
        };
        assert!(only(hash).unwrap().matches(text, "x"), "{text:?}");
        assert!(!only(hash + 1).unwrap().matches(text, "x"), "{text:?}");
    }
}

#[test]
fn hashes_the_field_it_names() {
    let by_namespace = ShardSelector::part(ShardField::Namespace, 0, 1).unwrap();
    assert!(by_namespace.to_string().contains("object.metadata.namespace"));
    let half = |index| ShardSelector::part(ShardField::Namespace, index, 2).unwrap().matches("any", "web");
    assert_ne!(half(0), half(1));
}

#[test]
fn rejects_empty_ranges() {
    let range = |start, end| ShardSelector::new(ShardField::Uid, [ShardRange { start, end }]);
    assert!(range(1, 1).is_err() && range(0, END + 1).is_err() && range(u64::MAX, END).is_ok());
    assert!(ShardSelector::new(ShardField::Uid, []).is_err());
    assert!(ShardSelector::part(ShardField::Uid, 2, 2).is_err());
    assert!(ShardSelector::part(ShardField::Uid, 0, 0).is_err());
}

proptest! {
    #[test]
    fn an_object_is_in_exactly_one_shard(uid in "[0-9a-f-]{36}", count in 1..9u32) {
        let part = |index| ShardSelector::part(ShardField::Uid, index, count).unwrap();
        prop_assert_eq!((0..count).filter(|&index| part(index).matches(&uid, "")).count(), 1);
    }

    #[test]
    fn parses_what_it_displays(bounds in prop::collection::vec((any::<u64>(), 1..u64::MAX), 1..4)) {
        let range = |(start, length): (u64, u64)| ShardRange { start, end: (u128::from(start) + u128::from(length)).min(END) };
        let made = ShardSelector::new(ShardField::Uid, bounds.into_iter().map(range).collect::<Vec<_>>()).unwrap();
        prop_assert_eq!(selector(&made.to_string()), made);
    }

    #[test]
    fn never_panics_on_invalid_text(place: prop::sample::Index, char: char, random in "\\PC{0,20}") {
        let place = place.index(LOW.len());
        let changed = format!("{}{char}{}", &LOW[..place], &LOW[place + 1..]);
        for text in [&LOW[..place], &changed, &random] {
            if let Err(error) = text.parse::<ShardSelector>() {
                prop_assert!(error.offset() <= text.len());
            }
        }
    }
}
