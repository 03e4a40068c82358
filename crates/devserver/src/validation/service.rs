//! Services.

use crate::validation::field::{Errors, Field};
use crate::validation::format::parse_ip;
use std::collections::BTreeSet;
use std::net::IpAddr;

const PROTOCOLS: [&str; 3] = ["SCTP", "TCP", "UDP"];

/// Checks a service.
pub(super) fn check(e: &mut Errors, service: &Field<'_, '_>, old: Option<&Field<'_, '_>>) {
    let spec = service.get("spec");
    let kind = spec.get("type").text();
    e.one_of(&spec.get("type"), &["ClusterIP", "ExternalName", "LoadBalancer", "NodePort"]);
    check_annotations(e, service);
    check_type(e, &spec);
    check_ports(e, &spec);
    e.labels(&spec.get("selector"));
    let (affinity, config) = (spec.get("sessionAffinity"), spec.get("sessionAffinityConfig"));
    e.one_of(&affinity, &["ClientIP", "None"]);
    let client = config.get("clientIP");
    let timeout = client.get("timeoutSeconds");
    if affinity.text() == "ClientIP" && !(1..=86400).contains(&timeout.number_or_zero()) {
        e.invalid(&timeout, "must be greater than 0 and less than 86400");
    }
    if affinity.text() == "None" && config.is_set() {
        e.forbidden(&config, "must not be set when session affinity is None");
    }
    if kind != "ExternalName" {
        check_addresses(e, &spec);
    }
    for ip in spec.get("externalIPs").items() {
        e.ip(&ip);
        check_reachable(e, &ip);
    }
    check_balancer(e, service, old);
    check_policies(e, &spec);
    if let Some(old) = old {
        check_update(e, old, service);
    }
}

fn is_headless(spec: &Field<'_, '_>) -> bool {
    spec.get("clusterIPs").items().next().is_some_and(|ip| ip.text() == "None")
        || spec.get("clusterIPs").is_empty() && spec.get("clusterIP").text() == "None"
}

fn check_annotations(e: &mut Errors, service: &Field<'_, '_>) {
    let metadata = service.get("metadata");
    let annotations = metadata.get("annotations");
    let (hints, mode) = (
        annotations.key("service.kubernetes.io/topology-aware-hints"),
        annotations.key("service.kubernetes.io/topology-mode"),
    );
    if hints.is_set() && mode.is_set() && hints.text() != mode.text() {
        e.invalid(
            &mode,
            "must match annotations[service.kubernetes.io/topology-aware-hints] when both are specified",
        );
    }
}

fn check_type(e: &mut Errors, spec: &Field<'_, '_>) {
    let kind = spec.get("type").text();
    let is_external = kind == "ExternalName";
    if spec.get("ports").is_empty() && !is_headless(spec) && !is_external {
        e.required(&spec.get("ports"), "");
    }
    if matches!(kind, "LoadBalancer" | "NodePort") && is_headless(spec) {
        let detail = format!("may not be set to 'None' for {kind} services");
        e.invalid(&spec.get("clusterIPs"), &detail);
    }
    if is_external {
        for name in ["clusterIP", "clusterIPs", "ipFamilies", "ipFamilyPolicy"] {
            if !spec.get(name).is_empty() {
                e.forbidden(&spec.get(name), "may not be set for ExternalName services");
            }
        }
        let name = spec.get("externalName");
        let text = name.text().strip_suffix('.').unwrap_or(name.text());
        if text.is_empty() {
            e.required(&name, "");
        } else {
            e.check(&name, super::format::broken_subdomain(text));
        }
    }
}

