//! Which texts Kubernetes takes for a label's key and for its value.

use crate::selector::error::Flaw;

const MAX_NAME: usize = 63;
const MAX_PREFIX: usize = 253;

/// Checks a key: `name`, or `prefix/name` where the prefix is a DNS subdomain.
pub(super) fn check_key(key: &str) -> Result<(), Flaw> {
    let Some((prefix, name)) = key.split_once('/') else { return check_name(key) };
    check_prefix(prefix)?;
    check_name(name).map_err(|flaw| flaw.within(prefix.len() + 1))
}

/// Checks a value: empty, or written like a name.
pub(super) fn check_value(value: &str) -> Result<(), Flaw> {
    if value.is_empty() { Ok(()) } else { check_name(value) }
}

fn check_name(name: &str) -> Result<(), Flaw> {
    let part = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.');
    check_part(name, part, "a letter, a digit, '-', '_' or '.'")?;
    if name.len() > MAX_NAME {
        return Err(Flaw::new(MAX_NAME, "at most 63 bytes"));
    }
    Ok(())
}

fn check_prefix(prefix: &str) -> Result<(), Flaw> {
    let part = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    let mut start = 0;
    for label in prefix.split('.') {
        check_part(label, part, "a lower case letter, a digit, '-' or '.'")
            .map_err(|flaw| flaw.within(start))?;
        start += label.len() + 1;
    }
    if prefix.len() > MAX_PREFIX {
        return Err(Flaw::new(MAX_PREFIX, "at most 253 bytes before the '/'"));
    }
    Ok(())
}

/// Checks that the text is not empty, holds `part`s alone, and begins and ends with a letter or a digit.
fn check_part(text: &str, part: impl Fn(u8) -> bool, parts: &'static str) -> Result<(), Flaw> {
    const EDGE: &str = "a letter or a digit";
    let bytes = text.as_bytes();
    let (Some(first), Some(last)) = (bytes.first(), bytes.last()) else { return Err(Flaw::new(0, EDGE)) };
    if let Some(offset) = bytes.iter().position(|&byte| !part(byte)) {
        return Err(Flaw::new(offset, parts));
    }
    if !first.is_ascii_alphanumeric() {
        return Err(Flaw::new(0, EDGE));
    }
    if !last.is_ascii_alphanumeric() {
        return Err(Flaw::new(bytes.len() - 1, EDGE));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn offset(checked: Result<(), Flaw>) -> Option<usize> {
        checked.err().map(|flaw| flaw.offset)
    }

    #[test]
    fn takes_the_keys_that_kubernetes_takes() {
        let long = format!("{}/{}", "a.".repeat(126) + "a", "n".repeat(63));
        for key in ["a", "A", "1", "a-b_c.D", "app.kubernetes.io/name", "x/y", "1.2/3", long.as_str()] {
            assert_eq!(offset(check_key(key)), None, "{key}");
        }
    }

    #[test]
    fn refuses_other_keys_and_says_where() {
        let wrong = [
            ("", 0),
            ("-a", 0),
            ("a-", 1),
            ("a b", 1),
            ("ä", 0),
            ("/a", 0),
            ("a/", 2),
            ("a/b/c", 3),
            ("A.b/c", 0),
            ("a..b/c", 2),
            ("a-/c", 1),
            ("a_b/c", 1),
            ("a.B/c", 2),
            ("a/_", 2),
        ];
        for (key, at) in wrong {
            assert_eq!(offset(check_key(key)), Some(at), "{key:?}");
        }
        assert_eq!(offset(check_key(&"a".repeat(64))), Some(63));
        assert_eq!(offset(check_key(&format!("{}/a", "a".repeat(254)))), Some(253));
    }

    #[test]
    fn a_value_may_be_empty() {
        assert_eq!(offset(check_value("")), None);
        assert_eq!(offset(check_value("a.b-C_1")), None);
        assert_eq!(offset(check_value("a/b")), Some(1));
        assert_eq!(offset(check_value(&"a".repeat(64))), Some(63));
    }
}
