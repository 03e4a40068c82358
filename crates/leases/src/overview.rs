//! The leader elections and shard groups that a set of Leases describes, for people and tools.

use crate::names::{GROUP_LABEL, KEY_ANNOTATION, LEAVING_ANNOTATION, MEMBER_ANNOTATION, Role};
use crate::record::Record;
use k8s_openapi::api::coordination::v1::Lease;
use k8s_openapi::jiff::Timestamp;
use std::collections::BTreeMap;
use std::time::Duration;

/// A leader election or a shard group, as its Leases describe it.
///
/// Times are those of the clocks of the holders. They are for people: whether a Lease has expired is decided by the time since it last changed.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct GroupOverview {
    /// The namespace of the Leases.
    pub namespace: String,
    /// The name of the leader election or of the group.
    pub name: String,
    /// The kind: a leader election or a shard group.
    pub kind: GroupKind,
    /// The members of a shard group, sorted by identity; empty for a leader election.
    pub members: Vec<MemberOverview>,
    /// The shards that have a Lease, sorted by index; one for a leader election.
    pub shards: Vec<ShardOverview>,
}

/// The kind of a group.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum GroupKind {
    /// A leader election, by this crate or by client-go.
    Leader,
    /// A shard group.
    #[non_exhaustive]
    Shards {
        /// The number of shards; `None` if the Lease of the group does not exist.
        count: Option<u32>,
        /// The hashed field: `namespace` or `uid`.
        key: Option<String>,
    },
}

/// A member of a shard group.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct MemberOverview {
    /// The identity.
    pub identity: String,
    /// The indexes of the shards that it holds.
    pub shards: Vec<u32>,
    /// It drains its shards and is about to stop.
    pub is_leaving: bool,
    /// The number of shards that it expects, if that is not the number of the group.
    pub other_count: Option<u32>,
    /// The creation of its Lease.
    pub joined_at: Option<Timestamp>,
    /// The last renewal.
    pub renewed_at: Option<Timestamp>,
    /// The lease duration.
    pub duration: Option<Duration>,
}

/// A shard, or the Lease of a leader.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ShardOverview {
    /// The index.
    pub index: u32,
    /// The holder; `None` if it was released.
    pub holder: Option<String>,
    /// The holder has no member Lease any more, so that the shard is free.
    pub is_abandoned: bool,
    /// The number of changes of the holder.
    pub transitions: i32,
    /// The last acquisition.
    pub acquired_at: Option<Timestamp>,
    /// The last renewal: of a shard, that of its member.
    pub renewed_at: Option<Timestamp>,
    /// The lease duration.
    pub duration: Option<Duration>,
}

impl GroupOverview {
    /// Returns all leader elections and shard groups of these Leases, sorted by namespace and name.
    #[must_use]
    pub fn of_leases(leases: impl IntoIterator<Item = Lease>) -> Vec<Self> {
        let mut groups: BTreeMap<[String; 2], Vec<Record>> = BTreeMap::new();
        let mut overviews = Vec::new();
        for lease in leases {
            let namespace = lease.metadata.namespace.clone().unwrap_or_default();
            let group = lease.metadata.labels.as_ref().and_then(|labels| labels.get(GROUP_LABEL)).cloned();
            let record = Record::new(lease);
            match group {
                Some(group) => groups.entry([namespace, group]).or_default().push(record),
                None => overviews.push(Self::leader(namespace, &record)),
            }
        }
        overviews.extend(
            groups.into_iter().map(|([namespace, label], records)| Self::group(namespace, label, &records)),
        );
        overviews.sort_by(|one, other| (&one.namespace, &one.name).cmp(&(&other.namespace, &other.name)));
        overviews
    }

    fn leader(namespace: String, record: &Record) -> Self {
        Self {
            namespace,
            name: record.name().to_owned(),
            kind: GroupKind::Leader,
            members: Vec::new(),
            shards: vec![ShardOverview {
                index: 0,
                holder: record.holder().map(str::to_owned),
                is_abandoned: false,
                transitions: record.transitions(),
                acquired_at: record.acquire_time(),
                renewed_at: record.renew_time(),
                duration: record.duration(),
            }],
        }
    }

    fn group(namespace: String, label: String, records: &[Record]) -> Self {
        let group = records.iter().find(|record| record.has_role(Role::Group));
        let count = group.and_then(Record::shard_count);
        let members: BTreeMap<_, _> = records
            .iter()
            .filter(|record| record.has_role(Role::Member))
            .map(|record| (record.uid(), record))
            .collect();
        let mut shards: Vec<_> = records
            .iter()
            .filter(|record| record.has_role(Role::Shard))
            .filter_map(|record| ShardOverview::of_record(record, &members))
            // Shards of an earlier, larger number are not used any more.
            .filter(|shard| count.is_none_or(|count| shard.index < count))
            .collect();
        shards.sort_by_key(|shard| shard.index);
        let held_by = |uid: &str| -> Vec<u32> {
            let is_bound = |record: &&Record| {
                record.has_role(Role::Shard)
                    && record.holder().is_some()
                    && record.annotation(MEMBER_ANNOTATION) == Some(uid)
            };
            let mut held: Vec<_> = records.iter().filter(is_bound).filter_map(shard_index).collect();
            held.sort_unstable();
            held
        };
        let mut members: Vec<_> = members
            .iter()
            .map(|(uid, record)| MemberOverview {
                identity: record.holder().unwrap_or(record.name()).to_owned(),
                shards: held_by(uid),
                is_leaving: record.annotation(LEAVING_ANNOTATION).is_some(),
                other_count: record.shard_count().filter(|own| Some(*own) != count),
                joined_at: record.created_at(),
                renewed_at: record.renew_time(),
                duration: record.duration(),
            })
            .collect();
        members.sort_by(|one, other| one.identity.cmp(&other.identity));
        Self {
            namespace,
            name: group.map_or(label, |group| group.name().to_owned()),
            kind: GroupKind::Shards {
                count,
                key: group.and_then(|group| group.annotation(KEY_ANNOTATION)).map(str::to_owned),
            },
            members,
            shards,
        }
    }

