//! A path to a field of an object, as a JSON pointer.

use crate::decode::Pointer;
use std::{fmt, str::FromStr};

/// A path to a field of an object: a JSON pointer ([RFC 6901](https://www.rfc-editor.org/rfc/rfc6901)), such as
/// `/spec/nodeName`.
///
/// A slash in a name is written as `~1`, and a tilde as `~0`. Elements of lists are numbered from 0.
///
/// ```
/// use kube_informer_wire::FieldPath;
///
/// let zone: FieldPath = "/metadata/labels/topology.kubernetes.io~1zone".parse()?;
/// assert_eq!(zone.as_str(), "/metadata/labels/topology.kubernetes.io~1zone");
/// let error = "spec.nodeName".parse::<FieldPath>().unwrap_err();
/// assert_eq!(
///     error.to_string(),
///     r#"invalid JSON pointer "spec.nodeName": it must start with a slash, such as "/spec/nodeName""#
/// );
/// # Ok::<(), kube_informer_wire::FieldPathError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct FieldPath(Box<str>);

/// The error of parsing a [`FieldPath`].
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum FieldPathError {
    /// The pointer does not start with a slash.
    #[error(
        "invalid JSON pointer {pointer:?}: it must start with a slash, such as {:?}",
        suggestion(pointer)
    )]
    #[non_exhaustive]
    NoSlash {
        /// The pointer.
        pointer: String,
    },
    /// The pointer is empty, or one slash, which names no field.
    #[error("invalid JSON pointer {pointer:?}: it must name a field, such as \"/spec/nodeName\"")]
    #[non_exhaustive]
    NoField {
        /// The pointer.
        pointer: String,
    },
    /// A tilde is not part of an escape.
    #[error("invalid JSON pointer {pointer:?}: write \"~0\" for a tilde and \"~1\" for a slash in a name")]
    #[non_exhaustive]
    InvalidEscape {
        /// The pointer.
        pointer: String,
    },
}

/// Returns the most similar valid pointer.
fn suggestion(pointer: &str) -> String {
    let path = pointer.trim_start_matches(['$', '.']);
    format!("/{}", if path.contains('/') { path.to_owned() } else { path.replace('.', "/") })
}

impl FieldPath {
    /// Returns the path as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    pub(super) fn pointer(&self) -> Pointer<'_> {
        Pointer::new(&self.0).expect("the path was parsed")
    }
}

impl FromStr for FieldPath {
    type Err = FieldPathError;

    fn from_str(text: &str) -> Result<Self, FieldPathError> {
        let pointer = || text.to_owned();
        if matches!(text, "" | "/") {
            return Err(FieldPathError::NoField { pointer: pointer() });
        }
        if !text.starts_with('/') {
            return Err(FieldPathError::NoSlash { pointer: pointer() });
        }
        let is_escape = |rest: &str| rest.starts_with(['0', '1']);
        if !text.split('~').skip(1).all(is_escape) {
            return Err(FieldPathError::InvalidEscape { pointer: pointer() });
        }
        Ok(Self(text.into()))
    }
}

impl fmt::Display for FieldPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_name_the_pointer_and_the_fix() {
        for (text, expected) in [
            ("", r#"invalid JSON pointer "": it must name a field, such as "/spec/nodeName""#),
            ("/", r#"invalid JSON pointer "/": it must name a field, such as "/spec/nodeName""#),
            (
                "spec/a.b",
                r#"invalid JSON pointer "spec/a.b": it must start with a slash, such as "/spec/a.b""#,
            ),
            (".spec.a", r#"invalid JSON pointer ".spec.a": it must start with a slash, such as "/spec/a""#),
            ("/a~2", r#"invalid JSON pointer "/a~2": write "~0" for a tilde and "~1" for a slash in a name"#),
            ("/a~", r#"invalid JSON pointer "/a~": write "~0" for a tilde and "~1" for a slash in a name"#),
        ] {
            assert_eq!(text.parse::<FieldPath>().unwrap_err().to_string(), expected);
        }
        for text in ["/a", "/a~0~1/0", "//", "/metadata/labels/"] {
            assert_eq!(text.parse::<FieldPath>().unwrap().to_string(), text);
        }
    }
}
