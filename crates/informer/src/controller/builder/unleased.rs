//! A controller without the feature `leases`.

use super::Controller;
use crate::controller::{error::ControllerError, trigger::Trigger};
use futures_util::future::pending;
use kube_core::Resource;
use std::{convert::Infallible, sync::Arc};

impl<K: Resource + Send + Sync + 'static> Controller<K> {
    pub(super) fn is_ready_with_caches(&self) -> bool {
        true
    }

    pub(super) fn follow_leases(
        &self,
        _triggers: &[Arc<dyn Trigger>],
    ) -> impl Future<Output = Infallible> + Send + use<K> {
        pending()
    }

    pub(super) fn check_leases(&self, _triggers: &[Arc<dyn Trigger>]) -> Result<(), ControllerError> {
        Ok(())
    }
}
