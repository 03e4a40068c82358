//! The subresource `scale`.

use crate::verb::{
    api_response::ApiResponse,
    cluster::Cluster,
    error_response::ErrorResponse,
    object_part::ObjectPart,
    patch::patch as patch_aspect,
    request::Request,
    update::{current, show, update as update_aspect},
};

/// Reads the scale.
pub(crate) async fn get(cluster: &Cluster, request: &Request) -> Result<ApiResponse, ErrorResponse> {
    let (record, _) = current(cluster, request)?;
    show(cluster, request, ObjectPart::Scale, &record).await
}

/// Replaces the scale.
pub(crate) async fn update(cluster: &Cluster, request: &Request) -> Result<ApiResponse, ErrorResponse> {
    update_aspect(cluster, request, ObjectPart::Scale).await
}

/// Patches the scale.
pub(crate) async fn patch(cluster: &Cluster, request: &Request) -> Result<ApiResponse, ErrorResponse> {
    patch_aspect(cluster, request, ObjectPart::Scale).await
}
