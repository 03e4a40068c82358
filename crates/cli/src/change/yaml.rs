//! A JSON value as lines of YAML.

use super::scalar::scalar;
use crate::safe::clean;
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
                entry(&format!("{margin}{}:", clean(name)), value, indent, lines);
            }
        }
        Value::Array(items) if !items.is_empty() => {
            for item in items {
                let at = lines.len();
                write(item, indent + 2, lines);
                lines[at].replace_range(indent..indent + 2, "- ");
            }
        }
        value => lines.push(format!("{margin}{}", scalar(value))),
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
        Value::String(text) if text.trim_end().contains('\n') => {
            lines.push(format!("{name} |"));
            lines.extend(text.lines().map(|line| format!("{}  {}", " ".repeat(indent), clean(line))));
        }
        value => lines.push(format!("{name} {}", scalar(value))),
    }
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
        let expected = "a:\n  b: 1\n  empty: {}\nlist:\n- name: x\n  on: true\n- - 1\n  - 2\n- y\nscript: |\n  one\n  two";
        assert_eq!(yaml(&value).join("\n"), expected);
    }
}
