//! Server-side apply.

use kube_client::{
    Api, Error,
    api::{Patch, PatchParams},
};
use kube_core::Resource;
use serde::{Serialize, de::DeserializeOwned};
use serde_json::Value;
use std::fmt::Debug;

/// Applies an object with server-side apply, and returns what the server stored.
///
/// The object has the fields that the controller decides on, and no others; fields that were applied before and are missing now
/// are removed. Conflicts with other field managers are resolved in favor of this one, as is usual for controllers.
/// `managedFields` and `resourceVersion` are removed from the request: the server rejects the first, and the second would turn
/// concurrent changes into conflicts.
///
/// ```
/// use k8s_openapi::api::core::v1::ConfigMap;
/// use kube::api::Api;
/// use kube_informer::controller::apply;
///
/// async fn settings(api: &Api<ConfigMap>) -> Result<ConfigMap, kube::Error> {
///     let mut map = ConfigMap::default();
///     map.metadata.name = Some("settings".into());
///     map.data = Some([("mode".into(), "fast".into())].into());
///     apply(api, "example-operator", &map).await
/// }
/// ```
///
/// # Errors
/// The error of the server, or an error if the object has no name or cannot be serialized.
#[doc(alias = "server-side apply")]
pub async fn apply<K>(api: &Api<K>, field_manager: &str, object: &K) -> Result<K, Error>
where
    K: Resource + Serialize + DeserializeOwned + Clone + Debug,
{
    let body = body(object)?;
    api.patch(&name(object), &PatchParams::apply(field_manager).force(), &Patch::Apply(&body)).await
}

/// Applies the status of an object with server-side apply; see [`apply`]. Other fields are ignored by the server.
///
/// # Errors
/// As [`apply`].
#[doc(alias = "UpdateStatus")]
pub async fn apply_status<K>(api: &Api<K>, field_manager: &str, object: &K) -> Result<K, Error>
where
    K: Resource + Serialize + DeserializeOwned + Clone + Debug,
{
    let body = body(object)?;
    api.patch_status(&name(object), &PatchParams::apply(field_manager).force(), &Patch::Apply(&body)).await
}

fn name<K: Resource>(object: &K) -> String {
    object.meta().name.clone().unwrap_or_default()
}

/// Returns the object without the metadata that the server does not accept.
fn body<K: Serialize>(object: &K) -> Result<Value, Error> {
    let mut body = serde_json::to_value(object).map_err(Error::SerdeError)?;
    if let Some(metadata) = body.get_mut("metadata").and_then(Value::as_object_mut) {
        metadata.remove("managedFields");
        metadata.remove("resourceVersion");
    }
    Ok(body)
}
