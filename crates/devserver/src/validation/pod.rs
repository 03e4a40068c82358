//! Pods, and the templates of pods.

use crate::validation::container::{self, Pod};
use crate::validation::field::{Errors, Field};
use crate::validation::selector::NodeValues;
use crate::validation::volume::Owner;
use crate::validation::{resources, scheduling, security, volume};
use serde_json::{Map, Value};
use std::collections::BTreeSet;

const MIRROR: &str = "kubernetes.io/config.mirror";

/// Checks a pod.
pub(super) fn check(e: &mut Errors, pod: &Field<'_, '_>) {
    let (metadata, spec) = (pod.get("metadata"), pod.get("spec"));
    check_annotations(e, &metadata, &spec);
    check_spec(e, &spec, Owner { name: metadata.get("name").text(), is_pod: true });
    let annotations = metadata.get("annotations");
    if annotations.key(MIRROR).is_set() && !spec.get("resourceClaims").is_empty() {
        e.forbidden(&spec.get("resourceClaims"), "static pods do not support resource claims");
    }
    if spec.get("serviceAccountName").is_empty() && spec.get("serviceAccount").is_empty() {
        for volume in spec.get("volumes").items() {
            let projected = volume.get("projected");
            for source in projected.get("sources").items() {
                let token = source.get("serviceAccountToken");
                if token.is_set() {
                    e.forbidden(&token, "must not be specified when serviceAccountName is not set");
                }
            }
        }
    }
    for list in ["containers", "initContainers"] {
        for container in spec.get(list).items() {
            let image = container.get("image");
            if image.text().trim() != image.text() {
                e.invalid(&image, "must not have leading or trailing whitespace");
            }
        }
    }
}

/// Checks what only a new pod cannot have.
pub(super) fn check_new(e: &mut Errors, pod: &Field<'_, '_>) {
    let spec = pod.get("spec");
    if !spec.get("ephemeralContainers").is_empty() {
        e.forbidden(&spec.get("ephemeralContainers"), "cannot be set on create");
    }
    if !spec.get("nodeName").is_empty() && !spec.get("schedulingGates").is_empty() {
        let detail = "cannot be set until all schedulingGates have been cleared";
        e.forbidden(&spec.get("nodeName"), detail);
    }
}

/// Checks the template of pods.
pub(super) fn check_template(e: &mut Errors, template: &Field<'_, '_>) {
    check_template_with(e, template, &template.get("spec"));
}

/// Checks the template of pods, whose spec is another one.
pub(super) fn check_template_with(e: &mut Errors, template: &Field<'_, '_>, spec: &Field<'_, '_>) {
    let metadata = template.get("metadata");
    volume::check_labels_and_annotations(e, &metadata);
    check_annotations(e, &metadata, spec);
    check_spec(e, spec, Owner { name: "", is_pod: false });
    if !spec.get("ephemeralContainers").is_empty() {
        e.forbidden(&spec.get("ephemeralContainers"), "ephemeral containers not allowed in pod template");
    }
}

fn check_annotations(e: &mut Errors, metadata: &Field<'_, '_>, spec: &Field<'_, '_>) {
    const COST: &str = "controller.kubernetes.io/pod-deletion-cost";
    let annotations = metadata.get("annotations");
    let (mirror, cost) = (annotations.key(MIRROR), annotations.key(COST));
    if mirror.is_set() && spec.get("nodeName").is_empty() {
        e.invalid(&mirror, "must set spec.nodeName if mirror pod annotation is set");
    }
    // A number has no sign `+` and no leading zeros.
    let is_number = |text: &str| text.parse::<i32>().is_ok_and(|number| number.to_string() == text);
    if cost.is_set() && !is_number(cost.text()) {
        e.invalid(&cost, "must be a 32bit integer");
    }
}

