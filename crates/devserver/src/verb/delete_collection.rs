//! Deletes a collection.

use crate::storage::{Page, Span};
use crate::verb::{
    api_response::ApiResponse,
    cluster::Cluster,
    conversion,
    delete::{Deletion, options, remove, review},
    error_response::ErrorResponse,
    list::{answer, selection},
    request::Request,
};
use kube_informer_wire::ListOptions;

/// Deletes the objects that match the options, and returns them as a list.
pub(crate) async fn delete_collection(
    cluster: &Cluster,
    request: &Request,
    list: ListOptions,
) -> Result<ApiResponse, ErrorResponse> {
    let options = options(request)?;
    let selection = selection(request, list)?;
    let page = cluster.store.list(&request.collection(), &selection, &Span::default());
    let found = page.map(|page| page.records).unwrap_or_default();
    let mut records = Vec::with_capacity(found.len());
    for record in found {
        let one = Request {
            namespace: record.key().namespace().map(str::to_owned),
            name: record.key().name().to_owned(),
            ..request.clone()
        };
        let removed = match review(cluster, &one, &options).await {
            Ok(()) => remove(cluster, &one, &options),
            Err(error) => Err(error),
        };
        match removed {
            Ok(gone) => records.push(Deletion::into_record(gone)),
            // Another client deleted it in the meantime, which is the result that this client requested.
            Err(error) if error.status().code == 404 => {}
            Err(error) => return Err(error),
        }
    }
    let records = conversion::records(cluster, &request.resource, records).await?;
    Ok(answer(request, Page { version: cluster.store.version(), records, next: None, remaining: None }))
}
