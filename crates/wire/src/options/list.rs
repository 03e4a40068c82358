//! What a list asks for.

use super::parameter::{QueryError, Reader, Writer};
use crate::{
    selector::{FieldSelector, LabelSelector, ShardSelector},
    version::ResourceVersion,
};
use std::{num::NonZeroU64, time::Duration};

/// The options of a list.
///
/// ```
/// use kube_informer_wire::{ListOptions, ResourceVersion};
/// use std::num::NonZeroU64;
///
/// let options = ListOptions {
///     limit: NonZeroU64::new(500),
///     resource_version: Some(ResourceVersion::ANY),
///     ..ListOptions::default()
/// };
/// assert_eq!(options.to_query(), "limit=500&resourceVersion=0");
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ListOptions {
    /// Which objects, by label.
    pub label_selector: LabelSelector,
    /// Which objects, by field.
    pub field_selector: FieldSelector,
    /// Which part of the objects, for clients that share the work.
    pub shard_selector: Option<ShardSelector>,
    /// The most items in one page; none leaves it to the server, which answers with all. What does not fit in 63 bits is
    /// written as the most that does.
    pub limit: Option<NonZeroU64>,
    /// Where the page before this one ended; none, or nothing in it, for the first page.
    pub continue_token: Option<String>,
    /// How fresh the list must be; none wants the newest, [`ResourceVersion::ANY`] takes whatever is at hand.
    pub resource_version: Option<ResourceVersion>,
    /// How `resource_version` is meant.
    pub resource_version_match: Option<VersionMatch>,
    /// How long the request may take; written in whole seconds, rounded up, because zero means the server's default.
    pub timeout: Option<Duration>,
}

/// How a requested resource version is meant.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum VersionMatch {
    /// This very version.
    Exact,
    /// This version or a later one.
    NotOlderThan,
}

impl ListOptions {
    /// Writes the options as a query string, always in the same order and without what is not set.
    #[must_use]
    pub fn to_query(&self) -> String {
        let mut query = Writer::new();
        query
            .set("labelSelector", Some(&self.label_selector).filter(|selector| !selector.is_everything()))
            .set("fieldSelector", Some(&self.field_selector).filter(|selector| !selector.is_everything()))
            .set("shardSelector", self.shard_selector.as_ref())
            .set("limit", self.limit.map(|limit| limit.get().min(MAX_INTEGER)))
            .set("continue", self.continued())
            .set("resourceVersion", self.resource_version.as_ref())
            .set("resourceVersionMatch", self.resource_version_match.map(VersionMatch::as_str))
            .set("timeoutSeconds", self.timeout.map(whole_seconds));
        query.finish()
    }

    /// Checks the rules of the API server for a list.
    ///
    /// # Errors
    /// [`QueryError::Rule`] names the first rule that is broken; [`QueryError::VersionOfContinued`] breaks one that the
    /// server's storage checks.
    pub fn check(&self) -> Result<(), QueryError> {
        self.check_version_match()?;
        let is_exact = self.resource_version.as_ref().is_some_and(|version| !version.is_any());
        if is_exact && self.continued().is_some() {
            return Err(QueryError::VersionOfContinued);
        }
        Ok(())
    }

    /// Where the page before this one ended.
    pub(super) fn continued(&self) -> Option<&str> {
        self.continue_token.as_deref().filter(|token| !token.is_empty())
    }

    fn check_version_match(&self) -> Result<(), QueryError> {
        let Some(version_match) = self.resource_version_match else { return Ok(()) };
        let broken = |rule| Err(QueryError::Rule { parameter: VersionMatch::PARAMETER, rule });
        match (&self.resource_version, version_match) {
            (None, _) => broken("resourceVersion must be set too"),
            (Some(_), _) if self.continued().is_some() => broken("a continued list has its version already"),
            (Some(version), VersionMatch::Exact) if version.is_any() => {
                broken("Exact needs a version other than 0")
            }
            (Some(_), VersionMatch::Exact | VersionMatch::NotOlderThan) => Ok(()),
        }
    }

    pub(super) fn read(query: &Reader<'_>) -> Result<Self, QueryError> {
        let options = Self {
            label_selector: query.selector("labelSelector")?.unwrap_or_default(),
            field_selector: query.selector("fieldSelector")?.unwrap_or_default(),
            shard_selector: query.selector("shardSelector")?,
            limit: read_limit(query)?,
            continue_token: query.text("continue").map(str::to_owned),
            resource_version: read_version(query)?,
            resource_version_match: VersionMatch::read(query)?,
            timeout: read_timeout(query)?,
        };
        if query.flag("sendInitialEvents").is_some() {
            return Err(QueryError::Rule {
                parameter: "sendInitialEvents",
                rule: "a list has no initial events",
            });
        }
        options.check().map(|()| options)
    }
}

impl VersionMatch {
    pub(super) const PARAMETER: &str = "resourceVersionMatch";

    pub(super) fn as_str(self) -> &'static str {
        match self {
            Self::Exact => "Exact",
            Self::NotOlderThan => "NotOlderThan",
        }
    }

    pub(super) fn read(query: &Reader<'_>) -> Result<Option<Self>, QueryError> {
        match query.text(Self::PARAMETER) {
            None => Ok(None),
            Some("Exact") => Ok(Some(Self::Exact)),
            Some("NotOlderThan") => Ok(Some(Self::NotOlderThan)),
            Some(_) => Err(QueryError::Rule {
                parameter: Self::PARAMETER,
                rule: "it is either Exact or NotOlderThan",
            }),
        }
    }
}

/// The largest integer that a query string can carry: the API server's are signed.
const MAX_INTEGER: u64 = i64::MAX.unsigned_abs();

/// A timeout in seconds; a part of one counts as a whole one.
pub(super) fn whole_seconds(timeout: Duration) -> u64 {
    let part = u64::from(timeout.subsec_nanos() > 0);
    timeout.as_secs().saturating_add(part).min(MAX_INTEGER)
}

/// Reads the limit; the API server takes a negative one for none.
fn read_limit(query: &Reader<'_>) -> Result<Option<NonZeroU64>, QueryError> {
    let limit = query.integer("limit")?.and_then(|limit| u64::try_from(limit).ok());
    Ok(limit.and_then(NonZeroU64::new))
}

pub(super) fn read_version(query: &Reader<'_>) -> Result<Option<ResourceVersion>, QueryError> {
    query.text("resourceVersion").map(str::parse).transpose().map_err(QueryError::Version)
}

pub(super) fn read_timeout(query: &Reader<'_>) -> Result<Option<Duration>, QueryError> {
    let Some(seconds) = query.integer("timeoutSeconds")? else { return Ok(None) };
    let seconds = u64::try_from(seconds).map_err(|_| QueryError::Number {
        parameter: "timeoutSeconds",
        text: seconds.to_string(),
        expected: "a number of seconds, zero or more",
    })?;
    Ok(Some(Duration::from_secs(seconds)))
}
