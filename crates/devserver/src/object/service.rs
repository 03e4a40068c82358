//! The addresses and node ports that the server assigns to services.

use crate::invalid::FieldError;
use crate::object::metadata;
use serde_json::{Map, Value, json};

type Fields = Map<String, Value>;

/// The fields that a service without a cluster IP does not have.
const ADDRESS_FIELDS: [&str; 4] = ["clusterIP", "clusterIPs", "ipFamilies", "ipFamilyPolicy"];
/// The number of addresses in 10.96.0.0/12, the default range of kubeadm.
const ADDRESSES: u32 = 1 << 20;
/// The addresses at both ends of the range that are not assigned.
const RESERVED: u32 = 256;

/// Returns an address of the range; other numbers below a million give other addresses.
pub(crate) fn address(number: u64) -> String {
    let offset = number % u64::from(ADDRESSES - 2 * RESERVED);
    let [_, second, third, fourth] = (RESERVED + u32::try_from(offset).unwrap_or_default()).to_be_bytes();
    format!("10.{}.{third}.{fourth}", 96 + second)
}

/// Returns the node ports of a service.
pub(crate) fn node_ports(service: &Value) -> impl Iterator<Item = u64> {
    let ports = service.pointer("/spec/ports").and_then(Value::as_array);
    ports.into_iter().flatten().filter_map(|port| port["nodePort"].as_u64()).filter(|port| *port != 0)
}

/// Returns whether a service lacks a node port.
pub(crate) fn lacks_node_ports(service: &Value) -> bool {
    let spec = &service["spec"];
    let ports = spec["ports"].as_array().map_or(0, Vec::len);
    has_node_ports(spec) && node_ports(service).count() < ports
}

fn has_node_ports(spec: &Value) -> bool {
    match spec["type"].as_str() {
        Some("NodePort") => true,
        Some("LoadBalancer") => spec["allocateLoadBalancerNodePorts"] != false,
        _ => false,
    }
}

/// Returns the error of a service without a name that needs an address: kube-apiserver stores the address with the name of its service, and
/// before it validates the service.
pub(crate) fn address_error(service: &Value) -> Option<FieldError> {
    let spec = service.get("spec")?.as_object()?;
    let has_address = text(spec, "type") == "ExternalName"
        || ["clusterIP", "clusterIPs"].iter().any(|field| !is_empty(spec, field));
    let is_nameless = metadata::name(service).is_empty();
    let detail = "failed to allocate IP: the service has no name";
    (is_nameless && !has_address).then(|| FieldError::invalid_omitted("spec.clusterIPs", detail))
}

/// Fills in the addresses of a service. An address is taken from `next` only if the service has none.
pub(crate) fn assign_address(service: &mut Value, next: impl FnOnce() -> String) {
    let Some(spec) = service.get_mut("spec").and_then(Value::as_object_mut) else { return };
    if text(spec, "type") == "ExternalName" {
        return;
    }
    let mut address = text(spec, "clusterIP").to_owned();
    if address.is_empty() {
        let first = spec.get("clusterIPs").and_then(|all| all.get(0)).and_then(Value::as_str);
        address = first.map_or_else(next, str::to_owned);
    }
    let is_headless_without_selector = address == "None" && is_empty(spec, "selector");
    if is_empty(spec, "ipFamilyPolicy") {
        let policy = if is_headless_without_selector { "RequireDualStack" } else { "SingleStack" };
        spec.insert("ipFamilyPolicy".to_owned(), policy.into());
    }
    if is_empty(spec, "ipFamilies") {
        let is_dual = is_headless_without_selector && text(spec, "ipFamilyPolicy") != "SingleStack";
        let (first, second) = if address.contains(':') { ("IPv6", "IPv4") } else { ("IPv4", "IPv6") };
        spec.insert("ipFamilies".to_owned(), if is_dual { json!([first, second]) } else { json!([first]) });
    }
    if is_empty(spec, "clusterIPs") {
        spec.insert("clusterIPs".to_owned(), json!([address]));
    }
    spec.insert("clusterIP".to_owned(), address.into());
}

/// Fills in the node ports of a service from those that are free.
pub(crate) fn assign_node_ports(service: &mut Value, free: &mut impl Iterator<Item = u64>) {
    if !has_node_ports(&service["spec"]) {
        return;
    }
    for port in service.pointer_mut("/spec/ports").and_then(Value::as_array_mut).into_iter().flatten() {
        if port["nodePort"].as_u64().is_none_or(|number| number == 0)
            && let Some(number) = free.next()
        {
            port["nodePort"] = number.into();
        }
    }
}

/// Retains the addresses and ports that an update does not mention, and drops those that another type of service does not have.
pub(crate) fn retain_assigned(old: &Value, new: &mut Value) {
    let (old_spec, new_kind) = (&old["spec"], new["spec"]["type"].clone());
    let was_external = old_spec["type"] == "ExternalName";
    let keeps_ports = has_node_ports(&new["spec"]);
    let Some(spec) = metadata::fields(new).get_mut("spec").and_then(Value::as_object_mut) else { return };
    if new_kind == "ExternalName" {
        for name in ADDRESS_FIELDS {
            if !was_external && spec.get(name) == old_spec.get(name) {
                spec.remove(name);
            }
        }
    } else if !was_external && is_empty(spec, "clusterIP") && is_empty(spec, "clusterIPs") {
        for name in ADDRESS_FIELDS {
            if let Some(value) = old_spec.get(name).filter(|_| is_empty(spec, name)) {
                spec.insert(name.to_owned(), value.clone());
            }
        }
    }
    let old_ports = old_spec["ports"].as_array().map(Vec::as_slice).unwrap_or_default();
    for port in spec.get_mut("ports").and_then(Value::as_array_mut).into_iter().flatten() {
        let is_same = |old: &&Value| old["port"] == port["port"] && old["protocol"] == port["protocol"];
        let Some(number) = old_ports.iter().find(is_same).and_then(|old| old.get("nodePort")) else {
            continue;
        };
        let is_unset = port["nodePort"].as_u64().is_none_or(|number| number == 0);
        if keeps_ports && is_unset {
            port["nodePort"] = number.clone();
        } else if !keeps_ports && has_node_ports(old_spec) && port["nodePort"] == *number {
            metadata::fields(port).remove("nodePort");
        }
    }
}