fn check_spec(e: &mut Errors, spec: &Field<'_, '_>, owner: Owner<'_>) {
    let volumes = spec.get("volumes");
    let volumes = volume::check(e, &volumes, owner);
    let claims = check_resource_claims(e, &spec.get("resourceClaims"));
    let pod = Pod { spec, volumes, claims };
    container::check_all(e, &pod);
    check_resources(e, spec);
    check_host_network(e, spec, owner);
    e.one_of(&spec.get("restartPolicy"), &["Always", "OnFailure", "Never"]);
    check_dns(e, spec);
    security::check_pod(e, spec);
    scheduling::check(e, spec, NodeValues::Labels);
    for gate in spec.get("readinessGates").items() {
        e.qualified_name(&gate.get("conditionType"));
    }
    let mut gates = BTreeSet::new();
    for gate in spec.get("schedulingGates").items() {
        e.qualified_name(&gate.get("name"));
        if !gates.insert(gate.get("name").text()) {
            e.duplicate(&gate);
        }
    }
    for name in ["serviceAccountName", "nodeName", "priorityClassName"] {
        e.optional_subdomain(&spec.get(name));
    }
    if spec.get("serviceAccountName").is_empty() {
        e.optional_subdomain(&spec.get("serviceAccount"));
    }
    if spec.get("runtimeClassName").is_set() {
        e.subdomain(&spec.get("runtimeClassName"));
    }
    e.in_range(&spec.get("activeDeadlineSeconds"), 1, i64::from(i32::MAX));
    e.optional_label(&spec.get("hostname"));
    e.optional_label(&spec.get("subdomain"));
    check_host_names(e, spec);
    e.optional_one_of(&spec.get("preemptionPolicy"), &["PreemptLowerPriority", "Never"]);
    for (name, quantity) in spec.get("overhead").entries() {
        resources::check_name(e, &quantity, name, resources::ResourceUser::Container);
        resources::check_quantity(e, &quantity, name);
    }
    security::check_system(e, spec);
}

fn check_resource_claims<'v>(e: &mut Errors, claims: &Field<'_, 'v>) -> Vec<&'v str> {
    let mut names = Vec::new();
    for claim in claims.items() {
        let name = claim.get("name");
        if e.present(&name) {
            if names.contains(&name.text()) {
                e.duplicate(&name);
            } else {
                e.label(&name);
                names.push(name.text());
            }
        }
        let (claim_name, template) = (claim.get("resourceClaimName"), claim.get("resourceClaimTemplateName"));
        if claim_name.is_set() == template.is_set() {
            let detail = "must specify one of: `resourceClaimName`, `resourceClaimTemplateName`";
            e.invalid(&claim, detail);
        }
        for reference in [claim_name, template] {
            if reference.is_set() {
                e.subdomain(&reference);
            }
        }
    }
    names
}

/// Checks the resources of the pod, which are at least those of its containers.
fn check_resources(e: &mut Errors, spec: &Field<'_, '_>) {
    let resources = spec.get("resources");
    if !resources.is_set() {
        return;
    }
    if !resources.get("claims").is_empty() {
        e.forbidden(&resources.get("claims"), "claims may not be set for Resources at pod-level");
    }
    resources::check(e, &resources, resources::ResourceUser::Pod, &[]);
    for (name, request) in resources.get("requests").entries() {
        let containers = spec.get("containers");
        let sum: i128 = containers
            .items()
            .map(|container| {
                let resources = container.get("resources");
                resources::amount(&resources.get("requests").key(name))
            })
            .sum();
        let inits = spec.get("initContainers");
        let largest = inits
            .items()
            .map(|container| {
                let resources = container.get("resources");
                resources::amount(&resources.get("requests").key(name))
            })
            .max();
        if sum.max(largest.unwrap_or_default()) > resources::amount(&request) {
            e.invalid(&request, "must be greater than or equal to aggregate container requests");
        }
    }
    for (name, limit) in resources.get("limits").entries() {
        for container in spec.get("containers").items() {
            let own = container.get("resources");
            let own = own.get("limits");
            if resources::amount(&own.key(name)) > resources::amount(&limit) {
                let detail = format!("must be less than or equal to pod limits of {}", limit.text());
                e.invalid(&own.key(name), &detail);
            }
        }
    }
}

fn check_host_network(e: &mut Errors, spec: &Field<'_, '_>, owner: Owner<'_>) {
    if !spec.get("hostNetwork").is_true() {
        return;
    }
    for container in spec.get("containers").items() {
        for port in container.get("ports").items() {
            let host = port.get("hostPort");
            let is_set = owner.is_pod || host.number_or_zero() != 0;
            if is_set && host.number_or_zero() != port.get("containerPort").number_or_zero() {
                e.invalid(&host, "must match `containerPort` when `hostNetwork` is true");
            }
        }
    }
}

