//! The status of an object, on its own.

use crate::verb::{
    answer::Answer, aspect::Aspect, cluster::Cluster, get::get as get_object, patch::patch as patch_aspect,
    refusal::Refusal, request::Request, update::update as update_aspect,
};

/// Reads the object; the API server shows all of it.
pub(crate) async fn get(cluster: &Cluster, request: &Request) -> Result<Answer, Refusal> {
    get_object(cluster, request).await
}

/// Replaces the status, and leaves the rest as it is.
pub(crate) fn update(cluster: &Cluster, request: &Request) -> Result<Answer, Refusal> {
    update_aspect(cluster, request, Aspect::Status)
}

/// Changes a part of the status, and leaves the rest as it is.
pub(crate) fn patch(cluster: &Cluster, request: &Request) -> Result<Answer, Refusal> {
    patch_aspect(cluster, request, Aspect::Status)
}
