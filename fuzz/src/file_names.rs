//! File names made from text of a server.

use kube_informer_saved::file_name;
use std::path::{Component, Path};

/// Every text becomes one component of a path, and two different texts become two.
pub(crate) fn texts(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    let (one, other) = text.split_once('\0').unwrap_or((&text, ""));
    let names = [check(one), check(other)];
    assert_eq!(one == other, names[0] == names[1], "{one:?} {other:?}");
}

fn check(text: &str) -> String {
    let name = file_name(text);
    let components: Vec<_> = Path::new(&name).components().collect();
    assert!(
        matches!(components.as_slice(), [Component::Normal(only)] if **only == *name),
        "{text:?} {name:?}"
    );
    assert!(name.len() <= 200 && name.is_ascii() && !name.contains(['/', '\\', ':', '\0']), "{name:?}");
    let is_usual = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    if !text.is_empty() && text.len() <= 200 && text.bytes().all(is_usual) {
        assert_eq!(name, text, "a valid name stays as it is");
    }
    name
}
