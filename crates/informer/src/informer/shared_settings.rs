//! The settings of an informer that several callers share.

use super::start_error::StartError;
use crate::object::Storage;
use kube_informer_wire::ManagedFields;

/// The settings that all callers of a shared informer must agree on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct SharedSettings {
    pub(super) storage: Storage,
    pub(super) managed_fields: ManagedFields,
    /// Functions cannot be compared, so that two transforms are assumed to be the same.
    pub(super) transform: &'static str,
}

impl SharedSettings {
    /// Returns an error if other settings are requested for an informer that has these.
    pub(super) fn check(&self, requested: &Self, resource: &str) -> Result<(), StartError> {
        let settings = [
            ("storage", format!("{:?}", self.storage), format!("{:?}", requested.storage)),
            (
                "managed_fields",
                format!("{:?}", self.managed_fields),
                format!("{:?}", requested.managed_fields),
            ),
            ("transform", self.transform.to_owned(), requested.transform.to_owned()),
        ];
        match settings.into_iter().find(|(_, existing, requested)| existing != requested) {
            None => Ok(()),
            Some((setting, existing, requested)) => {
                let resource = resource.to_owned();
                Err(StartError::SettingsConflict { resource, setting, existing, requested })
            }
        }
    }
}