fn check_ports(e: &mut Errors, spec: &Field<'_, '_>) {
    let ports = spec.get("ports");
    let (mut names, mut numbers, mut on_nodes) = (BTreeSet::new(), BTreeSet::new(), BTreeSet::new());
    for port in ports.items() {
        let (name, number, on_node) = (port.get("name"), port.get("port"), port.get("nodePort"));
        if name.is_empty() {
            if ports.len() > 1 {
                e.required(&name, "");
            }
        } else {
            e.label(&name);
            if !names.insert(name.text()) {
                e.duplicate(&name);
            }
        }
        e.port_number(&number);
        let protocol = port.get("protocol");
        e.one_of(&protocol, &PROTOCOLS);
        e.port(&port.get("targetPort"));
        if port.get("appProtocol").is_set() {
            e.qualified_name(&port.get("appProtocol"));
        }
        if on_node.number_or_zero() != 0 {
            if spec.get("type").text() == "ClusterIP" {
                e.forbidden(&on_node, "may not be used when `type` is 'ClusterIP'");
            }
            if !on_nodes.insert((protocol.text(), on_node.number_or_zero())) {
                e.duplicate(&on_node);
            }
        }
        if !numbers.insert((protocol.text(), number.number_or_zero())) {
            e.duplicate(&port);
        }
    }
}

fn check_addresses(e: &mut Errors, spec: &Field<'_, '_>) {
    let (address, addresses) = (spec.get("clusterIP"), spec.get("clusterIPs"));
    let families = spec.get("ipFamilies");
    let first = addresses.items().next().map(|ip| ip.text()).unwrap_or_default();
    // The server copies the one into the other if there is only one of them.
    if !addresses.is_empty() && first != address.text() {
        e.invalid(&addresses, "first value must match `clusterIP`");
    }
    let mut seen = BTreeSet::new();
    for family in families.items() {
        e.known(&family, &["IPv4", "IPv6"]);
        if !seen.insert(family.text()) {
            e.duplicate(&family);
        }
    }
    e.optional_one_of(&spec.get("ipFamilyPolicy"), &["PreferDualStack", "RequireDualStack", "SingleStack"]);
    if addresses.is_empty() && !address.is_empty() && address.text() != "None" {
        e.ip(&address);
    }
    let mut ips = Vec::new();
    for (place, ip) in addresses.items().enumerate() {
        if place == 0 && ip.text() == "None" {
            if addresses.len() > 1 {
                e.invalid(&addresses, "'None' must be the first and only value");
            }
            continue;
        }
        e.ip(&ip);
        ips.extend(parse_ip(ip.text()));
    }
    if addresses.len() > 2 {
        e.invalid(&addresses, "may only hold up to 2 values");
    }
    if addresses.len() != ips.len() && !addresses.is_empty() {
        return;
    }
    if ips.len() == 2 && ips[0].is_ipv4() == ips[1].is_ipv4() {
        e.invalid(&addresses, "may specify no more than one IP for each IP family");
    }
    if ips.is_empty() {
        ips.extend(parse_ip(address.text()));
    }
    for (ip, family) in ips.iter().zip(families.items()) {
        let is_other = ip.is_ipv4() && family.text() == "IPv6" || ip.is_ipv6() && family.text() == "IPv4";
        if is_other {
            e.invalid(&addresses, "expected an address of the family in `ipFamilies`");
        }
    }
}

/// Addresses of the host itself are not reachable.
fn check_reachable(e: &mut Errors, field: &Field<'_, '_>) {
    let Some(ip) = parse_ip(field.text()) else { return };
    let is_link_local = match ip {
        IpAddr::V4(ip) => ip.is_link_local() || ip.octets()[..3] == [224, 0, 0],
        IpAddr::V6(ip) => ip.segments()[0] & 0xffc0 == 0xfe80 || ip.segments()[0] & 0xff0f == 0xff02,
    };
    if ip.is_unspecified() {
        e.invalid(field, "may not be unspecified (0.0.0.0 or ::)");
    } else if ip.is_loopback() {
        e.invalid(field, "may not be in the loopback range (127.0.0.0/8, ::1/128)");
    } else if is_link_local {
        e.invalid(field, "may not be in the link-local range (169.254.0.0/16, fe80::/10)");
    }
}

