//! The escaped names of properties in CEL expressions.

/// The reserved identifiers of CEL, which cannot be names of fields and variables.
pub(crate) const RESERVED: [&str; 21] = [
    "true",
    "false",
    "null",
    "in",
    "as",
    "break",
    "const",
    "continue",
    "else",
    "for",
    "function",
    "if",
    "import",
    "let",
    "loop",
    "package",
    "namespace",
    "return",
    "var",
    "void",
    "while",
];
/// The characters that cannot be in CEL identifiers, and their escape sequences.
const SEQUENCES: [(&str, &str); 4] =
    [("__", "__underscores__"), (".", "__dot__"), ("-", "__dash__"), ("/", "__slash__")];

/// Returns the identifier of a property in expressions; `None` if it cannot be escaped.
pub(crate) fn escaped(name: &str) -> Option<String> {
    if RESERVED.contains(&name) {
        return Some(format!("__{name}__"));
    }
    let first = name.chars().next()?;
    let is_plain = |letter: char| letter.is_ascii_alphanumeric() || matches!(letter, '_' | '.' | '-' | '/');
    if first.is_ascii_digit() || !name.chars().all(is_plain) {
        return None;
    }
    // Underscores are replaced first, because the other sequences contain them.
    Some(SEQUENCES.iter().fold(name.to_owned(), |name, (plain, escaped)| name.replace(plain, escaped)))
}

/// Returns the name of the property with this identifier.
pub(crate) fn unescaped(name: &str) -> String {
    let inner = name.strip_prefix("__").and_then(|name| name.strip_suffix("__"));
    if let Some(word) = inner.filter(|word| RESERVED.contains(word)) {
        return word.to_owned();
    }
    let name =
        SEQUENCES[1..].iter().fold(name.to_owned(), |name, (plain, escaped)| name.replace(escaped, plain));
    name.replace("__underscores__", "__")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_escaped_as_documented_by_kubernetes() {
        let table = [
            ("a", "a"),
            ("x-prop", "x__dash__prop"),
            ("redact__d", "redact__underscores__d"),
            ("a.b/c", "a__dot__b__slash__c"),
            ("namespace", "__namespace__"),
        ];
        for (name, expected) in table {
            assert_eq!(escaped(name).as_deref(), Some(expected));
            assert_eq!(unescaped(expected), name);
        }
        assert_eq!(escaped("1a"), None);
        assert_eq!(escaped("a b"), None);
    }
}
