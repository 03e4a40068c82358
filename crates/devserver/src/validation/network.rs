//! Ingresses and network policies.

use crate::invalid::FieldError;
use crate::validation::field::{Errors, Field};
use crate::validation::format::parse_cidr;
use crate::validation::selector;

/// Checks an ingress.
pub(super) fn check_ingress(e: &mut Errors, ingress: &Field<'_, '_>) {
    let spec = ingress.get("spec");
    let (rules, backend) = (spec.get("rules"), spec.get("defaultBackend"));
    if rules.is_empty() && !backend.is_set() {
        let detail = "either `defaultBackend` or `rules` must be specified";
        e.push(FieldError::invalid(&spec.to_string(), rules.value(), detail));
    }
    if backend.is_set() {
        check_backend(e, &backend);
    }
    for rule in rules.items() {
        let (host, http) = (rule.get("host"), rule.get("http"));
        if !host.is_empty() {
            if host.text().parse::<std::net::IpAddr>().is_ok() {
                e.invalid(&host, "must be a DNS name, not an IP address");
            }
            e.host(&host);
        }
        if http.is_set() {
            e.present(&http.get("paths"));
        }
        http.get("paths").items().for_each(|path| check_path(e, &path));
    }
    for tls in spec.get("tls").items() {
        tls.get("hosts").items().for_each(|host| e.host(&host));
        e.optional_subdomain(&tls.get("secretName"));
    }
    if spec.get("ingressClassName").is_set() {
        e.subdomain(&spec.get("ingressClassName"));
    }
}

/// Checks that the class in the annotation of a new ingress is the one in its spec.
pub(super) fn check_new_ingress(e: &mut Errors, ingress: &Field<'_, '_>) {
    let (metadata, spec) = (ingress.get("metadata"), ingress.get("spec"));
    let annotations = metadata.get("annotations");
    let annotation = annotations.key("kubernetes.io/ingress.class");
    let class = spec.get("ingressClassName");
    if annotation.is_set() && class.is_set() && annotation.text() != class.text() {
        e.invalid(&annotation, "must match `ingressClassName` when both are specified");
    }
}

fn check_path(e: &mut Errors, path: &Field<'_, '_>) {
    let (kind, text) = (path.get("pathType"), path.get("path"));
    if !kind.is_set() {
        return e.required(&kind, "pathType must be specified");
    }
    let is_relative = !text.text().starts_with('/');
    match kind.text() {
        "Exact" | "Prefix" => {
            if is_relative {
                e.invalid(&text, "must be an absolute path");
            }
            for sequence in ["//", "/./", "/../", "%2f", "%2F"] {
                if text.text().contains(sequence) {
                    e.invalid(&text, &format!("must not contain '{sequence}'"));
                }
            }
            for end in ["/..", "/."] {
                if text.text().ends_with(end) {
                    e.invalid(&text, &format!("cannot end with '{end}'"));
                }
            }
        }
        "ImplementationSpecific" => {
            if is_relative && !text.is_empty() {
                e.invalid(&text, "must be an absolute path");
            }
        }
        _ => e.unsupported(&kind, &["Exact", "ImplementationSpecific", "Prefix"]),
    }
    check_backend(e, &path.get("backend"));
}

fn check_backend(e: &mut Errors, backend: &Field<'_, '_>) {
    let (resource, service) = (backend.get("resource"), backend.get("service"));
    if resource.is_set() && service.is_set() {
        e.invalid(backend, "cannot set both resource and service backends");
    } else if resource.is_set() {
        for name in ["kind", "name"] {
            if e.present(&resource.get(name)) {
                e.path_segment(&resource.get(name));
            }
        }
        e.optional_subdomain(&resource.get("apiGroup"));
    } else if service.is_set() {
        if e.present(&service.get("name")) {
            e.label(&service.get("name"));
        }
        let port = service.get("port");
        let (name, number) = (port.get("name"), port.get("number"));
        match (name.is_empty(), number.number_or_zero() == 0) {
            (false, false) => e.invalid(backend, "cannot set both port name & port number"),
            (false, true) => e.port_name(&name),
            (true, false) => e.port_number(&number),
            (true, true) => e.required(backend, "port name or number is required"),
        }
    } else {
        e.invalid(backend, "resource or service backend is required");
    }
}

/// Checks a network policy.
pub(super) fn check_policy(e: &mut Errors, policy: &Field<'_, '_>) {
    let spec = policy.get("spec");
    selector::check(e, &spec.get("podSelector"));
    for (list, peers) in [("ingress", "from"), ("egress", "to")] {
        for rule in spec.get(list).items() {
            rule.get("ports").items().for_each(|port| check_port(e, &port));
            rule.get(peers).items().for_each(|peer| check_peer(e, &peer));
        }
    }
    let types = spec.get("policyTypes");
    if types.len() > 2 {
        e.invalid(&types, "may not specify more than two policyTypes");
    }
    types.items().for_each(|kind| e.known(&kind, &["Ingress", "Egress"]));
}

fn check_port(e: &mut Errors, port: &Field<'_, '_>) {
    e.optional_one_of(&port.get("protocol"), &["TCP", "UDP", "SCTP"]);
    let (first, last) = (port.get("port"), port.get("endPort"));
    if first.is_set() {
        e.port(&first);
    }
    match (first.number(), last.number()) {
        (Some(first), Some(end)) => {
            if end < first {
                e.invalid(&last, "must be greater than or equal to `port`");
            }
            e.port_number(&last);
        }
        (None, Some(_)) => {
            e.invalid(&last, "may not be specified when `port` is non-numeric or not specified")
        }
        (Some(_) | None, None) => {}
    }
}

fn check_peer(e: &mut Errors, peer: &Field<'_, '_>) {
    let (pods, namespaces, block) =
        (peer.get("podSelector"), peer.get("namespaceSelector"), peer.get("ipBlock"));
    selector::check(e, &pods);
    selector::check(e, &namespaces);
    let has_selector = pods.is_set() || namespaces.is_set();
    if block.is_set() {
        check_block(e, &block);
        if has_selector {
            e.forbidden(peer, "may not specify both ipBlock and another peer");
        }
    } else if !has_selector {
        e.required(peer, "must specify a peer");
    }
}

fn check_block(e: &mut Errors, block: &Field<'_, '_>) {
    let range = block.get("cidr");
    if !e.present(&range) {
        return;
    }
    e.cidr(&range);
    for part in block.get("except").items() {
        e.cidr(&part);
        if let (Some(range), Some(inner)) = (parse_cidr(range.text()), parse_cidr(part.text()))
            && !range.is_larger_than(inner)
        {
            e.invalid(&part, "must be a strict subset of `cidr`");
        }
    }
}
