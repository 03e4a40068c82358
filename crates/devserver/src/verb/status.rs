//! The subresource `status`.

use crate::verb::{
    api_response::ApiResponse, cluster::Cluster, error_response::ErrorResponse, get::get as get_object,
    object_part::ObjectPart, patch::patch as patch_aspect, request::Request, update::update as update_aspect,
};

/// Returns the complete object, as kube-apiserver does.
pub(crate) async fn get(cluster: &Cluster, request: &Request) -> Result<ApiResponse, ErrorResponse> {
    get_object(cluster, request).await
}

/// Replaces the status only.
pub(crate) async fn update(cluster: &Cluster, request: &Request) -> Result<ApiResponse, ErrorResponse> {
    update_aspect(cluster, request, ObjectPart::Status).await
}

/// Patches the status only.
pub(crate) async fn patch(cluster: &Cluster, request: &Request) -> Result<ApiResponse, ErrorResponse> {
    patch_aspect(cluster, request, ObjectPart::Status).await
}
