//! Which packaged kubectl the interop tests run against, and what its absence means.

use std::path::PathBuf;

use crate::go::{Place, Plan};

/// The kubectl of a distribution, beside the one that is built: it shows what years-old clients ask for.
#[derive(Debug, Default)]
pub(crate) struct Packaged {
    /// From the package `kubernetes-client`.
    pub(crate) debian: Option<PathBuf>,
    /// From the PATH, whatever its version.
    pub(crate) installed: Option<PathBuf>,
    pub(crate) has_apt: bool,
}

/// A distribution without the package leaves it out; one that could have it may not go without in CI.
pub(crate) fn with_packaged(packaged: Packaged, place: Place) -> Plan<PathBuf> {
    const NO_APT: &str = "packaged kubectl left out: there is none on the PATH, and no apt-get to get one";
    const NOT_HAD: &str =
        "packaged kubectl left out: there is none on the PATH, and apt-get did not get kubernetes-client";
    match (packaged.debian.or(packaged.installed), packaged.has_apt, place) {
        (Some(kubectl), _, Place::Desk | Place::Ci) => Plan::Run(kubectl),
        (None, false, Place::Desk | Place::Ci) => Plan::LeaveOut(NO_APT),
        (None, true, Place::Desk) => Plan::LeaveOut(NOT_HAD),
        (None, true, Place::Ci) => Plan::Fail(NOT_HAD),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn packaged(debian: &str, installed: &str, apt: &str) -> Packaged {
        let path = |path: &str| (!path.is_empty()).then(|| path.into());
        Packaged { debian: path(debian), installed: path(installed), has_apt: apt == "apt" }
    }

    #[test]
    fn the_package_of_the_distribution_comes_before_what_is_installed() {
        for place in [Place::Desk, Place::Ci] {
            assert_eq!(with_packaged(packaged("/a", "/b", "apt"), place), Plan::Run("/a".into()));
            assert_eq!(with_packaged(packaged("", "/b", "apt"), place), Plan::Run("/b".into()));
            assert_eq!(with_packaged(packaged("", "/b", ""), place), Plan::Run("/b".into()));
        }
    }

    #[test]
    fn no_packaged_kubectl_is_a_failure_only_in_ci_and_with_apt() {
        assert!(matches!(with_packaged(packaged("", "", "apt"), Place::Ci), Plan::Fail(_)));
        assert!(matches!(with_packaged(packaged("", "", "apt"), Place::Desk), Plan::LeaveOut(_)));
        assert!(matches!(with_packaged(packaged("", "", ""), Place::Ci), Plan::LeaveOut(_)));
        assert!(matches!(with_packaged(packaged("", "", ""), Place::Desk), Plan::LeaveOut(_)));
    }
}
