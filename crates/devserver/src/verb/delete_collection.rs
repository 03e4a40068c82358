//! Deletes many objects.

use crate::storage::{Page, Span};
use crate::verb::{
    answer::Answer,
    cluster::Cluster,
    delete::{Gone, options, remove},
    list::{answer, selection},
    refusal::Refusal,
    request::Request,
};
use kube_informer_wire::ListOptions;

/// Deletes the objects that the options select, and answers with the list of them.
pub(crate) fn delete_collection(
    cluster: &Cluster,
    request: &Request,
    list: ListOptions,
) -> Result<Answer, Refusal> {
    let options = options(request)?;
    let selection = selection(request, list)?;
    let page = cluster.store.list(&request.place(), &selection, &Span::default());
    let found = page.map(|page| page.records).unwrap_or_default();
    let mut records = Vec::with_capacity(found.len());
    for record in found {
        let one = Request {
            namespace: record.key().namespace().map(str::to_owned),
            name: record.key().name().to_owned(),
            ..request.clone()
        };
        match remove(cluster, &one, &options) {
            Ok(gone) => records.push(Gone::into_record(gone)),
            // Someone else deleted it meanwhile, which is what the client wants.
            Err(refusal) if refusal.status().code == 404 => {}
            Err(refusal) => return Err(refusal),
        }
    }
    Ok(answer(request, Page { version: cluster.store.version(), records, next: None, remaining: None }))
}
