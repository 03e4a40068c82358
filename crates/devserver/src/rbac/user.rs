//! The user of a request: the name and the groups that role bindings refer to.

use serde_json::{Value, json};
use std::collections::BTreeMap;

/// A user of the API.
///
/// ```
/// use kube_devserver::User;
///
/// let account = User::new("system:serviceaccount:ops:website");
/// assert!(account.groups().iter().any(|group| group == "system:serviceaccounts:ops"));
/// let person = User::new("alice").group("developers");
/// assert_eq!(person.groups(), ["developers", "system:authenticated"]);
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct User {
    name: String,
    uid: String,
    groups: Vec<String>,
    extra: BTreeMap<String, Vec<String>>,
}

/// The group of users who may do everything, regardless of the roles.
pub(crate) const MASTERS: &str = "system:masters";
const AUTHENTICATED: &str = "system:authenticated";
const UNAUTHENTICATED: &str = "system:unauthenticated";
const ANONYMOUS: &str = "system:anonymous";

impl User {
    /// Creates a user that is in the group `system:authenticated`; `system:serviceaccount:NAMESPACE:NAME` is also in the groups of
    /// service accounts.
    #[must_use]
    pub fn new(name: impl Into<String>) -> Self {
        let name = name.into();
        let groups = match service_account(&name) {
            Some(account) => account_groups(account.namespace),
            None => Vec::new(),
        };
        Self::with_groups(name, groups)
    }

    /// Adds a group.
    #[must_use]
    pub fn group(self, group: impl Into<String>) -> Self {
        let mut groups = self.groups;
        groups.insert(groups.len().saturating_sub(1), group.into());
        Self { groups, ..self }
    }

    /// Returns the name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the groups.
    #[must_use]
    pub fn groups(&self) -> &[String] {
        &self.groups
    }

    /// Creates the user of clients that give no identity. It may do everything.
    pub(crate) fn admin() -> Self {
        Self::new("system:admin").group(MASTERS)
    }

    /// Creates a user with these groups, to which the group of authenticated or anonymous users is added unless it has
    /// one of them.
    pub(crate) fn with_groups(name: impl Into<String>, mut groups: Vec<String>) -> Self {
        let name = name.into();
        let has = |wanted: &[&str]| groups.iter().any(|group| wanted.contains(&group.as_str()));
        let missing = match name == ANONYMOUS {
            true => (!has(&[UNAUTHENTICATED])).then_some(UNAUTHENTICATED),
            false => (!has(&[AUTHENTICATED, UNAUTHENTICATED])).then_some(AUTHENTICATED),
        };
        groups.extend(missing.map(str::to_owned));
        Self { name, uid: String::new(), groups, extra: BTreeMap::new() }
    }

    /// Creates a user with exactly these groups.
    pub(crate) fn with_exact_groups(name: impl Into<String>, groups: Vec<String>) -> Self {
        Self { name: name.into(), uid: String::new(), groups, extra: BTreeMap::new() }
    }

    pub(crate) fn with_uid(self, uid: impl Into<String>) -> Self {
        Self { uid: uid.into(), ..self }
    }

    pub(crate) fn with_extra(self, extra: BTreeMap<String, Vec<String>>) -> Self {
        Self { extra, ..self }
    }

    /// Returns the `UserInfo` of `authentication.k8s.io`.
    pub(crate) fn to_info(&self) -> Value {
        let mut info = json!({ "username": self.name(), "groups": self.groups() });
        if !self.uid().is_empty() {
            info["uid"] = self.uid().into();
        }
        if !self.extra().is_empty() {
            info["extra"] = json!(self.extra());
        }
        info
    }

    pub(crate) fn uid(&self) -> &str {
        &self.uid
    }

    pub(crate) fn extra(&self) -> &BTreeMap<String, Vec<String>> {
        &self.extra
    }

    /// Returns true if the user is allowed to do everything.
    pub(crate) fn is_master(&self) -> bool {
        self.is_in(MASTERS)
    }

    pub(crate) fn is_in(&self, group: &str) -> bool {
        self.groups.iter().any(|own| own == group)
    }
}

impl From<&str> for User {
    fn from(name: &str) -> Self {
        Self::new(name)
    }
}

impl From<String> for User {
    fn from(name: String) -> Self {
        Self::new(name)
    }
}

/// The parts of the name of a service account as a user.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ServiceAccountName<'a> {
    pub(crate) namespace: &'a str,
    pub(crate) name: &'a str,
}

/// Returns the namespace and the name in `system:serviceaccount:NAMESPACE:NAME`.
pub(crate) fn service_account(user: &str) -> Option<ServiceAccountName<'_>> {
    let (namespace, name) = user.strip_prefix("system:serviceaccount:")?.split_once(':')?;
    let is_sound = !namespace.is_empty() && !name.is_empty() && !name.contains(':');
    is_sound.then_some(ServiceAccountName { namespace, name })
}

/// Returns the groups of the service accounts of a namespace.
pub(crate) fn account_groups(namespace: &str) -> Vec<String> {
    vec!["system:serviceaccounts".to_owned(), format!("system:serviceaccounts:{namespace}")]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn users_are_in_the_groups_that_their_name_implies() {
        let table = [
            ("alice", vec!["system:authenticated"]),
            ("system:anonymous", vec!["system:unauthenticated"]),
            (
                "system:serviceaccount:ops:website",
                vec!["system:serviceaccounts", "system:serviceaccounts:ops", "system:authenticated"],
            ),
            ("system:serviceaccount:ops", vec!["system:authenticated"]),
            ("system:serviceaccount:a:b:c", vec!["system:authenticated"]),
        ];
        for (name, groups) in table {
            assert_eq!(User::new(name).groups(), groups, "{name}");
        }
        let exact = User::with_groups("a", vec!["system:unauthenticated".to_owned()]);
        assert_eq!(exact.groups(), ["system:unauthenticated"]);
        assert!(User::admin().is_master() && !User::new("system:admin").is_master());
    }
}
