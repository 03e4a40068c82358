//! Defaults of services and network policies that depend on other fields.

use crate::object::defaults::edit::{is_empty, is_unset, items, made, set, text};
use serde_json::{Map, Value, json};

type Fields = Map<String, Value>;

/// The default timeout of session affinity: three hours.
const AFFINITY_SECONDS: u32 = 10_800;

/// Fills in the defaults of a type.
pub(super) fn fill(name: &str, fields: &mut Fields) {
    match name {
        "core.v1.Service" => service(fields),
        "core.v1.ServicePort" => target_port(fields),
        "networking.v1.NetworkPolicySpec" => policy_types(fields),
        _ => {}
    }
}

fn service(fields: &mut Fields) {
    let spec = made(fields, "spec");
    set(spec, "sessionAffinity", "None");
    set(spec, "type", "ClusterIP");
    match text(spec, "sessionAffinity") {
        "None" => drop(spec.remove("sessionAffinityConfig")),
        "ClientIP" => {
            let config = spec.get("sessionAffinityConfig").and_then(|config| config.get("clientIP"));
            let timeout = config.and_then(|config| config.get("timeoutSeconds"));
            if timeout.is_none_or(Value::is_null) {
                let config = json!({"clientIP": {"timeoutSeconds": AFFINITY_SECONDS}});
                spec.insert("sessionAffinityConfig".to_owned(), config);
            }
        }
        _ => {}
    }
    let kind = text(spec, "type").to_owned();
    let has_external_addresses = kind == "ClusterIP" && !is_empty(spec, "externalIPs");
    if matches!(kind.as_str(), "NodePort" | "LoadBalancer") || has_external_addresses {
        set(spec, "externalTrafficPolicy", "Cluster");
    }
    if matches!(kind.as_str(), "NodePort" | "LoadBalancer" | "ClusterIP") {
        set(spec, "internalTrafficPolicy", "Cluster");
    }
    if kind != "LoadBalancer" {
        return;
    }
    set(spec, "allocateLoadBalancerNodePorts", true);
    for ingress in items(made(made(fields, "status"), "loadBalancer"), "ingress") {
        if !is_unset(ingress, "ip") {
            set(ingress, "ipMode", "VIP");
        }
    }
}

/// Sets the target port of a service port to the port itself.
fn target_port(port: &mut Fields) {
    let is_zero = port.get("targetPort").is_none_or(|target| target.as_i64() == Some(0));
    if is_zero || is_unset(port, "targetPort") {
        let number = port.get("port").cloned().unwrap_or_else(|| 0.into());
        port.insert("targetPort".to_owned(), number);
    }
}

fn policy_types(spec: &mut Fields) {
    if is_empty(spec, "policyTypes") {
        let both = json!(["Ingress", "Egress"]);
        let types = if is_empty(spec, "egress") { json!(["Ingress"]) } else { both };
        spec.insert("policyTypes".to_owned(), types);
    }
}
