//! How many of an object there are and should be.

use crate::verb::{
    answer::Answer,
    aspect::Aspect,
    cluster::Cluster,
    patch::patch as patch_aspect,
    refusal::Refusal,
    request::Request,
    update::{current, show, update as update_aspect},
};

/// Reads the scale.
pub(crate) fn get(cluster: &Cluster, request: &Request) -> Result<Answer, Refusal> {
    let (record, _) = current(cluster, request)?;
    Ok(show(request, Aspect::Scale, &record))
}

/// Replaces the scale.
pub(crate) fn update(cluster: &Cluster, request: &Request) -> Result<Answer, Refusal> {
    update_aspect(cluster, request, Aspect::Scale)
}

/// Changes a part of the scale.
pub(crate) fn patch(cluster: &Cluster, request: &Request) -> Result<Answer, Refusal> {
    patch_aspect(cluster, request, Aspect::Scale)
}
