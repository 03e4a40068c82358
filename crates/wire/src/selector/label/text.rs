//! Checks keys and values of labels.

use crate::selector::error::ParseError;

const MAX_NAME: usize = 63;
const MAX_PREFIX: usize = 253;

/// Checks a key: `name`, or `prefix/name` where the prefix is a DNS subdomain.
pub(super) fn check_key(key: &str) -> Result<(), ParseError> {
    let Some((prefix, name)) = key.split_once('/') else { return check_name(key) };
    check_prefix(prefix)?;
    check_name(name).map_err(|error| error.offset_by(prefix.len() + 1))
}

/// Checks a value: empty, or a name.
pub(super) fn check_value(value: &str) -> Result<(), ParseError> {
    if value.is_empty() { Ok(()) } else { check_name(value) }
}

fn check_name(name: &str) -> Result<(), ParseError> {
    let part = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.');
    check_part(name, part, "a letter, a digit, '-', '_' or '.'")?;
    if name.len() > MAX_NAME {
        return Err(ParseError::new(MAX_NAME, "at most 63 bytes"));
    }
    Ok(())
}

fn check_prefix(prefix: &str) -> Result<(), ParseError> {
    let part = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    let mut start = 0;
    for label in prefix.split('.') {
        check_part(label, part, "a lower case letter, a digit, '-' or '.'")
            .map_err(|error| error.offset_by(start))?;
        start += label.len() + 1;
    }
    if prefix.len() > MAX_PREFIX {
        return Err(ParseError::new(MAX_PREFIX, "at most 253 bytes before the '/'"));
    }
    Ok(())
}

/// Checks that the text consists of `part`s, and begins and ends with a letter or a digit.
fn check_part(text: &str, part: impl Fn(u8) -> bool, parts: &'static str) -> Result<(), ParseError> {
    const EDGE: &str = "a letter or a digit";
    let bytes = text.as_bytes();
    let (Some(first), Some(last)) = (bytes.first(), bytes.last()) else {
        return Err(ParseError::new(0, EDGE));
    };
    if let Some(offset) = bytes.iter().position(|&byte| !part(byte)) {
        return Err(ParseError::new(offset, parts));
    }
    if !first.is_ascii_alphanumeric() {
        return Err(ParseError::new(0, EDGE));
    }
    if !last.is_ascii_alphanumeric() {
        return Err(ParseError::new(bytes.len() - 1, EDGE));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn offset(checked: Result<(), ParseError>) -> Option<usize> {
        checked.err().map(|error| error.offset)
    }

    #[test]
    fn accepts_the_keys_that_kubernetes_accepts() {
        let long = format!("{}/{}", "a.".repeat(126) + "a", "n".repeat(63));
        for key in ["a", "A", "1", "a-b_c.D", "app.kubernetes.io/name", "x/y", "1.2/3", long.as_str()] {
            assert_eq!(offset(check_key(key)), None, "{key}");
        }
    }

    #[test]
    fn rejects_other_keys_with_an_offset() {
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
