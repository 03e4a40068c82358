//! Label selectors: parsing, matching and errors.

use super::{LabelOperator, LabelRequirement, LabelSelector};
use crate::selector::MAX_SELECTOR_LENGTH;
use k8s_openapi::apimachinery::pkg::apis::meta::v1;
use proptest::prelude::*;
use std::collections::BTreeMap;

type Labels = BTreeMap<String, String>;

fn selector(text: &str) -> LabelSelector {
    text.parse().unwrap_or_else(|error| panic!("{error}"))
}

fn labels(pairs: &[(&str, &str)]) -> Labels {
    pairs.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect()
}

#[test]
fn displays_the_canonical_form() {
    let table = [
        ("", ""),
        (" \t\r\n", ""),
        ("a", "a"),
        ("! a", "!a"),
        ("b=1,a=2", "a=2,b=1"),
        ("a==b", "a=b"),
        ("a in (b)", "a=b"),
        ("a notin(b)", "a!=b"),
        ("a!=b", "a!=b"),
        ("a =\tb", "a=b"),
        ("a=", "a="),
        ("a=,b", "a=,b"),
        ("a in ()", "a="),
        ("a in (,)", "a="),
        ("a in (x,,y)", "a in (,x,y)"),
        ("x in (foo,,baz),y,z notin ()", "x in (,baz,foo),y,z!="),
        ("a in (c, b ,c)", "a in (b,c)"),
        ("a>1,a<9", "a>1,a<9"),
        ("a>007", "a>7"),
        ("in in (in,notin),notin", "in in (in,notin),notin"),
        ("a=b,a=b", "a=b"),
        ("example.com/a!=b", "example.com/a!=b"),
    ];
    for (text, canonical) in table {
        assert_eq!(selector(text).to_string(), canonical, "{text:?}");
        assert_eq!(selector(canonical), selector(text), "{text:?}");
    }
}

