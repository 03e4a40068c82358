//! Assigns addresses and node ports when a service is written.

use crate::object::service;
use crate::registry::Resource;
use crate::storage::{CollectionId, Selection, Span, head};
use crate::verb::{cluster::Cluster, error_response::ErrorResponse};
use serde_json::Value;
use std::collections::HashSet;

/// The default range of node ports.
const NODE_PORTS: std::ops::Range<u64> = 30_000..32_768;

/// Fills in the addresses and node ports that a service lacks. Other objects are not changed.
///
/// # Errors
/// If the service cannot have an address.
pub(crate) fn assign(
    cluster: &Cluster,
    resource: &Resource,
    object: &mut Value,
) -> Result<(), ErrorResponse> {
    if !resource.is("", "services") {
        return Ok(());
    }
    if let Some(error) = service::address_error(object) {
        return Err(ErrorResponse::invalid(resource, "", &[error]));
    }
    service::assign_address(object, || service::address(cluster.next_address()));
    if service::lacks_node_ports(object) {
        let mut used = used_node_ports(cluster, resource);
        used.extend(service::node_ports(object));
        service::assign_node_ports(object, &mut NODE_PORTS.filter(|port| !used.contains(port)));
    }
    Ok(())
}

fn used_node_ports(cluster: &Cluster, resource: &Resource) -> HashSet<u64> {
    let collection = CollectionId::from(resource.storage());
    let page = cluster.store.list(&collection, &Selection::everything(None), &Span::default());
    let head = head(&resource.api_version(), &resource.kind);
    let records = page.map(|page| page.records).unwrap_or_default();
    records
        .iter()
        .flat_map(|record| service::node_ports(&record.to_value(&head)).collect::<Vec<_>>())
        .collect()
}
