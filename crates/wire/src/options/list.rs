//! The options of a list.

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
    /// Selects objects by label.
    pub label_selector: LabelSelector,
    /// Selects objects by field.
    pub field_selector: FieldSelector,
    /// Selects a shard of the objects.
    pub shard_selector: Option<ShardSelector>,
    /// The maximum number of items in a page; `None` for all. It is capped at 63 bits.
    pub limit: Option<NonZeroU64>,
    /// The continue token of the previous page; `None` or empty for the first page.
    pub continue_token: Option<String>,
    /// The required version; `None` for the most recent, [`ResourceVersion::ANY`] for any in the server's cache.
    pub resource_version: Option<ResourceVersion>,
    /// How `resource_version` is applied.
    pub resource_version_match: Option<VersionMatch>,
    /// The timeout of the request, rounded up to seconds, since zero means the server's default.
    pub timeout: Option<Duration>,
}

/// How a requested resourceVersion is applied.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum VersionMatch {
    /// Exactly this version.
    Exact,
    /// This version or a later one.
    NotOlderThan,
}

impl ListOptions {
    /// Returns the query string, always in the same order and without options that are not set.
    #[must_use]
    pub fn to_query(&self) -> String {
        let mut query = Writer::new();
        query
            .set("labelSelector", Some(&self.label_selector).filter(|selector| !selector.is_everything()))
            .set("fieldSelector", Some(&self.field_selector).filter(|selector| !selector.is_everything()))
            .set("shardSelector", self.shard_selector.as_ref())
            .set("limit", self.limit.map(|limit| limit.get().min(MAX_INTEGER)))
            .set("continue", self.continuation())
            .set("resourceVersion", self.resource_version.as_ref())
            .set("resourceVersionMatch", self.resource_version_match.map(VersionMatch::as_str))
            .set("timeoutSeconds", self.timeout.map(whole_seconds));
        query.finish()
    }

    /// Checks the rules of the API server for a list.
    ///
    /// # Errors
    /// [`QueryError::Rule`] or [`QueryError::VersionWithContinue`] for the first violated rule.
    pub fn check(&self) -> Result<(), QueryError> {
        self.check_version_match()?;
        let is_exact = self.resource_version.as_ref().is_some_and(|version| !version.is_any());
        if is_exact && self.continuation().is_some() {
            return Err(QueryError::VersionWithContinue);
        }
        Ok(())
    }

    /// Returns the continue token, unless it is empty.
    pub(super) fn continuation(&self) -> Option<&str> {
        self.continue_token.as_deref().filter(|token| !token.is_empty())
    }

    fn check_version_match(&self) -> Result<(), QueryError> {
        let Some(version_match) = self.resource_version_match else { return Ok(()) };
        let error = |rule| Err(QueryError::Rule { parameter: VersionMatch::PARAMETER, rule });
        match (&self.resource_version, version_match) {
            (None, _) => error("resourceVersion must be set too"),
            (Some(_), _) if self.continuation().is_some() => error("a continued list already has a version"),
            (Some(version), VersionMatch::Exact) if version.is_any() => {
                error("Exact needs a version other than 0")
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
            Some(_) => {
                Err(QueryError::Rule { parameter: Self::PARAMETER, rule: "it must be Exact or NotOlderThan" })
            }
        }
    }
}

/// The maximum integer in a query string: those of the API server are signed.
const MAX_INTEGER: u64 = i64::MAX.unsigned_abs();

/// Rounds a timeout up to seconds.
pub(super) fn whole_seconds(timeout: Duration) -> u64 {
    let part = u64::from(timeout.subsec_nanos() > 0);
    timeout.as_secs().saturating_add(part).min(MAX_INTEGER)
}

/// Reads the limit; like the API server, ignores a negative one.
fn read_limit(query: &Reader<'_>) -> Result<Option<NonZeroU64>, QueryError> {
    let limit = query.integer("limit")?.and_then(|limit| u64::try_from(limit).ok());
    Ok(limit.and_then(NonZeroU64::new))
}

pub(super) fn read_version(query: &Reader<'_>) -> Result<Option<ResourceVersion>, QueryError> {
    query.text("resourceVersion").map(str::parse).transpose().map_err(QueryError::Version)
}

pub(super) fn read_timeout(query: &Reader<'_>) -> Result<Option<Duration>, QueryError> {
    let Some(seconds) = query.integer("timeoutSeconds")? else { return Ok(None) };
    let seconds = u64::try_from(seconds).map_err(|_| QueryError::InvalidNumber {
        parameter: "timeoutSeconds",
        text: seconds.to_string(),
        expected: "a number of seconds, zero or more",
    })?;
    Ok(Some(Duration::from_secs(seconds)))
}
