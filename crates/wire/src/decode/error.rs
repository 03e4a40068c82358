//! Why an object cannot be decoded, and which of its fields is the cause.

use crate::{
    json::{ScanError, path_to},
    protobuf::ProtobufError,
};
use std::fmt;

/// A value that cannot be decoded, with the path to it.
#[derive(Debug)]
pub(crate) struct ValueError(Box<Inner>);

#[derive(Debug)]
struct Inner {
    /// The path to the value, innermost segment first, as `.name` or `[0]`.
    path: Vec<String>,
    cause: Cause,
}

#[derive(Debug, thiserror::Error)]
enum Cause {
    #[error(transparent)]
    Protobuf(ProtobufError),
    #[error(transparent)]
    Scan(ScanError),
    #[error("invalid JSON: {0}")]
    Syntax(String),
    #[error("invalid UTF-8 at byte {0}")]
    Utf8(usize),
    #[error("objects and lists are nested deeper than 127 levels")]
    TooDeep,
    /// The type does not accept the value.
    #[error("{0}")]
    Data(String),
}

/// The message of serde_json for JSON that is nested too deep, which it treats as a syntax error.
const RECURSION_LIMIT: &str = "recursion limit exceeded";

impl ValueError {
    #[cold]
    fn new(cause: Cause) -> Self {
        Self(Box::new(Inner { path: Vec::new(), cause }))
    }

    /// Creates an error for bytes that are not text.
    pub(crate) fn utf8(error: std::str::Utf8Error) -> Self {
        Self::new(Cause::Utf8(error.valid_up_to()))
    }

    /// Creates an error from the one that serde_json returned for this text.
    #[cold]
    pub(crate) fn json(error: &serde_json::Error, text: &str) -> Self {
        let position = format!(" at line {} column {}", error.line(), error.column());
        let message = error.to_string();
        let message = message.strip_suffix(&position).unwrap_or(&message);
        let at_bracket = if message.starts_with("invalid type: map") {
            Some(b'{')
        } else if message.starts_with("invalid type: sequence") {
            Some(b'[')
        } else {
            None
        };
        let mut path = path_to(text.as_bytes(), offset(error, text), at_bracket);
        path.reverse();
        let cause = if error.is_data() {
            Cause::Data(redact(message))
        } else if message.starts_with(RECURSION_LIMIT) {
            Cause::TooDeep
        } else {
            Cause::Syntax(message.to_owned())
        };
        Self(Box::new(Inner { path, cause }))
    }

    /// Adds the field or the key of a map that the value is in.
    #[cold]
    pub(crate) fn in_field(mut self, name: &str) -> Self {
        self.0.path.push(format!(".{name}"));
        self
    }

    /// Adds the element of a list that the value is in.
    #[cold]
    pub(crate) fn in_element(mut self, index: usize) -> Self {
        self.0.path.push(format!("[{index}]"));
        self
    }

    /// Whether the bytes are malformed JSON. Malformed protobuf cannot be distinguished from protobuf of a newer version.
    pub(crate) fn is_malformed(&self) -> bool {
        match self.0.cause {
            Cause::Scan(_) | Cause::Syntax(_) | Cause::Utf8(_) => true,
            Cause::Protobuf(_) | Cause::TooDeep | Cause::Data(_) => false,
        }
    }

    /// Returns the path to the value, such as `spec.containers[0].name`; `.` for the object itself.
    pub(crate) fn path(&self) -> String {
        let path: String = self.0.path.iter().rev().map(String::as_str).collect();
        match path.strip_prefix('.').unwrap_or(&path) {
            "" => ".".to_owned(),
            path => path.to_owned(),
        }
    }
}

/// Returns the offset of an error.
fn offset(error: &serde_json::Error, text: &str) -> usize {
    let lines = text.split_inclusive('\n').take(error.line().saturating_sub(1));
    lines.map(str::len).sum::<usize>() + error.column()
}

