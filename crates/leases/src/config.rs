//! The checked settings of a replica.

use crate::error::ConfigError;
use crate::names;
use crate::range::ShardKey;
use crate::timing::Timing;
use k8s_openapi::api::rbac::v1::PolicyRule;
use std::time::Duration;

/// The settings of a replica.
#[derive(Clone, Debug)]
pub(crate) struct Config {
    /// The name of the Lease, or of the shard group.
    pub(crate) name: String,
    pub(crate) namespace: String,
    pub(crate) identity: String,
    /// A random text that distinguishes this process from others with the same identity.
    pub(crate) instance: String,
    pub(crate) mode: Mode,
    pub(crate) timing: Timing,
    pub(crate) drain_timeout: Duration,
}

/// The kind of leases.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mode {
    /// One Lease, as with client-go's LeaderElector.
    Leader,
    /// A group of shards and members.
    Shards { count: u32, key: ShardKey },
}

impl Config {
    pub(crate) fn validate(&self) -> Result<(), ConfigError> {
        match self.mode {
            Mode::Leader => names::validate_name(&self.name, self.name.clone())?,
            Mode::Shards { count: 0, .. } => return Err(ConfigError::ZeroShards { name: self.name.clone() }),
            Mode::Shards { count, .. } => {
                let max = names::MAX_SHARDS;
                if count > max {
                    return Err(ConfigError::TooManyShards { name: self.name.clone(), count, max });
                }
                // A shard index always has fewer digits than the hash in the name of a member Lease.
                names::validate_name(&self.name, names::member_lease(&self.name, &self.identity))?;
            }
        }
        names::validate_namespace(&self.namespace)?;
        names::validate_identity(&self.identity)?;
        self.timing.validate()
    }

    pub(crate) fn shard_count(&self) -> u32 {
        match self.mode {
            Mode::Leader => 1,
            Mode::Shards { count, .. } => count,
        }
    }

    /// Returns the RBAC rules that a replica needs in the namespace of the Leases.
    pub(crate) fn rules(&self) -> Vec<PolicyRule> {
        let rule = |verbs: &[&str], names: Option<Vec<String>>| PolicyRule {
            api_groups: Some(vec!["coordination.k8s.io".to_owned()]),
            resources: Some(vec!["leases".to_owned()]),
            resource_names: names,
            verbs: verbs.iter().map(|verb| (*verb).to_owned()).collect(),
            ..PolicyRule::default()
        };
        match self.mode {
            // RBAC cannot restrict create requests by the name of the object.
            Mode::Leader => vec![
                rule(&["create"], None),
                rule(&["get", "list", "watch", "update"], Some(vec![self.name.clone()])),
            ],
            Mode::Shards { .. } => vec![rule(&["get", "list", "watch", "create", "update", "delete"], None)],
        }
    }

    /// Returns the manifest of the Role that a replica needs.
    pub(crate) fn role(&self) -> String {
        let Self { name, namespace, .. } = self;
        let list = |items: &[String]| format!("{items:?}");
        let mut text = format!(
            "apiVersion: rbac.authorization.k8s.io/v1\nkind: Role\nmetadata:\n  name: {name}-leases\n  \
             namespace: {namespace}\nrules:\n"
        );
        for PolicyRule { api_groups, resources, resource_names, verbs, .. } in self.rules() {
            text += &format!("- apiGroups: {}\n", list(&api_groups.unwrap_or_default()));
            text += &format!("  resources: {}\n", list(&resources.unwrap_or_default()));
            if let Some(names) = resource_names {
                text += &format!("  resourceNames: {}\n", list(&names));
            }
            text += &format!("  verbs: {}\n", list(&verbs));
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn config(mode: Mode) -> Config {
        Config {
            name: "web".into(),
            namespace: "ops".into(),
            identity: "a".into(),
            instance: "1".into(),
            mode,
            timing: Timing::default(),
            drain_timeout: Duration::from_secs(20),
        }
    }

    #[test]
    fn zero_shards_are_rejected() {
        let error = config(Mode::Shards { count: 0, key: ShardKey::Uid }).validate().unwrap_err();
        assert_eq!(error.to_string(), "shard group \"web\" has 0 shards; use at least 1");
        let error = config(Mode::Shards { count: 1025, key: ShardKey::Uid }).validate().unwrap_err();
        assert_eq!(error.to_string(), "shard group \"web\" has 1025 shards; use at most 1024");
        assert_eq!(config(Mode::Shards { count: 1024, key: ShardKey::Uid }).validate(), Ok(()));
    }

    #[test]
    fn the_role_of_a_leader_is_restricted_to_its_lease() {
        let expected = "\
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata:
  name: web-leases
  namespace: ops
rules:
- apiGroups: [\"coordination.k8s.io\"]
  resources: [\"leases\"]
  verbs: [\"create\"]
- apiGroups: [\"coordination.k8s.io\"]
  resources: [\"leases\"]
  resourceNames: [\"web\"]
  verbs: [\"get\", \"list\", \"watch\", \"update\"]
";
        assert_eq!(config(Mode::Leader).role(), expected);
        let shards = config(Mode::Shards { count: 1, key: ShardKey::Uid }).role();
        assert!(
            shards.ends_with("  verbs: [\"get\", \"list\", \"watch\", \"create\", \"update\", \"delete\"]\n")
        );
    }
}
