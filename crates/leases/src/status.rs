//! The state of a replica and of its group, for people and metrics.

use crate::clock::BootTime;
use crate::config::Config;
use crate::names::{LEAVING_ANNOTATION, MEMBER_ANNOTATION};
use crate::record::Record;
use crate::replica::Replica;
use k8s_openapi::jiff::Timestamp;

/// The state of a replica and of its group, as this replica knows it.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct Status {
    /// The identity of this replica.
    pub identity: String,
    /// The members of a shard group, sorted by identity; empty for a leader.
    pub members: Vec<MemberStatus>,
    /// All shards; one for a leader.
    pub shards: Vec<ShardStatus>,
    /// The time until which this replica holds its shards if it does not renew; `None` if it holds none.
    pub deadline: Option<BootTime>,
    /// The number of requests that created, updated or deleted a Lease since the start.
    pub writes: u64,
}

/// A member of a shard group.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct MemberStatus {
    /// The identity of the member.
    pub identity: String,
    /// The number of shards that it holds.
    pub shards: usize,
    /// The member drains its shards and is about to stop.
    pub is_leaving: bool,
    /// The time of the last renewal by the clock of the member.
    pub renewed_at: Option<Timestamp>,
}

/// A shard of a group, or the Lease of a leader.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct ShardStatus {
    /// The index of the shard.
    pub index: u32,
    /// The identity in the Lease; `None` if the shard was released or never held. The holder may not exist
    /// any more.
    pub holder: Option<String>,
    /// True if this replica holds the shard.
    pub is_held_here: bool,
    /// The number of changes of the holder.
    pub transitions: i32,
    /// The time of the acquisition by the clock of the holder.
    pub acquired_at: Option<Timestamp>,
}

impl Status {
    pub(crate) fn new(config: &Config, replica: &Replica, writes: u64) -> Self {
        let held_here: Vec<_> = replica.holdings().map(|(shard, _)| shard).collect();
        let records: Vec<_> = (0..config.shard_count()).map(|shard| replica.shard_record(shard)).collect();
        let record = |shard: u32| records[shard as usize];
        let shard_status = |index| ShardStatus {
            index,
            holder: match held_here.contains(&index) {
                true => Some(config.identity.clone()),
                false => record(index).and_then(Record::holder).map(str::to_owned),
            },
            is_held_here: held_here.contains(&index),
            transitions: record(index).map_or(0, Record::transitions),
            acquired_at: record(index).and_then(Record::acquire_time),
        };
        let member_status = |member: &Record| {
            let shards = records.iter().flatten();
            let is_bound = |shard: &&&Record| shard.annotation(MEMBER_ANNOTATION) == Some(member.uid());
            MemberStatus {
                identity: member.holder().unwrap_or(member.name()).to_owned(),
                shards: shards.filter(is_bound).count(),
                is_leaving: member.annotation(LEAVING_ANNOTATION).is_some(),
                renewed_at: member.renew_time(),
            }
        };
        let mut members: Vec<_> = replica.members().map(member_status).collect();
        members.sort_by(|a, b| a.identity.cmp(&b.identity));
        Self {
            identity: config.identity.clone(),
            members,
            shards: (0..config.shard_count()).map(shard_status).collect(),
            deadline: replica.deadline(),
            writes,
        }
    }
}
