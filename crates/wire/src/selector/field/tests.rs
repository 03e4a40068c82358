//! Field selectors: parsing, matching and errors.

use super::{FieldOperator, FieldRequirement, FieldSelector};
use proptest::prelude::*;
use std::collections::BTreeMap;

fn selector(text: &str) -> FieldSelector {
    text.parse().unwrap_or_else(|error| panic!("{error}"))
}

#[test]
fn displays_the_canonical_form() {
    let table = [
        ("", ""),
        (",,", ""),
        ("b=1,a=2,", "a=2,b=1"),
        ("a==b", "a=b"),
        ("a!=b", "a!=b"),
        ("a=", "a="),
        ("a= b ", "a= b "),
        ("a=!b", "a=!b"),
        ("a=b,a=b", "a=b"),
        (r"a=x\,y\=z\\", r"a=x\,y\=z\\"),
    ];
    for (text, canonical) in table {
        assert_eq!(selector(text).to_string(), canonical, "{text:?}");
    }
}

#[test]
fn rejects_invalid_selectors_with_an_offset() {
    let table = [
        ("a", 1, "'=', '==' or '!='"),
        ("a!b=c", 1, "'=', '==' or '!='"),
        ("x=1,a", 5, "'=', '==' or '!='"),
        ("=a", 0, "a field path"),
        (" a=b", 0, "a field path"),
        ("a =b", 1, "a field path"),
        (r"a\=b", 1, "a field path"),
        ("a=b=c", 3, "a backslash before '='"),
        ("a===b", 3, "a backslash before '='"),
        (r"a=\b", 3, r"'\', ',' or '=' after a backslash"),
        (r"a=\", 3, r"'\', ',' or '=' after a backslash"),
    ];
    for (text, offset, expected) in table {
        let error = text.parse::<FieldSelector>().unwrap_err();
        assert_eq!((error.offset(), error.expected()), (offset, expected), "{text:?}");
    }
}

#[test]
fn a_missing_field_is_empty() {
    assert!(selector("a=").matches(|_| None::<&str>));
    assert!(selector("a!=b").matches(|_| None::<&str>));
    assert!(!selector("a=b").matches(|_| None::<&str>));
}

#[test]
fn returns_the_exact_value_of_a_field() {
    assert_eq!(selector(r"metadata.name=a\,b,x!=y").exact("metadata.name"), Some("a,b"));
    assert_eq!(selector("x!=y").exact("x"), None);
    assert_eq!(selector("").exact("x"), None);
}

fn any_requirement() -> impl Strategy<Value = FieldRequirement> {
    let operator = prop_oneof![Just(FieldOperator::Equal), Just(FieldOperator::NotEqual)];
    ("[a-c][.a-b]{0,2}", operator, "[a-b,=\\\\! ä]{0,5}")
        .prop_map(|(field, operator, value)| FieldRequirement::new(field, operator, value).unwrap())
}

proptest! {
    #[test]
    fn parses_what_it_displays(requirements in prop::collection::vec(any_requirement(), 0..4)) {
        let made: FieldSelector = requirements.into_iter().collect();
        prop_assert_eq!(selector(&made.to_string()), made);
    }

    #[test]
    fn matches_like_a_simple_model(
        requirements in prop::collection::vec(any_requirement(), 0..3),
        fields in prop::collection::btree_map("[a-c]", "[a-b]?", 0..3),
    ) {
        let fields: BTreeMap<String, String> = fields;
        let plain = requirements.iter().all(|one| {
            let value = fields.get(one.field()).cloned().unwrap_or_default();
            (value == one.value()) == (one.operator() == FieldOperator::Equal)
        });
        let made: FieldSelector = requirements.into_iter().collect();
        prop_assert_eq!(made.matches(|field| fields.get(field)), plain);
    }

    #[test]
    fn never_panics_and_has_a_valid_offset(text in "\\PC{0,30}|[a-b=!,\\\\ä]{0,16}") {
        match text.parse::<FieldSelector>() {
            Ok(made) => prop_assert_eq!(selector(&made.to_string()), made),
            Err(error) => prop_assert!(error.offset() <= text.len()),
        }
    }
}