fn text<'f>(fields: &'f Fields, name: &str) -> &'f str {
    fields.get(name).and_then(Value::as_str).unwrap_or_default()
}

fn is_empty(fields: &Fields, name: &str) -> bool {
    match fields.get(name) {
        None | Some(Value::Null) => true,
        Some(Value::String(text)) => text.is_empty(),
        Some(Value::Array(items)) => items.is_empty(),
        Some(Value::Object(fields)) => fields.is_empty(),
        Some(Value::Bool(_) | Value::Number(_)) => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn assigned(spec: &Value) -> Value {
        let mut service = json!({ "spec": spec });
        assign_address(&mut service, || address(1));
        assign_node_ports(&mut service, &mut (30_000..));
        service["spec"].take()
    }

    #[test]
    fn addresses_are_in_the_range_and_differ() {
        assert_eq!(address(0), "10.96.1.0");
        assert_eq!(address(1), "10.96.1.1");
        assert_eq!(address(1_048_063), "10.111.254.255");
        assert_eq!(address(1_048_064), address(0));
    }

    #[test]
    fn services_have_an_address_unless_they_are_headless_or_external() {
        let spec =
            assigned(&json!({ "type": "ClusterIP", "selector": { "a": "b" }, "ports": [{ "port": 80 }] }));
        assert_eq!(spec["clusterIP"], "10.96.1.1");
        assert_eq!(spec["clusterIPs"], json!(["10.96.1.1"]));
        assert_eq!((&spec["ipFamilies"], &spec["ipFamilyPolicy"]), (&json!(["IPv4"]), &json!("SingleStack")));
        assert_eq!(spec["ports"][0].get("nodePort"), None);
        let given = assigned(&json!({ "type": "ClusterIP", "clusterIP": "10.96.0.10" }));
        assert_eq!(given["clusterIPs"], json!(["10.96.0.10"]));
        let headless =
            assigned(&json!({ "type": "ClusterIP", "clusterIP": "None", "selector": { "a": "b" } }));
        assert_eq!(
            (&headless["clusterIPs"], &headless["ipFamilyPolicy"]),
            (&json!(["None"]), &json!("SingleStack"))
        );
        let without_selector = assigned(&json!({ "type": "ClusterIP", "clusterIP": "None" }));
        assert_eq!(without_selector["ipFamilies"], json!(["IPv4", "IPv6"]));
        let external = json!({ "type": "ExternalName", "externalName": "a.b" });
        assert_eq!(assigned(&external), external);
    }

    #[test]
    fn a_service_without_a_name_gets_no_address() {
        let error = |service: &Value| address_error(service).map(|error| error.field);
        let spec = json!({ "type": "ClusterIP" });
        assert_eq!(error(&json!({ "spec": spec })), Some("spec.clusterIPs".to_owned()));
        assert_eq!(error(&json!({ "metadata": { "name": "a" }, "spec": spec })), None);
        assert_eq!(error(&json!({ "spec": { "type": "ClusterIP", "clusterIP": "None" } })), None);
        assert_eq!(error(&json!({ "spec": { "type": "ExternalName" } })), None);
    }

    #[test]
    fn node_ports_are_assigned_where_the_type_has_them() {
        let ports = json!([{ "port": 80 }, { "port": 81, "nodePort": 31_000 }, { "port": 82 }]);
        let spec = assigned(&json!({ "type": "NodePort", "ports": ports }));
        let service = json!({ "spec": spec });
        assert_eq!(node_ports(&service).collect::<Vec<_>>(), [30_000, 31_000, 30_001]);
        assert!(!lacks_node_ports(&service));
        let balanced = assigned(
            &json!({ "type": "LoadBalancer", "allocateLoadBalancerNodePorts": false, "ports": ports }),
        );
        assert_eq!(balanced["ports"], ports);
    }

    #[test]
    fn updates_retain_assigned_addresses() {
        let old = json!({ "spec": assigned(&json!({ "type": "NodePort", "ports": [{ "port": 80 }] })) });
        let update = |spec: &Value| {
            let mut new = json!({ "spec": spec });
            retain_assigned(&old, &mut new);
            new["spec"].take()
        };
        assert_eq!(update(&json!({ "type": "NodePort", "ports": [{ "port": 80 }] })), old["spec"]);
        let mut without_ports = old["spec"].clone();
        without_ports["type"] = "ClusterIP".into();
        let ports = json!([{ "port": 80 }]);
        assert_eq!(update(&without_ports)["ports"], ports);
        let mut external = old["spec"].clone();
        external["type"] = "ExternalName".into();
        assert_eq!(update(&external), json!({ "type": "ExternalName", "ports": ports }));
    }
}
