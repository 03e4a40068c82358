//! Keys: their parts, their order, and references to them.

use super::{Key, KeyError, KeyRef};
use k8s_openapi::api::core::v1::{Node, Pod};
use proptest::prelude::*;

fn key(text: &str) -> Key {
    text.parse().unwrap()
}

// R102
#[test]
fn splits_into_namespace_and_name() {
    assert_eq!((key("web/a").namespace(), key("web/a").name()), (Some("web"), "a"));
    assert_eq!((key("node-1").namespace(), key("node-1").name()), (None, "node-1"));
}

// R102
#[test]
fn rejects_invalid_keys() {
    for text in ["", "/", "a/", "/a", "a/b/c", "a//b"] {
        assert_eq!(text.parse::<Key>(), Err(KeyError::Format { text: text.into() }), "{text:?}");
    }
    assert!(Key::new(Some("a"), "b/c").is_err());
    assert!(Key::new(Some(""), "a").is_err());
}

// R102
#[test]
fn reads_the_key_of_an_object() {
    let mut pod = Pod::default();
    assert_eq!(Key::of(&pod), Err(KeyError::MissingName));
    pod.metadata.name = Some("a".into());
    pod.metadata.namespace = Some("web".into());
    assert_eq!(Key::of(&pod), Ok(key("web/a")));
    let mut node = Node::default();
    node.metadata.name = Some("n".into());
    node.metadata.namespace = Some(String::new());
    assert_eq!(Key::of(&node), Ok(key("n")));
}

#[test]
fn invalid_text_refers_to_no_key() {
    for text in ["", "/a", "a/", "//a", "/", "web/", "web//a"] {
        assert!(!KeyRef::from(text).is(&key("a")) && !KeyRef::from(text).is(&key("web/a")), "{text:?}");
    }
}

#[test]
fn is_one_pointer_wide_and_shares_its_text() {
    let one = key("web/a");
    let two = one.clone();
    assert_eq!(size_of::<Option<Key>>(), size_of::<usize>());
    assert!(std::ptr::eq(one.as_str(), two.as_str()));
}

#[test]
fn orders_by_namespace_before_name() {
    let mut keys = ["a-b/x", "a/z", "n", "a/b"].map(key);
    keys.sort();
    assert_eq!(keys.each_ref().map(Key::as_str), ["n", "a/b", "a/z", "a-b/x"]);
}

proptest! {
    #[test]
    fn reference_and_key_agree(namespace in "[a-cä]{0,2}", name in "[a-c/]{1,3}", other in "[a-c/]{1,5}") {
        let namespace = Some(namespace.as_str()).filter(|ns| !ns.is_empty());
        if let Ok(made) = Key::new(namespace, &name) {
            prop_assert_eq!(&made, &key(made.as_str()));
            prop_assert!(KeyRef::from(made.as_str()).is(&made));
            prop_assert!(KeyRef::from((namespace.unwrap_or_default(), name.as_str())).is(&made));
            prop_assert_eq!(KeyRef::from(&made).to_string(), made.as_str());
            prop_assert_eq!(KeyRef::from(other.as_str()).is(&made), other == made.as_str());
        }
    }

    #[test]
    fn order_is_that_of_namespace_and_name(one in "([a-bä-]{1,2}/)?[a-bä-]{1,2}", two in "([a-bä-]{1,2}/)?[a-bä-]{1,2}") {
        let (one, two) = (key(&one), key(&two));
        let expected = (one.namespace(), one.name()).cmp(&(two.namespace(), two.name()));
        prop_assert_eq!(one.cmp(&two), expected);
        prop_assert_eq!(KeyRef::from(&one).is(&two), one == two);
    }
}