fn check_dns(e: &mut Errors, spec: &Field<'_, '_>) {
    let (policy, config) = (spec.get("dnsPolicy"), spec.get("dnsConfig"));
    e.one_of(&policy, &["ClusterFirstWithHostNet", "ClusterFirst", "Default", "None"]);
    let servers = config.get("nameservers");
    if policy.text() == "None" && servers.is_empty() {
        let field = if config.is_set() { &servers } else { &config };
        e.required(field, "must provide at least one DNS nameserver when `dnsPolicy` is None");
    }
    if servers.len() > 3 {
        e.invalid(&servers, "must not have more than 3 nameservers");
    }
    servers.items().for_each(|server| e.ip(&server));
    let searches = config.get("searches");
    if searches.len() > 32 {
        e.invalid(&searches, "must not have more than 32 search paths");
    }
    let length: usize = searches.items().map(|search| search.len() + 1).sum();
    if length > 2049 {
        let detail = "must not have more than 2048 characters (including spaces) in the search list";
        e.invalid(&searches, detail);
    }
    for search in searches.items().filter(|search| search.text() != ".") {
        let name = search.text().strip_suffix('.').unwrap_or(search.text());
        // Underscores are allowed within the parts, also at the ends of them.
        let is_part = |part: &str| {
            let is_end =
                |letter: char| letter == '_' || letter.is_ascii_lowercase() || letter.is_ascii_digit();
            let is_inner = |letter: char| letter == '-' || is_end(letter);
            part.starts_with(is_end) && part.ends_with(is_end) && part.chars().all(is_inner)
        };
        if name.len() > 253 || !name.split('.').all(is_part) {
            e.invalid(&search, "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-', '_' or '.'");
        }
    }
    for option in config.get("options").items() {
        if option.get("name").is_empty() {
            e.required(&option, "must not be empty");
        }
    }
}

fn check_host_names(e: &mut Errors, spec: &Field<'_, '_>) {
    for alias in spec.get("hostAliases").items() {
        e.ip(&alias.get("ip"));
        alias.get("hostnames").items().for_each(|name| e.subdomain(&name));
    }
    let name = spec.get("hostnameOverride");
    if name.is_set() {
        for (other, detail) in [
            ("setHostnameAsFQDN", "may not be specified when setHostnameAsFQDN is true"),
            ("hostNetwork", "may not be specified when hostNetwork is true"),
        ] {
            if spec.get(other).is_true() {
                e.forbidden(&name, detail);
            }
        }
        if name.len() > 64 {
            e.too_long(&name, 64);
        }
        e.subdomain(&name);
    }
}

/// Checks what an update of a pod changes: images, the deadline, new tolerations and, before it is scheduled, gates.
pub(super) fn check_update(e: &mut Errors, old: &Field<'_, '_>, new: &Field<'_, '_>) {
    let (old_spec, spec) = (old.get("spec"), new.get("spec"));
    check_annotation_changes(e, old, new);
    for list in ["containers", "initContainers"] {
        if old_spec.get(list).len() != spec.get(list).len() {
            return e.forbidden(&spec.get(list), "pod updates may not add or remove containers");
        }
        // The rules for all pods report a missing image, too.
        for container in spec.get(list).items() {
            e.present(&container.get("image"));
        }
    }
    check_deadline(e, &old_spec, &spec);
    check_added_tolerations(e, &old_spec, &spec);
    for gate in spec.get("schedulingGates").items() {
        let name = gate.get("name").text();
        if old_spec.get("schedulingGates").items().all(|old| old.get("name").text() != name) {
            let detail = format!("only deletion is allowed, but found new scheduling gate '{name}'");
            e.forbidden(&gate.get("name"), &detail);
        }
    }
    if spec.value() == old_spec.value() {
        return;
    }
    let is_gated = !old_spec.get("schedulingGates").is_empty();
    if is_gated {
        check_gated_changes(e, &old_spec, &spec);
    }
    let mut is_mutable = vec!["activeDeadlineSeconds", "tolerations", "schedulingGates"];
    let (old_grace, grace) = (
        old_spec.get("terminationGracePeriodSeconds").number_or_zero(),
        spec.get("terminationGracePeriodSeconds").number_or_zero(),
    );
    if old_grace < 0 && grace == 1 {
        is_mutable.push("terminationGracePeriodSeconds");
    }
    if fixed(old_spec.value(), &is_mutable, is_gated) != fixed(spec.value(), &is_mutable, is_gated) {
        let detail = "pod updates may not change fields other than `spec.containers[*].image`,\
            `spec.initContainers[*].image`,`spec.activeDeadlineSeconds`,`spec.tolerations` (only additions to existing \
            tolerations),`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)";
        e.forbidden(&spec, detail);
    }
}

