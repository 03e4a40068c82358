//! The values that an informer exchanges with saving.
#![cfg_attr(not(feature = "saved"), allow(dead_code, reason = "values of saving are not used without it"))]

use crate::{
    cache::Snapshot,
    object::{
        Decoder,
        encoded::{EncodedObject, Encoder},
    },
};
use kube_client::Client;
use kube_core::Resource;
use kube_informer_wire::{Key, ManagedFields, ResourceVersion};
use std::{sync::Arc, time::Duration};

/// The resource that is saved, and the selection and format of its objects.
pub(in super::super) struct SaveRequest<'r, K: Resource> {
    /// The name of the informer.
    pub(in super::super) name: &'r str,
    pub(in super::super) client: &'r Client,
    pub(in super::super) kind: &'r K::DynamicType,
    pub(in super::super) labels: Option<&'r str>,
    pub(in super::super) fields: Option<&'r str>,
    /// The shard, such as `0/3`.
    pub(in super::super) shard: Option<String>,
    pub(in super::super) managed_fields: ManagedFields,
    pub(in super::super) has_transform: bool,
}

/// A source whose state is restored.
pub(in super::super) struct SavedSource<'s, K> {
    /// `None` for all namespaces.
    pub(in super::super) namespace: Option<&'s str>,
    pub(in super::super) encoder: Encoder<K>,
    pub(in super::super) decoder: Decoder<K>,
}

/// A restored state.
pub(in super::super) struct RestoredObjects<K> {
    pub(in super::super) objects: Vec<(Key, EncodedObject<K>)>,
    pub(in super::super) version: ResourceVersion,
    /// True if objects of that version are missing or outdated.
    pub(in super::super) has_gaps: bool,
    pub(in super::super) age: Duration,
}

/// The cache after a batch.
pub(in super::super) struct AppliedState<K> {
    /// The version of the source.
    pub(in super::super) version: Option<ResourceVersion>,
    /// True if objects are missing or outdated.
    pub(in super::super) has_gaps: bool,
    /// True if the batch was a full list.
    pub(in super::super) is_list: bool,
    pub(in super::super) snapshot: Arc<Snapshot<K>>,
    /// The end of the log.
    pub(in super::super) position: u64,
    /// The position that all subscribers with `Replay::Differences` have handled.
    pub(in super::super) handled: u64,
}

/// The result of comparing the cluster of a source with that of its restored state.
pub(in super::super) enum ClusterCheck {
    Same,
    /// The restored state is discarded.
    StartOver,
    Other {
        saved: String,
        found: String,
    },
}
