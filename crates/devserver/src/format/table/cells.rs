//! Table cells that combine several values of an object.

use crate::object::path;
use jiff::Timestamp;
use serde_json::Value;

/// Returns the items of a list at a path; empty if there is no list.
pub(super) fn items<'a>(object: &'a Value, path: &str) -> &'a [Value] {
    path::read(object, path).and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

/// Returns the text at a path, or `""`.
pub(super) fn text<'a>(object: &'a Value, path: &str) -> &'a str {
    path::read(object, path).and_then(Value::as_str).unwrap_or_default()
}

/// Returns the number at a path, or 0.
pub(super) fn number(object: &Value, path: &str) -> i64 {
    path::read(object, path).and_then(Value::as_i64).unwrap_or(0)
}

/// Returns the condition of this type.
pub(super) fn condition<'a>(object: &'a Value, kind: &str) -> Option<&'a Value> {
    items(object, "status.conditions").iter().find(|condition| text(condition, "type") == kind)
}

/// Joins texts with commas; `<none>` if there are none.
pub(super) fn joined(texts: impl IntoIterator<Item = impl Into<String>>) -> Value {
    let texts: Vec<String> = texts.into_iter().map(Into::into).filter(|text| !text.is_empty()).collect();
    if texts.is_empty() { "<none>".into() } else { texts.join(",").into() }
}

/// Returns the labels of a map at a path, as a selector.
pub(super) fn labels(object: &Value, path: &str) -> Value {
    let labels = path::read(object, path).and_then(Value::as_object).into_iter().flatten();
    joined(labels.map(|(key, value)| format!("{key}={}", value.as_str().unwrap_or_default())))
}

/// Returns the names of the containers in a pod template.
pub(super) fn template_containers(object: &Value, _: Timestamp) -> Value {
    let containers = items(object, "spec.template.spec.containers");
    containers.iter().map(|one| text(one, "name")).collect::<Vec<_>>().join(",").into()
}

/// Returns the images of the containers in a pod template.
pub(super) fn template_images(object: &Value, _: Timestamp) -> Value {
    let containers = items(object, "spec.template.spec.containers");
    containers.iter().map(|one| text(one, "image")).collect::<Vec<_>>().join(",").into()
}

/// Returns the labels by which a workload selects its pods.
pub(super) fn match_labels(object: &Value, _: Timestamp) -> Value {
    labels(object, "spec.selector.matchLabels")
}

/// Returns the labels by which a service or a replication controller selects its pods.
pub(super) fn plain_selector(object: &Value, _: Timestamp) -> Value {
    labels(object, "spec.selector")
}

/// Returns the status of a node.
pub(super) fn node_status(object: &Value, _: Timestamp) -> Value {
    let ready = match condition(object, "Ready").map(|ready| text(ready, "status")) {
        Some("True") => "Ready",
        Some(_) => "NotReady",
        None => "Unknown",
    };
    let is_closed = path::read(object, "spec.unschedulable").and_then(Value::as_bool) == Some(true);
    if is_closed { format!("{ready},SchedulingDisabled").into() } else { ready.into() }
}

/// Returns the roles of a node, which are in the names of its labels.
pub(super) fn node_roles(object: &Value, _: Timestamp) -> Value {
    let labels = path::read(object, "metadata.labels").and_then(Value::as_object).into_iter().flatten();
    let mut roles: Vec<_> = labels
        .filter_map(|(key, value)| match key.strip_prefix("node-role.kubernetes.io/") {
            Some(role) => Some(role),
            None if key == "kubernetes.io/role" => value.as_str(),
            None => None,
        })
        .collect();
    roles.sort_unstable();
    roles.dedup();
    joined(roles)
}

/// Returns the address of a node inside the cluster.
pub(super) fn internal_address(object: &Value, _: Timestamp) -> Value {
    address(object, "InternalIP")
}

/// Returns the address of a node outside of the cluster.
pub(super) fn external_address(object: &Value, _: Timestamp) -> Value {
    address(object, "ExternalIP")
}

fn address(object: &Value, kind: &str) -> Value {
    let found = items(object, "status.addresses").iter().find(|address| text(address, "type") == kind);
    found.map_or("<none>", |address| text(address, "address")).into()
}

/// Returns the addresses of a service outside of the cluster.
pub(super) fn service_external(object: &Value, _: Timestamp) -> Value {
    let external = items(object, "spec.externalIPs").iter().filter_map(Value::as_str);
    match text(object, "spec.type") {
        "ExternalName" => text(object, "spec.externalName").into(),
        "LoadBalancer" => {
            let given = items(object, "status.loadBalancer.ingress").iter();
            let given = given
                .map(|one| if text(one, "ip").is_empty() { text(one, "hostname") } else { text(one, "ip") });
            let found = joined(given.chain(external));
            if found == "<none>" { "<pending>".into() } else { found }
        }
        _ => joined(external),
    }
}

/// Returns the ports of a service.
pub(super) fn service_ports(object: &Value, _: Timestamp) -> Value {
    joined(items(object, "spec.ports").iter().map(|port| {
        let protocol = if text(port, "protocol").is_empty() { "TCP" } else { text(port, "protocol") };
        match number(port, "nodePort") {
            0 => format!("{}/{protocol}", number(port, "port")),
            node_port => format!("{}:{node_port}/{protocol}", number(port, "port")),
        }
    }))
}
