//! The types of saving without the feature `saved`, which have no values.

use super::interface::{AppliedState, ClusterCheck, RestoredObjects, SaveRequest, SavedSource};
use crate::{
    cache::{EventSink, Snapshot},
    informer::{start_error::StartError, status::SaveStatus},
    object::{Storage, encoded::Encoder},
};
use kube_core::Resource;
use std::{convert::Infallible, marker::PhantomData, sync::Arc};

/// The options of saving.
#[derive(Clone)]
pub(in super::super) struct Save(Infallible);

/// The configuration of saving.
pub(in super::super) struct SaveConfig(Infallible);

/// Saves the changes of one source.
pub(in super::super) struct Saver<K>(Infallible, PhantomData<K>);

/// The savers of all sources of an informer.
pub(in super::super) struct Savers<K>(Infallible, PhantomData<K>);

impl SaveConfig {
    pub(in super::super) fn new<K: Resource>(
        save: &Save,
        _: &SaveRequest<'_, K>,
    ) -> Result<Self, StartError> {
        match save.0 {}
    }

    pub(in super::super) fn encoder<K>(&self, _: Storage) -> Encoder<K> {
        match self.0 {}
    }
}

impl<K> Savers<K> {
    pub(in super::super) fn new(config: &SaveConfig) -> Self {
        match config.0 {}
    }

    pub(in super::super) fn open(
        &mut self,
        _: &SaveConfig,
        _: SavedSource<'_, K>,
    ) -> Result<Option<RestoredObjects<K>>, StartError> {
        match self.0 {}
    }

    pub(in super::super) fn get(&self, _: usize) -> Option<&Arc<Saver<K>>> {
        match self.0 {}
    }

    #[expect(clippy::unused_async, reason = "sends a request with the feature")]
    pub(in super::super) async fn check_cluster(&self, _: usize) -> ClusterCheck {
        match self.0 {}
    }

    #[expect(clippy::unused_async, reason = "waits with the feature")]
    pub(in super::super) async fn cluster_failed(&self, _: usize) {
        match self.0 {}
    }

    pub(in super::super) fn cluster_error(&self) -> Option<String> {
        match self.0 {}
    }

    pub(in super::super) fn status(&self) -> Option<SaveStatus> {
        match self.0 {}
    }
}

impl<K> Saver<K> {
    pub(in super::super) fn record(&self, _: &mut dyn EventSink<K>, _: impl FnOnce(&mut dyn EventSink<K>)) {
        match self.0 {}
    }

    pub(in super::super) fn applied(&self, _: AppliedState<K>) {
        match self.0 {}
    }

    pub(in super::super) fn end(&self) {
        match self.0 {}
    }

    pub(in super::super) fn close(&self, _: Arc<Snapshot<K>>, _: u64) {
        match self.0 {}
    }
}
