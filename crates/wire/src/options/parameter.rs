//! One parameter of a query string: how it is written, how it is read, and what is wrong with it.

use crate::{selector::SelectorError, version::VersionError};
use form_urlencoded::Serializer;
use std::{borrow::Cow, collections::HashMap, fmt, str::FromStr};

/// Why a query string does not say what to list or watch.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum QueryError {
    /// A number that is none, or out of range.
    #[error("parameter {parameter} is {text:?}: expected {expected}")]
    Number {
        /// The name of the parameter.
        parameter: &'static str,
        /// What it says.
        text: String,
        /// What it should say.
        expected: &'static str,
    },
    /// A selector that cannot be read.
    #[error("parameter {parameter} is no selector")]
    Selector {
        /// The name of the parameter.
        parameter: &'static str,
        /// What is wrong with it, and where.
        #[source]
        cause: SelectorError,
    },
    /// A resource version that cannot be one.
    #[error("parameter resourceVersion is no version")]
    Version(#[source] VersionError),
    /// A version beside a continue token, which has one already.
    #[error("specifying resource version is not allowed when using continue")]
    VersionOfContinued,
    /// A parameter that says something which the others, or the verb, rule out.
    #[error("parameter {parameter} is wrong: {rule}")]
    Rule {
        /// The name of the parameter.
        parameter: &'static str,
        /// The rule that it breaks.
        rule: &'static str,
    },
}

impl QueryError {
    /// Whether the server answers 422 Invalid, because the options could be read and break a rule.
    ///
    /// Else it answers 400 BadRequest, also to [`QueryError::VersionOfContinued`], which only its storage notices.
    #[must_use]
    pub fn is_rule(&self) -> bool {
        matches!(self, Self::Rule { .. })
    }

    /// The parameter that is wrong.
    #[must_use]
    pub fn parameter(&self) -> &'static str {
        match self {
            Self::Number { parameter, .. }
            | Self::Selector { parameter, .. }
            | Self::Rule { parameter, .. } => parameter,
            Self::Version(_) | Self::VersionOfContinued => "resourceVersion",
        }
    }
}

/// A query string that is being written; what is not set is left out.
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

/// A query string that has been taken apart; the first of several parameters with one name counts.
pub(super) struct Reader<'a>(HashMap<Cow<'a, str>, Cow<'a, str>>);

impl<'a> Reader<'a> {
    pub(super) fn new(query: &'a str) -> Self {
        let mut parameters = HashMap::new();
        for (name, value) in form_urlencoded::parse(query.as_bytes()) {
            parameters.entry(name).or_insert(value);
        }
        Self(parameters)
    }

    /// The text of a parameter; for text, empty is as good as absent.
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
            text.parse().map_err(|_| QueryError::Number {
                parameter,
                text: text.clone().into_owned(),
                expected,
            })
        };
        self.0.get(parameter).map(read).transpose()
    }

    /// Reads a bool as the API server does: what is there and is neither `0` nor `false` is true, even if empty.
    pub(super) fn flag(&self, parameter: &str) -> Option<bool> {
        self.0.get(parameter).map(|text| text != "0" && !text.eq_ignore_ascii_case("false"))
    }
}