    /// Returns the number of shards without a holder.
    #[must_use]
    pub fn free(&self) -> usize {
        let held = self.shards.iter().filter(|shard| shard.holder.is_some() && !shard.is_abandoned).count();
        let count = match self.kind {
            GroupKind::Leader => 1,
            GroupKind::Shards { count, .. } => count.map_or(self.shards.len(), |count| count as usize),
        };
        count.saturating_sub(held)
    }

    /// Returns the difference between the largest and the smallest number of shards of a member, without members that are leaving. It is
    /// at most 1 when the group is balanced.
    #[must_use]
    pub fn imbalance(&self) -> usize {
        let members = || self.members.iter().filter(|member| !member.is_leaving);
        let most = members().map(|member| member.shards.len()).max();
        let least = members().map(|member| member.shards.len()).min();
        most.zip(least).map_or(0, |(most, least)| most - least)
    }
}

impl ShardOverview {
    /// Returns the shard of a Lease, given the member Leases by uid; `None` if its name has no index.
    fn of_record(record: &Record, members: &BTreeMap<&str, &Record>) -> Option<Self> {
        let member = record.annotation(MEMBER_ANNOTATION).and_then(|uid| members.get(uid));
        Some(Self {
            index: shard_index(record)?,
            holder: record.holder().map(str::to_owned),
            is_abandoned: record.holder().is_some() && member.is_none(),
            transitions: record.transitions(),
            acquired_at: record.acquire_time(),
            renewed_at: member.and_then(|member| member.renew_time()),
            duration: member.and_then(|member| member.duration()),
        })
    }
}

fn shard_index(record: &Record) -> Option<u32> {
    record.name().rsplit('-').next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    fn lease(name: &str, role: Option<&str>, annotations: &Value, holder: Option<&str>) -> Lease {
        let labels = role.map(
            |role| json!({ "leases.kube-informer.io/group": "web", "leases.kube-informer.io/role": role }),
        );
        let object = json!({
            "metadata": { "namespace": "ops", "name": name, "uid": name, "labels": labels, "annotations": annotations },
            "spec": {
                "holderIdentity": holder, "leaseTransitions": 2, "leaseDurationSeconds": 15,
                "renewTime": "2026-11-17T12:00:00.000000Z",
            },
        });
        serde_json::from_value(object).unwrap()
    }

    #[test]
    fn groups_and_leaders_are_described_by_their_leases() {
        let shards =
            json!({ "leases.kube-informer.io/shards": "4", "leases.kube-informer.io/shard-key": "uid" });
        let of = |member: &str| json!({ "leases.kube-informer.io/member-uid": member });
        let leaving =
            json!({ "leases.kube-informer.io/shards": "4", "leases.kube-informer.io/leaving": "true" });
        let overviews = GroupOverview::of_leases([
            lease("leader", None, &Value::Null, Some("pod-9")),
            lease("web", Some("group"), &shards, None),
            lease("web-member-1", Some("member"), &shards, Some("pod-1")),
            lease("web-member-2", Some("member"), &shards, Some("pod-2")),
            lease("web-member-3", Some("member"), &leaving, Some("pod-3")),
            lease("web-shard-0", Some("shard"), &of("web-member-1"), Some("pod-1")),
            lease("web-shard-1", Some("shard"), &of("web-member-1"), Some("pod-1")),
            lease("web-shard-2", Some("shard"), &of("web-member-7"), Some("pod-7")),
            lease("web-shard-3", Some("shard"), &of("web-member-2"), None),
            lease("web-shard-9", Some("shard"), &of("web-member-2"), None),
        ]);
        let [leader, web] = &overviews[..] else { panic!("{overviews:#?}") };
        assert_eq!((&*leader.name, &leader.kind, leader.free()), ("leader", &GroupKind::Leader, 0));
        assert_eq!(leader.shards[0].holder.as_deref(), Some("pod-9"));
        assert_eq!(web.kind, GroupKind::Shards { count: Some(4), key: Some("uid".into()) });
        let members: Vec<_> =
            web.members.iter().map(|member| (&*member.identity, member.shards.clone())).collect();
        assert_eq!(members, [("pod-1", vec![0, 1]), ("pod-2", vec![]), ("pod-3", vec![])]);
        assert!(web.members[2].is_leaving);
        assert_eq!(web.shards.len(), 4, "shard 9 is of an earlier number of shards");
        assert!(web.shards[2].is_abandoned && !web.shards[0].is_abandoned);
        assert_eq!((web.free(), web.imbalance()), (2, 2));
        assert_eq!(web.shards[1].transitions, 2);
        assert!(web.shards[1].renewed_at.is_some(), "the renewal of its member");
    }
}
