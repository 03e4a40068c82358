//! Reads and writes the parameters of a query string.

use crate::{selector::SelectorError, version::VersionError};
use form_urlencoded::Serializer;
use std::{borrow::Cow, collections::HashMap, fmt, str::FromStr};

/// A query string with invalid options.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum QueryError {
    /// A number is invalid or out of range.
    #[error("invalid parameter {parameter} {text:?}: expected {expected}")]
    InvalidNumber {
        /// The name of the parameter.
        parameter: &'static str,
        /// Its value.
        text: String,
        /// The expected value.
        expected: &'static str,
    },
    /// A selector is invalid.
    #[error("invalid selector in parameter {parameter}")]
    Selector {
        /// The name of the parameter.
        parameter: &'static str,
        /// The error in the selector.
        #[source]
        cause: SelectorError,
    },
    /// The resourceVersion is invalid.
    #[error("invalid parameter resourceVersion")]
    Version(#[source] VersionError),
    /// A resourceVersion with a continue token, which already contains one.
    #[error("specifying resource version is not allowed when using continue")]
    VersionWithContinue,
    /// A parameter is not allowed with the other ones or with the verb.
    #[error("invalid parameter {parameter}: {rule}")]
    Rule {
        /// The name of the parameter.
        parameter: &'static str,
        /// The rule that it violates.
        rule: &'static str,
    },
}

impl QueryError {
    /// Whether the server responds with 422 Invalid, because the options are valid by themselves and violate a rule.
    ///
    /// Otherwise it responds with 400 BadRequest, also for [`QueryError::VersionWithContinue`].
    #[must_use]
    pub fn is_rule(&self) -> bool {
        matches!(self, Self::Rule { .. })
    }

    /// Returns the name of the invalid parameter.
    #[must_use]
    pub fn parameter(&self) -> &'static str {
        match self {
            Self::InvalidNumber { parameter, .. }
            | Self::Selector { parameter, .. }
            | Self::Rule { parameter, .. } => parameter,
            Self::Version(_) | Self::VersionWithContinue => "resourceVersion",
        }
    }
}

/// Writes a query string, without parameters that are not set.
pub(super) struct Writer(Serializer<'static, String>);

impl Writer {
    pub(super) fn new() -> Self {
        Self(Serializer::new(String::new()))
    }

    pub(super) fn set(&mut self, name: &str, value: Option<impl fmt::Display>) -> &mut Self {
        if let Some(value) = value {
            self.0.append_pair(name, &value.to_string());
        }
        self
    }

    pub(super) fn finish(&mut self) -> String {
        self.0.finish()
    }
}

/// The parameters of a query string. The first of duplicate parameters counts.
pub(super) struct Reader<'a>(HashMap<Cow<'a, str>, Cow<'a, str>>);

impl<'a> Reader<'a> {
    pub(super) fn new(query: &'a str) -> Self {
        let mut parameters = HashMap::new();
        for (name, value) in form_urlencoded::parse(query.as_bytes()) {
            parameters.entry(name).or_insert(value);
        }
        Self(parameters)
    }

    /// Returns the text of a parameter; `None` if it is empty or absent.
    pub(super) fn text(&self, name: &str) -> Option<&str> {
        self.0.get(name).map(AsRef::as_ref).filter(|text| !text.is_empty())
    }

    pub(super) fn selector<S>(&self, parameter: &'static str) -> Result<Option<S>, QueryError>
    where
        S: FromStr<Err = SelectorError>,
    {
        let read = |text: &str| text.parse().map_err(|cause| QueryError::Selector { parameter, cause });
        self.text(parameter).map(read).transpose()
    }

    pub(super) fn integer(&self, parameter: &'static str) -> Result<Option<i64>, QueryError> {
        let expected = "a 64-bit integer";
        let read = |text: &Cow<'_, str>| {
            text.parse().map_err(|_| QueryError::InvalidNumber {
                parameter,
                text: text.clone().into_owned(),
                expected,
            })
        };
        self.0.get(parameter).map(read).transpose()
    }

    /// Reads a bool as the API server does: any value except for `0` and `false` is true, even an empty one.
    pub(super) fn flag(&self, parameter: &str) -> Option<bool> {
        self.0.get(parameter).map(|text| text != "0" && !text.eq_ignore_ascii_case("false"))
    }
}