/// Removes the value from an error message of serde: errors are logged, and values may be secrets.
fn redact(message: &str) -> String {
    let shows_value = ["invalid type: ", "invalid value: ", "unknown variant "];
    match message.rsplit_once(", expected ") {
        Some((found, expected)) if shows_value.iter().any(|prefix| found.starts_with(prefix)) => {
            let found = found.split(['"', '`']).next().unwrap_or_default().trim_end();
            format!("{found}, expected {expected}")
        }
        Some(_) | None => message.to_owned(),
    }
}

/// Removes the value from an error that serde_json returned for the parts around objects.
#[cold]
pub(crate) fn redacted(error: serde_json::Error) -> serde_json::Error {
    if error.is_data() { serde::de::Error::custom(redact(&error.to_string())) } else { error }
}

impl fmt::Display for ValueError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.cause.fmt(f)
    }
}

impl std::error::Error for ValueError {}

impl From<ProtobufError> for ValueError {
    fn from(error: ProtobufError) -> Self {
        Self::new(Cause::Protobuf(error))
    }
}

impl From<ScanError> for ValueError {
    fn from(error: ScanError) -> Self {
        Self::new(Cause::Scan(error))
    }
}

impl serde::de::Error for ValueError {
    fn custom<T: fmt::Display>(message: T) -> Self {
        Self::new(Cause::Data(redact(&message.to_string())))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde::Deserialize;
    use std::collections::BTreeMap;

    #[test]
    fn messages_do_not_show_values() {
        for (message, redacted) in [
            (r#"invalid type: string "a, expected b", expected u32"#, "invalid type: string, expected u32"),
            ("invalid type: integer `7`, expected a string", "invalid type: integer, expected a string"),
            ("invalid type: null, expected `a` or `b`", "invalid type: null, expected `a` or `b`"),
            ("invalid value: integer `300`, expected u8", "invalid value: integer, expected u8"),
            ("unknown variant `a`, expected `b`", "unknown variant, expected `b`"),
            ("missing field `name`", "missing field `name`"),
        ] {
            assert_eq!(redact(message), redacted);
        }
    }

    #[derive(Debug, Deserialize)]
    #[expect(dead_code, reason = "only errors are looked at")]
    struct Outer {
        name: Option<String>,
        inner: Option<Inner>,
        list: Option<Vec<Inner>>,
        map: Option<BTreeMap<String, Vec<u8>>>,
        by_number: Option<BTreeMap<u8, u8>>,
    }

    #[derive(Debug, Deserialize)]
    #[expect(dead_code, reason = "only errors are looked at")]
    struct Inner {
        number: u8,
        texts: Option<Vec<String>>,
    }

    #[test]
    fn the_path_leads_to_the_invalid_value() {
        for (text, path) in [
            ("7", "."),
            ("[[]]", "[0]"),
            (r#"[{"name":"a"}]"#, "[0]"),
            (r#"{"name":{}}"#, "name"),
            (r#"{"name":[1]}"#, "name"),
            (r#"{"name":1}"#, "name"),
            (" { \"name\" :\n 1 \n} ", "name"),
            (r#"{"name":"a","name":"b"}"#, "."),
            (r#"{"inner":{}}"#, "inner"),
            (r#"{"inner":{"number":300}}"#, "inner.number"),
            (r#"{"inner":{"number":3,"texts":["a",{}]}}"#, "inner.texts[1]"),
            (r#"{"list":[{"number":1},{"number":2,"texts":[null]}]}"#, "list[1].texts[0]"),
            (r#"{"list":{"a":1}}"#, "list"),
            (r#"{"map":{"1":[2],"\u0033":[4,"x"]}}"#, "map.3[1]"),
            (r#"{"by_number":{"1":1,"x":2}}"#, "by_number"),
            (r#"{"inner":{"number":}}"#, "inner.number"),
            (r#"{"inner":{"number":1,"texts":["a"#, "inner.texts[0]"),
            (r#"{"inner":{"number":1} "name":"a"}"#, "."),
            (r#"{} {}"#, "."),
        ] {
            let error = serde_json::from_str::<Outer>(text).unwrap_err();
            assert_eq!(ValueError::json(&error, text).path(), path, "{text}: {error}");
        }
    }
}
