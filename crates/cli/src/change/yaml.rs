//! Converts a JSON value to lines of YAML.

use crate::safe::{clean_yaml, is_unsafe};
use serde_json::Value;

/// The lines of a value.
pub(crate) fn yaml(value: &Value) -> Vec<String> {
    let mut lines = Vec::new();
    write(value, 0, &mut lines);
    lines
}

fn write(value: &Value, indent: usize, lines: &mut Vec<String>) {
    let margin = " ".repeat(indent);
    match value {
        Value::Object(fields) if !fields.is_empty() => {
            for (name, value) in fields {
                entry(&format!("{margin}{}:", text(name)), value, indent, lines);
            }
        }
        Value::Array(items) if !items.is_empty() => {
            for item in items {
                let at = lines.len();
                write(item, indent + 2, lines);
                lines[at].replace_range(indent..indent + 2, "- ");
            }
        }
        Value::String(string) => lines.push(format!("{margin}{}", text(string))),
        value => lines.push(format!("{margin}{value}")),
    }
}

fn entry(name: &str, value: &Value, indent: usize, lines: &mut Vec<String>) {
    match value {
        Value::Object(fields) if !fields.is_empty() => {
            lines.push(name.to_owned());
            write(value, indent + 2, lines);
        }
        Value::Array(items) if !items.is_empty() => {
            lines.push(name.to_owned());
            write(value, indent, lines);
        }
        Value::String(string) if is_block(string) => {
            lines.push(format!("{name} {}", if string.ends_with('\n') { "|" } else { "|-" }));
            let line = |line: &str| format!("{}  {line}", " ".repeat(indent)).trim_end().to_owned();
            lines.extend(string.lines().map(line));
        }
        Value::String(string) => lines.push(format!("{name} {}", text(string))),
        value => lines.push(format!("{name} {value}")),
    }
}

/// Returns a string in one line, in quotes if YAML would parse it as another value.
fn text(string: &str) -> String {
    match is_plain(string) {
        true => string.to_owned(),
        // A JSON string is a valid YAML string.
        false => clean_yaml(&Value::from(string).to_string()),
    }
}

/// Plain scalars that some version of YAML does not parse as a string.
const RESERVED: [&str; 10] = ["true", "false", "null", "yes", "no", "on", "off", "y", "n", "nan"];

fn is_plain(string: &str) -> bool {
    let is_letter = |letter: char| letter.is_ascii_alphanumeric() || matches!(letter, '_' | '/');
    let is_within = |letter: char| {
        is_letter(letter) || matches!(letter, '.' | '-' | '+' | '=' | ':' | ',' | ' ' | '@' | '(' | ')')
    };
    string.starts_with(|letter: char| letter.is_ascii_alphabetic() || matches!(letter, '_' | '/'))
        && string.chars().all(is_within)
        && !string.contains(": ")
        && !string.ends_with([':', ' '])
        && !RESERVED.iter().any(|word| word.eq_ignore_ascii_case(string))
}

/// Returns whether a text is written as a block of lines.
fn is_block(string: &str) -> bool {
    string.trim_end().contains('\n')
        && !string.ends_with("\n\n")
        && !string.starts_with([' ', '\n'])
        && !string.lines().any(|line| line.ends_with(' '))
        && !string.chars().any(|letter| letter != '\n' && (is_unsafe(letter) || letter == '\u{feff}'))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn values_become_yaml() {
        let value = json!({
            "a": {"b": 1, "empty": {}},
            "list": [{"name": "x", "on": true}, [1, 2], "y"],
            "script": "one\ntwo\n",
        });
        let expected = "a:\n  b: 1\n  empty: {}\nlist:\n- name: x\n  \"on\": true\n- - 1\n  - 2\n- \"y\"\nscript: |\n  one\n  two";
        assert_eq!(yaml(&value).join("\n"), expected);
    }

    /// Strings that YAML parsers are known to misread.
    const TRAPS: [&str; 44] = [
        "",
        " ",
        "a",
        "a b",
        " a",
        "a ",
        "a: b",
        "a:b",
        "a:",
        ":a",
        "- a",
        "-",
        "a #b",
        "a#b",
        "#a",
        "?",
        "? a",
        "&a",
        "*a",
        "!a",
        "%a",
        "@a",
        "`a",
        "|",
        ">",
        "[a]",
        "{a}",
        "~",
        "null",
        "Yes",
        "NO",
        "1",
        "1e3",
        "0x1f",
        "1_000",
        "2026-07-01T00:00:00Z",
        "a\nb",
        "a\nb\n",
        "a\n\nb\n\n",
        "\na\nb",
        " a\nb",
        "a\n b \nc",
        "a\tb\nc",
        "---\na",
    ];

    #[test]
    fn parsing_yaml_returns_the_original_value() {
        let unsafe_ones = [
            "\u{1b}[31m",
            "\r",
            "a\r\nb",
            "\u{85}a",
            "\u{2028}",
            "\u{feff}a",
            "\u{feff}a\nb",
            "für ✓ 🦀",
            "\u{7f}\u{202e}",
        ];
        let strings: Vec<_> = TRAPS.into_iter().chain(unsafe_ones).collect();
        let names: serde_json::Map<_, _> =
            strings.iter().map(|name| ((*name).to_owned(), json!([name]))).collect();
        let value = json!({
            "strings": strings, "names": names, "numbers": [0, -7, 1.5, 1e100, u64::MAX, i64::MIN],
            "others": [true, null, [], {}, [[]], [{}], [[1, [2]], {"a": [{"b": "c\nd"}, {"e": null, "f": "g\nh\n"}]}]],
        });
        let lines = yaml(&value);
        let read: Value =
            serde_saphyr::from_str(&lines.join("\n")).unwrap_or_else(|error| panic!("{error}\n{lines:#?}"));
        assert_eq!(read, value);
        assert!(!lines.iter().any(|line| line.contains(is_unsafe)), "{lines:#?}");
        for string in strings {
            let lines = yaml(&json!({ "a": { "b": string } })).join("\n");
            let read: Value = serde_saphyr::from_str(&lines).unwrap();
            assert_eq!(read["a"]["b"], string, "{lines}");
        }
    }
}