/// Returns what an update cannot change.
fn fixed(spec: &Value, is_mutable: &[&str], is_gated: bool) -> Map<String, Value> {
    let mut spec = spec.as_object().cloned().unwrap_or_default();
    spec.retain(|name, _| !(is_mutable.contains(&name.as_str()) || is_gated && name == "nodeSelector"));
    for list in ["containers", "initContainers"] {
        let containers = spec.get_mut(list).and_then(Value::as_array_mut).into_iter().flatten();
        containers.filter_map(Value::as_object_mut).for_each(|container| drop(container.remove("image")));
    }
    if is_gated && let Some(Value::Object(affinity)) = spec.get_mut("affinity") {
        affinity.remove("nodeAffinity");
        if affinity.is_empty() {
            spec.remove("affinity");
        }
    }
    spec
}

fn check_annotation_changes(e: &mut Errors, old: &Field<'_, '_>, new: &Field<'_, '_>) {
    let (old, new) = (old.get("metadata"), new.get("metadata"));
    let (old, new) = (old.get("annotations"), new.get("annotations"));
    for (key, annotation) in old.entries().chain(new.entries()) {
        let is_fixed = key == MIRROR || key.starts_with("container.apparmor.security.beta.kubernetes.io/");
        if is_fixed && old.key(key).value() != new.key(key).value() {
            e.forbidden(&annotation, "may not add, remove or update this annotation");
        }
    }
}

fn check_deadline(e: &mut Errors, old: &Field<'_, '_>, new: &Field<'_, '_>) {
    let deadline = new.get("activeDeadlineSeconds");
    match (old.get("activeDeadlineSeconds").number(), deadline.number()) {
        (Some(_), None) => e.invalid(&deadline, "must not update from a positive integer to nil value"),
        (Some(old), Some(new)) if new > old => {
            e.invalid(&deadline, "must be less than or equal to previous value");
        }
        (Some(_) | None, Some(_)) | (None, None) => {}
    }
}

fn check_added_tolerations(e: &mut Errors, old: &Field<'_, '_>, new: &Field<'_, '_>) {
    let fixed = |toleration: &Value| {
        let mut toleration = toleration.as_object().cloned().unwrap_or_default();
        toleration.remove("tolerationSeconds");
        toleration
    };
    let tolerations = new.get("tolerations");
    for toleration in old.get("tolerations").items() {
        if tolerations.items().all(|new| fixed(new.value()) != fixed(toleration.value())) {
            let detail = "existing toleration can not be modified except its tolerationSeconds";
            e.forbidden(&tolerations, detail);
        }
    }
}

/// A pod with gates can get more node selectors and stricter node affinity.
fn check_gated_changes(e: &mut Errors, old: &Field<'_, '_>, new: &Field<'_, '_>) {
    let selector = new.get("nodeSelector");
    for (key, value) in old.get("nodeSelector").entries() {
        if selector.key(key).value() != value.value() {
            e.invalid(&selector, "only additions are allowed");
        }
    }
    const REQUIRED: &str = "requiredDuringSchedulingIgnoredDuringExecution";
    let terms = |spec: &Value| {
        let path = format!("/affinity/nodeAffinity/{REQUIRED}/nodeSelectorTerms");
        spec.pointer(&path).and_then(Value::as_array).cloned().unwrap_or_default()
    };
    let (before, after) = (terms(old.value()), terms(new.value()));
    let is_part = |old: &Value, new: &Value, list: &str| {
        let items = |term: &Value| term.get(list).and_then(Value::as_array).cloned().unwrap_or_default();
        let (old, new) = (items(old), items(new));
        new.len() >= old.len() && new[..old.len()] == old[..]
    };
    let is_stricter = before.len() == after.len()
        && before
            .iter()
            .zip(&after)
            .all(|(old, new)| is_part(old, new, "matchExpressions") && is_part(old, new, "matchFields"));
    if !before.is_empty() && !is_stricter {
        let affinity = new.get("affinity");
        e.invalid(
            &affinity.get("nodeAffinity"),
            "no additions/deletions to non-empty NodeSelectorTerms list are allowed",
        );
    }
}
