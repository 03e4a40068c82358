//! Writes that fail if the object was changed since it was read, regardless of the current holder of the
//! Lease.

use crate::term::{LeaseLost, Shard};
use kube_client::Api;
use kube_client::api::{Patch, PatchParams, PostParams};
use kube_core::Resource;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use std::fmt::Debug;

/// The reason why a fenced write failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum FencedWriteError {
    /// The Lease is not held any more. The write may have been applied if it had been sent.
    #[error(transparent)]
    Lost(#[from] LeaseLost),
    /// The object was not read from the API server.
    #[error("object {name:?} has no {missing}; read it from the API server before a fenced write")]
    Incomplete {
        /// The name of the object.
        name: String,
        /// The field that is missing.
        missing: &'static str,
    },
    /// The patch is not a JSON object.
    #[error("a merge patch must be a JSON object")]
    PatchNotAnObject,
    /// The API server refused the write; it is a conflict (409) if the object was changed.
    #[error("fenced write failed")]
    Client(#[source] kube_client::Error),
}

impl FencedWriteError {
    /// Returns true if the object was changed since it was read.
    #[must_use]
    pub fn is_conflict(&self) -> bool {
        matches!(self, Self::Client(kube_client::Error::Api(status)) if status.code == 409)
    }
}

impl Shard {
    /// Replaces an object if the Lease is held and the object still has the `resourceVersion` that it was read with.
    ///
    /// A process that was suspended between the check of its Lease and this write cannot overwrite a change
    /// of its successor. This requires that the successor has changed the object, for example an annotation.
    ///
    /// # Errors
    /// [`FencedWriteError`] if the Lease was lost, the object has no `resourceVersion`, or the write failed.
    pub async fn replace<K>(&self, api: &Api<K>, object: &K) -> Result<K, FencedWriteError>
    where
        K: Resource + Clone + Debug + Serialize + DeserializeOwned,
    {
        let name = name_of(object)?;
        version_of(object)?;
        let params = PostParams::default();
        self.run_while_held(api.replace(&name, &params, object)).await?.map_err(FencedWriteError::Client)
    }

    /// Applies a JSON merge patch if the Lease is held and the `resourceVersion` of the object still equals
    /// that of `read`.
    ///
    /// # Errors
    /// [`FencedWriteError`] if the Lease was lost, `read` has no `resourceVersion`, `patch` is not a JSON object, or the write failed.
    pub async fn merge_patch<K>(&self, api: &Api<K>, read: &K, patch: Value) -> Result<K, FencedWriteError>
    where
        K: Resource + Clone + Debug + DeserializeOwned,
    {
        let name = name_of(read)?;
        let mut patch = patch;
        let Value::Object(fields) = &mut patch else { return Err(FencedWriteError::PatchNotAnObject) };
        let metadata = fields.entry("metadata").or_insert_with(|| Value::Object(serde_json::Map::new()));
        let Value::Object(metadata) = metadata else { return Err(FencedWriteError::PatchNotAnObject) };
        metadata.insert("resourceVersion".to_owned(), Value::String(version_of(read)?));
        let params = PatchParams::default();
        let patch = Patch::Merge(patch);
        self.run_while_held(api.patch(&name, &params, &patch)).await?.map_err(FencedWriteError::Client)
    }
}

fn name_of<K: Resource>(object: &K) -> Result<String, FencedWriteError> {
    let missing = || FencedWriteError::Incomplete { name: String::new(), missing: "metadata.name" };
    object.meta().name.clone().ok_or_else(missing)
}

fn version_of<K: Resource>(object: &K) -> Result<String, FencedWriteError> {
    let name = object.meta().name.clone().unwrap_or_default();
    let missing = || FencedWriteError::Incomplete { name, missing: "metadata.resourceVersion" };
    object.meta().resource_version.clone().filter(|version| !version.is_empty()).ok_or_else(missing)
}
