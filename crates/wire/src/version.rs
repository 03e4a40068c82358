//! The resourceVersion of an object or a list.

use std::{cmp::Ordering, fmt, str::FromStr, sync::Arc};

/// A `resourceVersion`: opaque, never empty, and ordered as far as the API allows.
///
/// An unset version is `None`. It differs from [`ResourceVersion::ANY`] (`"0"`), with which a client accepts any version.
///
/// Since Kubernetes 1.35 two versions of one resource compare as decimal integers of any length. Other text is equal to
/// itself and unordered with anything else, so that `<` and `>=` are both false.
///
/// ```
/// use kube_informer_wire::ResourceVersion;
///
/// let old: ResourceVersion = "99".parse()?;
/// let new: ResourceVersion = "100".parse()?;
/// assert!(old < new);
/// # Ok::<(), kube_informer_wire::VersionError>(())
/// ```
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct ResourceVersion(Repr);

/// A canonical decimal that fits is stored as a number, without an allocation.
#[derive(Clone, PartialEq, Eq, Hash)]
enum Repr {
    Number(u64),
    Text(Arc<str>),
}

/// Text that is not a valid resourceVersion.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum VersionError {
    /// The text is empty, which means unset in the API.
    #[error("resource version is empty")]
    Empty,
    /// The text is longer than [`ResourceVersion::MAX_LENGTH`].
    #[error("resource version is longer than {} bytes", ResourceVersion::MAX_LENGTH)]
    TooLong,
}

impl ResourceVersion {
    /// Version `"0"`: any version that the server has in its cache.
    pub const ANY: Self = Self(Repr::Number(0));

    /// The maximum length in bytes.
    pub const MAX_LENGTH: usize = 256;

    /// Creates the version with this number.
    #[must_use]
    pub const fn number(number: u64) -> Self {
        Self(Repr::Number(number))
    }

    /// Parses a version; `None` if the text is empty, which means unset in the API.
    ///
    /// # Errors
    /// [`VersionError::TooLong`].
    pub fn parse_optional(text: &str) -> Result<Option<Self>, VersionError> {
        if text.is_empty() { Ok(None) } else { text.parse().map(Some) }
    }

    /// Whether this is [`ResourceVersion::ANY`].
    #[must_use]
    pub fn is_any(&self) -> bool {
        *self == Self::ANY
    }

    /// Returns the version as a number; `None` if it is not one or does not fit.
    #[must_use]
    pub fn to_number(&self) -> Option<u64> {
        match self.0 {
            Repr::Number(number) => Some(number),
            Repr::Text(_) => None,
        }
    }
}

impl FromStr for ResourceVersion {
    type Err = VersionError;

    fn from_str(text: &str) -> Result<Self, VersionError> {
        match text.len() {
            0 => Err(VersionError::Empty),
            length if length > Self::MAX_LENGTH => Err(VersionError::TooLong),
            _ => Ok(Self(match text.parse() {
                Ok(number) if is_canonical(text) => Repr::Number(number),
                _ => Repr::Text(text.into()),
            })),
        }
    }
}

fn is_canonical(text: &str) -> bool {
    text.bytes().all(|byte| byte.is_ascii_digit()) && (text.len() == 1 || !text.starts_with('0'))
}

impl PartialOrd for ResourceVersion {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        match (&self.0, &other.0) {
            (Repr::Number(one), Repr::Number(two)) => Some(one.cmp(two)),
            (Repr::Text(one), Repr::Text(two)) if is_canonical(one) && is_canonical(two) => {
                Some(one.len().cmp(&two.len()).then_with(|| one.cmp(two)))
            }
            (Repr::Text(one), Repr::Text(two)) => (one == two).then_some(Ordering::Equal),
            // A canonical decimal that is stored as text did not fit, so it is larger.
            (Repr::Number(_), Repr::Text(two)) => is_canonical(two).then_some(Ordering::Less),
            (Repr::Text(one), Repr::Number(_)) => is_canonical(one).then_some(Ordering::Greater),
        }
    }
}

impl fmt::Display for ResourceVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Repr::Number(number) => number.fmt(f),
            Repr::Text(text) => text.fmt(f),
        }
    }
}

impl fmt::Debug for ResourceVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ResourceVersion({self})")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn version(text: &str) -> ResourceVersion {
        text.parse().unwrap()
    }

    #[test]
    fn unset_and_any_differ() {
        assert_eq!(ResourceVersion::parse_optional(""), Ok(None));
        assert_eq!(ResourceVersion::parse_optional("0"), Ok(Some(ResourceVersion::ANY)));
        assert_eq!("".parse::<ResourceVersion>(), Err(VersionError::Empty));
        assert!(version("0").is_any());
        assert!(!version("00").is_any());
    }

    #[test]
    fn rejects_a_version_that_is_too_long() {
        let long = "1".repeat(ResourceVersion::MAX_LENGTH + 1);
        assert_eq!(long.parse::<ResourceVersion>(), Err(VersionError::TooLong));
    }

    #[test]
    fn orders_decimals_of_any_length() {
        let ascending =
            ["0", "9", "10", "18446744073709551615", "18446744073709551616", "99999999999999999999"];
        for pair in ascending.windows(2) {
            assert!(version(pair[0]) < version(pair[1]), "{pair:?}");
            assert!(version(pair[1]) > version(pair[0]), "{pair:?}");
        }
    }

    #[test]
    fn opaque_text_is_equal_only_to_itself() {
        for (one, two) in [("a", "b"), ("a", "1"), ("1", "01"), ("-1", "1"), ("+1", "1")] {
            assert_eq!(version(one).partial_cmp(&version(two)), None, "{one} {two}");
            assert_eq!(version(two).partial_cmp(&version(one)), None, "{two} {one}");
        }
        assert_eq!(version("a").partial_cmp(&version("a")), Some(Ordering::Equal));
    }

    proptest! {
        #[test]
        fn displays_as_the_parsed_text(text in "\\PC{1,40}|[0-9]{1,25}") {
            prop_assert_eq!(version(&text).to_string(), text);
        }

        #[test]
        fn equality_and_order_agree(one in "[0-9a]{1,3}|[0-9]{18,22}", two in "[0-9a]{1,3}|[0-9]{18,22}") {
            let order = version(&one).partial_cmp(&version(&two));
            prop_assert_eq!(order == Some(Ordering::Equal), one == two);
            prop_assert_eq!(order.map(Ordering::reverse), version(&two).partial_cmp(&version(&one)));
        }

        #[test]
        fn orders_as_integers_do(one: u128, two: u128) {
            prop_assert_eq!(version(&one.to_string()).partial_cmp(&version(&two.to_string())), Some(one.cmp(&two)));
        }
    }
}
