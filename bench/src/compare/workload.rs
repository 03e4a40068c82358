//! The workloads that can be measured.

use clap::ValueEnum;

/// A named workload.
#[derive(ValueEnum, Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Workload {
    /// Cold sync in JSON, until the handler has received all objects
    ColdSyncJson,
    /// Cold sync in protobuf
    ColdSync,
    /// Memory per pod
    Memory,
    /// Memory per pod, with managed fields
    MemoryAllFields,
    /// Peak memory of a cold sync and of a relist, relative to the steady memory
    PeakMemory,
    /// Relist after 0.1 % of the objects have changed
    Relist,
    /// One update of every object, as fast as possible, with one handler and one index
    Updates,
    /// Latency from the server to the handler at 1,000 and 5,000 events per second
    Latency,
    /// Decoded events to 1, 10 and 100 handlers
    Fanout,
    /// Writes to a store of 10,000 objects while 0, 1 and 10 threads list it
    ConcurrentReads,
    /// Nine handlers next to one that takes 10 ms per event, at 5,000 events per second
    SlowHandler,
    /// Restart with a saved cache after 0.1 % of the objects have changed
    Restart,
    /// Operations of the work queue
    WorkQueue,
    /// A controller of 10,000 objects with four workers and an empty reconcile function
    Controller,
    /// A server with 100 watches and events of 1 KB
    Watchers,
    /// Cold sync and memory of untyped custom resources of 4 KB, in JSON
    CustomResources,
    /// Informers of 100 kinds in one process
    ManyKinds,
}

/// A part of a measurement.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Phase {
    Sync,
    Relist,
    Updates,
    Latency,
    Restart,
    Fanout,
    ConcurrentReads,
    SlowHandler,
    WorkQueue,
    Controller,
    Watchers,
    ManyKinds,
}

impl Workload {
    pub(crate) fn name(self) -> String {
        self.to_possible_value().map_or_else(String::new, |value| value.get_name().to_owned())
    }

    pub(crate) fn description(self) -> String {
        let help = self.to_possible_value().and_then(|value| value.get_help().map(ToString::to_string));
        help.unwrap_or_default()
    }

    pub(crate) fn phase(self) -> Phase {
        match self {
            Self::ColdSyncJson
            | Self::ColdSync
            | Self::Memory
            | Self::MemoryAllFields
            | Self::CustomResources => Phase::Sync,
            Self::PeakMemory | Self::Relist => Phase::Relist,
            Self::Updates => Phase::Updates,
            Self::Latency => Phase::Latency,
            Self::Fanout => Phase::Fanout,
            Self::ConcurrentReads => Phase::ConcurrentReads,
            Self::SlowHandler => Phase::SlowHandler,
            Self::Restart => Phase::Restart,
            Self::WorkQueue => Phase::WorkQueue,
            Self::Controller => Phase::Controller,
            Self::Watchers => Phase::Watchers,
            Self::ManyKinds => Phase::ManyKinds,
        }
    }

    /// Returns true if a kube-apiserver can replace the replay server.
    pub(crate) fn supports_kube_apiserver(self) -> bool {
        matches!(self, Self::ColdSyncJson | Self::ColdSync | Self::Memory | Self::Latency)
    }
}
