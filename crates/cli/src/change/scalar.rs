//! A single value as text that is safe to show on a terminal.

use crate::safe::{clean, is_unsafe};
use serde_json::Value;

/// A value as text: strings as they are where that is plain, everything else as JSON.
pub(crate) fn scalar(value: &Value) -> String {
    match value {
        Value::String(text) if is_plain(text) => text.clone(),
        Value::String(text) => quoted(text),
        other => clean(&other.to_string()),
    }
}

/// Whether a reader takes it for the string that it is, and not for a number or the end of a line.
fn is_plain(text: &str) -> bool {
    let is_word = text.starts_with(|c: char| c.is_alphabetic() || matches!(c, '/' | '_'));
    let is_time = text.len() > 10 && text.as_bytes()[4] == b'-' && text.ends_with('Z');
    let is_reserved = matches!(text, "true" | "false" | "null");
    (is_word || is_time)
        && !is_reserved
        && !text.chars().any(|letter| is_unsafe(letter) || letter == '"')
        && text.trim() == text
}

fn quoted(text: &str) -> String {
    let escaped = Value::String(text.to_owned()).to_string();
    clean(&escaped)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn what_could_be_mistaken_is_quoted() {
        let table = [
            (json!("Running"), "Running"),
            (json!("2026-07-01T00:00:00Z"), "2026-07-01T00:00:00Z"),
            (json!("3"), "\"3\""),
            (json!("true"), "\"true\""),
            (json!(""), "\"\""),
            (json!(3), "3"),
            (json!({"a": [1]}), "{\"a\":[1]}"),
            (json!("a\nb"), "\"a\\nb\""),
        ];
        for (value, text) in table {
            assert_eq!(scalar(&value), text);
        }
    }

    #[test]
    fn nothing_moves_the_cursor() {
        assert_eq!(scalar(&json!("\u{1b}[31mred\u{9b}")), "\"\\u001b[31mred\\u{9b}\"");
        assert_eq!(clean("a\u{1b}b"), "a\\u{1b}b");
    }
}