#[test]
fn rejects_invalid_selectors_with_an_offset() {
    let table = [
        ("a in x", 5, "'('"),
        ("a in", 4, "'('"),
        ("a in (x", 7, "',' or ')'"),
        ("a in (x y)", 8, "',' or ')'"),
        ("a in (=)", 6, "a label value"),
        ("a,", 2, "a label key"),
        (",a", 0, "a label key"),
        ("a,,b", 2, "a label key"),
        ("!", 1, "a label key"),
        ("!!a", 1, "a label key"),
        ("!a=b", 2, "',' or the end"),
        ("a b", 2, "'=', '!=', '<', '>', 'in', 'notin', ',' or the end"),
        ("a (b)", 2, "'=', '!=', '<', '>', 'in', 'notin', ',' or the end"),
        ("a=b c", 4, "',' or the end"),
        ("a=!b", 2, "a label value"),
        ("a===b", 3, "a label value"),
        ("a>b", 2, "a 64-bit integer"),
        ("a>", 2, "a 64-bit integer"),
        ("a<9223372036854775808", 2, "a 64-bit integer"),
        ("a>-1", 2, "a letter or a digit"),
        ("x/y/z=1", 3, "a letter, a digit, '-', '_' or '.'"),
        ("ok, -a", 4, "a letter or a digit"),
        ("a = b/c", 5, "a letter, a digit, '-', '_' or '.'"),
        ("a=\0", 2, "a letter, a digit, '-', '_' or '.'"),
    ];
    for (text, offset, expected) in table {
        let error = text.parse::<LabelSelector>().unwrap_err();
        assert_eq!((error.offset(), error.expected()), (offset, expected), "{text:?}");
    }
    let error = "a in x".parse::<LabelSelector>().unwrap_err();
    assert_eq!(error.to_string(), r#"invalid label selector "a in x" at byte 5: expected '('"#);
}

#[test]
fn rejects_a_selector_that_is_too_long() {
    let error = "ä".repeat(MAX_SELECTOR_LENGTH).parse::<LabelSelector>().unwrap_err();
    assert_eq!(error.offset(), MAX_SELECTOR_LENGTH);
    assert!(error.to_string().len() < 500);
}

#[test]
fn matches_by_the_operator() {
    let object = labels(&[("a", "b"), ("n", "5"), ("e", "")]);
    for text in
        ["", "a", "a=b", "a in (b,c)", "a!=c", "x!=b", "x notin (b)", "!x", "n>4", "n<6", "e=", "e in ()"]
    {
        assert!(selector(text).matches(&object), "{text:?}");
    }
    for text in ["!a", "a=c", "a!=b", "a notin (b)", "x", "x=", "x in ()", "n>5", "n<5", "a>1", "x<1", "a,x"]
    {
        assert!(!selector(text).matches(&object), "{text:?}");
    }
}

#[test]
fn no_labels_are_the_same_as_empty_labels() {
    for text in ["", "a", "!a", "a=b", "a!=b", "a>1"] {
        assert_eq!(selector(text).matches(None), selector(text).matches(&Labels::new()), "{text:?}");
    }
}

// R149
#[test]
fn recognizes_everything_and_nothing() {
    let (all, none, some) = (LabelSelector::everything(), LabelSelector::nothing(), selector("a"));
    assert_eq!((all.is_everything(), all.is_nothing(), all.matches(None)), (true, false, true));
    assert_eq!((none.is_everything(), none.is_nothing(), none.matches(None)), (false, true, false));
    assert_eq!((some.is_everything(), some.is_nothing()), (false, false));
    assert!(LabelSelector::default().is_everything());
}

#[test]
fn nothing_survives_being_displayed() {
    assert!(selector(&LabelSelector::nothing().to_string()).is_nothing());
    for text in ["a,!a", "!a,a=b", "a>1,!a", "x,!a,a in (b,c)"] {
        assert!(selector(text).is_nothing(), "{text:?}");
    }
    for text in ["!a,a!=b", "!a,a notin (b,c)", "!a,b"] {
        assert!(!selector(text).is_nothing(), "{text:?}");
    }
}

#[test]
fn returns_the_exact_value_of_a_label() {
    assert_eq!(selector("a=b,c").exact("a"), Some("b"));
    assert_eq!(selector("a!=x,a=b").exact("a"), Some("b"));
    for text in ["a in (b,c)", "a!=b", "a", "!a", "b=a", "a>1"] {
        assert_eq!(selector(text).exact("a"), None, "{text:?}");
    }
}

fn expression(key: &str, operator: &str, values: &[&str]) -> v1::LabelSelector {
    let expression = v1::LabelSelectorRequirement {
        key: key.into(),
        operator: operator.into(),
        values: Some(values.iter().map(ToString::to_string).collect()),
    };
    v1::LabelSelector { match_labels: None, match_expressions: Some(vec![expression]) }
}

#[test]
fn converts_from_the_selector_of_an_object() {
    let table = [
        (expression("a", "In", &["x", "b"]), "a in (b,x)"),
        (expression("a", "NotIn", &["x"]), "a!=x"),
        (expression("a", "Exists", &[]), "a"),
        (expression("a", "DoesNotExist", &[]), "!a"),
        (v1::LabelSelector::default(), ""),
        (v1::LabelSelector { match_labels: Some(labels(&[("k", "v")])), match_expressions: None }, "k=v"),
    ];
    for (object, text) in table {
        assert_eq!(LabelSelector::try_from(&object).unwrap(), selector(text), "{text}");
    }
    assert!(LabelSelector::try_from(None).unwrap().is_nothing());
}

#[test]
fn rejects_an_invalid_selector_of_an_object() {
    let table = [
        (
            expression("a", "In", &[]),
            r#"invalid match expression "a" at byte 1: expected at least one value"#,
        ),
        (
            expression("a", "Exists", &["b"]),
            r#"invalid match expression "a Exists" at byte 2: expected no values"#,
        ),
        (
            expression("a", "in", &["b"]),
            r#"invalid match expression "a in" at byte 2: expected In, NotIn, Exists or DoesNotExist"#,
        ),
        (expression("-", "Exists", &[]), r#"invalid label key "-" at byte 0: expected a letter or a digit"#),
        (
            expression("a", "In", &["b."]),
            r#"invalid label value "b." at byte 1: expected a letter or a digit"#,
        ),
    ];
    for (object, message) in table {
        assert_eq!(LabelSelector::try_from(&object).unwrap_err().to_string(), message);
    }
}

#[test]
fn rejects_a_bound_that_is_not_a_label_value() {
    for condition in
        [LabelOperator::GreaterThan(-1), LabelOperator::LessThan(-1), LabelOperator::LessThan(i64::MIN)]
    {
        let error = LabelRequirement::new("a", condition).unwrap_err();
        assert_eq!((error.offset(), error.expected()), (0, "a letter or a digit"));
    }
    assert!(LabelRequirement::new("a", LabelOperator::GreaterThan(0)).is_ok());
}

fn any_requirement() -> impl Strategy<Value = LabelRequirement> {
    let values = || prop::collection::btree_set("[a-c]?|[0-3]", 1..4);
    let bound = || prop_oneof![-2..4i64, any::<i64>()];
    let condition = prop_oneof![
        Just(LabelOperator::Exists),
        Just(LabelOperator::DoesNotExist),
        values().prop_map(LabelOperator::In),
        values().prop_map(LabelOperator::NotIn),
        bound().prop_map(LabelOperator::GreaterThan),
        bound().prop_map(LabelOperator::LessThan),
    ];
    ("[a-d]|x/[a-b]|in|notin", condition)
        .prop_filter_map("a bound below zero", |(key, condition)| LabelRequirement::new(key, condition).ok())
}

/// A simple model of a requirement.
fn model(requirement: &LabelRequirement, labels: &Labels) -> bool {
    let value = labels.get(requirement.key());
    match (requirement.operator(), value) {
        (LabelOperator::Exists, value) => value.is_some(),
        (LabelOperator::DoesNotExist, value) => value.is_none(),
        (LabelOperator::In(_) | LabelOperator::GreaterThan(_) | LabelOperator::LessThan(_), None) => false,
        (LabelOperator::NotIn(_), None) => true,
        (LabelOperator::In(values), Some(value)) => values.iter().any(|one| one == value),
        (LabelOperator::NotIn(values), Some(value)) => values.iter().all(|one| one != value),
        (LabelOperator::GreaterThan(bound), Some(value)) => {
            value.parse().is_ok_and(|value: i64| value > *bound)
        }
        (LabelOperator::LessThan(bound), Some(value)) => value.parse().is_ok_and(|value: i64| value < *bound),
    }
}

proptest! {
    #[test]
    fn parses_what_it_displays(requirements in prop::collection::vec(any_requirement(), 0..5)) {
        let made: LabelSelector = requirements.into_iter().collect();
        prop_assert_eq!(selector(&made.to_string()), made);
    }

    #[test]
    fn matches_like_a_simple_model(
        requirements in prop::collection::vec(any_requirement(), 0..4),
        labels in prop::collection::btree_map("[a-d]|x/[a-b]|in", "[a-c]?|[0-3]", 0..5),
    ) {
        let plain = requirements.iter().all(|requirement| model(requirement, &labels));
        prop_assert_eq!(requirements.into_iter().collect::<LabelSelector>().matches(&labels), plain);
    }

    #[test]
    fn never_panics_and_has_a_valid_offset(text in "\\PC{0,40}|[a-b=!(),<> \\\\in]{0,24}") {
        match text.parse::<LabelSelector>() {
            Ok(made) => prop_assert_eq!(selector(&made.to_string()), made),
            Err(error) => prop_assert!(error.offset() <= text.len()),
        }
    }

    #[test]
    fn never_panics_on_changed_text(
        requirements in prop::collection::vec(any_requirement(), 1..4), place: prop::sample::Index, byte in 0..128u8,
    ) {
        let text = requirements.into_iter().collect::<LabelSelector>().to_string();
        let place = place.index(text.len());
        let changed = format!("{}{}{}", &text[..place], char::from(byte), &text[place + 1..]);
        for text in [&text[..place], &changed] {
            if let Err(error) = text.parse::<LabelSelector>() {
                prop_assert!(error.offset() <= text.len());
            }
        }
    }
}