fn check_balancer(e: &mut Errors, service: &Field<'_, '_>, old: Option<&Field<'_, '_>>) {
    const RANGES: &str = "service.beta.kubernetes.io/load-balancer-source-ranges";
    let spec = service.get("spec");
    let is_balancer = spec.get("type").text() == "LoadBalancer";
    let ranges = spec.get("loadBalancerSourceRanges");
    let metadata = service.get("metadata");
    let annotations = metadata.get("annotations");
    let annotation = annotations.key(RANGES);
    if !ranges.is_empty() {
        if !is_balancer {
            e.forbidden(&ranges, "may only be used when `type` is 'LoadBalancer'");
        }
        ranges.items().for_each(|range| e.cidr_text(&range, range.text().trim()));
    } else if annotation.is_set() {
        if !is_balancer {
            e.forbidden(&annotation, "may only be used when `type` is 'LoadBalancer'");
        }
        let text = annotation.text().trim();
        if !text.is_empty() {
            text.split(',').for_each(|range| e.cidr_text(&annotation, range.trim()));
        }
    }
    let ports = spec.get("allocateLoadBalancerNodePorts");
    if ports.is_set() && !is_balancer {
        e.forbidden(&ports, "may only be used when `type` is 'LoadBalancer'");
    }
    let class = spec.get("loadBalancerClass");
    if is_balancer {
        if class.is_set() {
            e.qualified_name(&class);
        }
        let before = old.map(|old| old.get("spec").value());
        let was_balancer = before.is_some_and(|spec| spec["type"] == "LoadBalancer");
        if was_balancer && before.is_some_and(|spec| spec.get("loadBalancerClass") != spec_class(&class)) {
            e.invalid(&class, "may not change once set");
        }
    } else if class.is_set() {
        e.forbidden(&class, "may only be used when `type` is 'LoadBalancer'");
    }
}

fn spec_class<'v>(class: &Field<'_, 'v>) -> Option<&'v serde_json::Value> {
    class.is_set().then(|| class.value())
}

fn check_policies(e: &mut Errors, spec: &Field<'_, '_>) {
    let kind = spec.get("type").text();
    let is_external = matches!(kind, "LoadBalancer" | "NodePort")
        || kind == "ClusterIP" && !spec.get("externalIPs").is_empty();
    let (external, check) = (spec.get("externalTrafficPolicy"), spec.get("healthCheckNodePort"));
    if is_external {
        e.one_of(&external, &["Cluster", "Local"]);
    } else if !external.is_empty() {
        e.invalid(&external, "may only be set for externally-accessible services");
    }
    let needs_check = kind == "LoadBalancer" && external.text() == "Local";
    if needs_check {
        // The server chooses a port if there is none.
        if check.number_or_zero() != 0 {
            e.port_number(&check);
        }
    } else if check.number_or_zero() != 0 {
        let detail = "may only be set when `type` is 'LoadBalancer' and `externalTrafficPolicy` is 'Local'";
        e.invalid(&check, detail);
    }
    e.optional_one_of(&spec.get("internalTrafficPolicy"), &["Cluster", "Local"]);
    e.optional_one_of(&spec.get("trafficDistribution"), &["PreferClose", "PreferSameZone", "PreferSameNode"]);
}

fn check_update(e: &mut Errors, old: &Field<'_, '_>, new: &Field<'_, '_>) {
    let (old, spec) = (old.get("spec"), new.get("spec"));
    let is_external = |spec: &Field<'_, '_>| spec.get("type").text() == "ExternalName";
    if is_external(&old) || is_external(&spec) || is_headless(&old) && is_headless(&spec) {
        return;
    }
    let (before, after) = (old.get("clusterIPs"), spec.get("clusterIPs"));
    let first = |ips: &Field<'_, '_>| ips.value().get(0).cloned();
    // The addresses stay if a client does not send them.
    if after.is_set() && !before.is_empty() && first(&before) != first(&after) {
        e.invalid(&after, "may not change once set");
    }
    let address = spec.get("clusterIP");
    if !address.is_empty() && !old.get("clusterIP").is_empty() && !before.is_set() {
        e.unchanged(old.get("clusterIP").value(), &address);
    }
    let (before, after) = (old.get("healthCheckNodePort"), spec.get("healthCheckNodePort"));
    if before.number_or_zero() != 0 && after.number_or_zero() != 0 {
        e.unchanged(before.value(), &after);
    }
}
