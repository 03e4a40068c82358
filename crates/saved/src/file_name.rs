//! Turns text that is not trusted into the name of a file.

use twox_hash::XxHash3_64;

/// The maximum length of a name, so that a suffix fits into the 255 bytes of common file systems.
const MAX_LENGTH: usize = 200;
/// The length of the hash that replaces the end of a longer name, with its separator.
const HASH_LENGTH: usize = 18;

/// Returns a file name for `text`, which may be the name of a resource or a namespace that a server sent.
///
/// The result is always a single component of a path: it is not empty, is neither `.` nor `..`, does not start with a dot, contains
/// only lower case ASCII letters, digits, `-`, `_`, `.` and `%`, and has at most 200 bytes. Different texts have different names, also on
/// file systems that ignore case; longer strings are distinguished by a hash. Valid names of Kubernetes resources and namespaces are returned as they are.
///
/// ```
/// use kube_informer_saved::file_name;
///
/// assert_eq!(file_name("deployments.apps"), "deployments.apps");
/// assert_eq!(file_name("../../etc"), "%2e.%2f..%2fetc");
/// ```
#[must_use]
pub fn file_name(text: &str) -> String {
    let mut name = String::new();
    for (index, byte) in text.bytes().enumerate() {
        let is_plain = match byte {
            b'a'..=b'z' | b'0'..=b'9' | b'-' | b'_' => true,
            b'.' => index > 0 && index + 1 < text.len(),
            _ => false,
        };
        if is_plain {
            name.push(char::from(byte));
        } else {
            name.push_str(&format!("%{byte:02x}"));
        }
    }
    if name.is_empty() {
        return "%".to_owned();
    }
    if name.len() > MAX_LENGTH {
        let hash = XxHash3_64::oneshot(text.as_bytes());
        name.truncate(MAX_LENGTH - HASH_LENGTH);
        // No shorter name contains this: a percent sign is followed by two digits.
        name.push_str(&format!("%-{hash:016x}"));
    }
    name
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::path::{Component, Path};

    fn check(text: &str) {
        let name = file_name(text);
        let components: Vec<_> = Path::new(&name).components().collect();
        assert!(
            matches!(components.as_slice(), [Component::Normal(only)] if **only == *name),
            "{text:?} {name:?}"
        );
        assert!(name.len() <= MAX_LENGTH && !name.starts_with('.') && !name.ends_with('.'), "{name:?}");
        assert!(
            name.bytes().all(|byte| matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'-' | b'_' | b'.' | b'%'))
        );
    }

    #[test]
    fn names_of_kubernetes_are_unchanged() {
        for text in ["pods", "deployments.apps", "a-b.c1.example.com", "kube-system", "x_y"] {
            assert_eq!(file_name(text), text);
        }
    }

    #[test]
    fn text_that_would_leave_the_folder_is_escaped() {
        for text in
            ["", ".", "..", "../x", "/etc", "a/b", "a\\b", "a/../../b", "C:", "\0", "nul\n", ".hidden", "é"]
        {
            check(text);
        }
        assert_eq!(file_name("a/b"), "a%2fb");
        assert_eq!(file_name(".."), "%2e%2e");
    }

    #[test]
    fn different_texts_have_different_names() {
        let long = |end: &str| format!("{}{end}", "x".repeat(5000));
        let texts =
            ["", "%", "%25", "a/b", "a%2fb", "A", "a", "%41", &long("a"), &long("b"), &"x".repeat(200)];
        let names: std::collections::BTreeSet<_> = texts.iter().map(|text| file_name(text)).collect();
        assert_eq!(names.len(), texts.len());
        texts.iter().for_each(|text| check(text));
    }

    proptest! {
        #[test]
        fn every_text_is_one_component(text in "\\PC{0,300}", path in "[./a\\\\]{0,12}") {
            check(&text);
            check(&path);
        }
    }
}
