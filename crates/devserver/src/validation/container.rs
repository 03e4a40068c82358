//! Containers, with their ports, variables, mounts, probes and hooks.

use crate::validation::field::{Errors, Field};
use crate::validation::{resources, security, volume};
use std::collections::BTreeSet;

const PROTOCOLS: [&str; 3] = ["SCTP", "TCP", "UDP"];
const RESTART_POLICIES: [&str; 3] = ["Always", "Never", "OnFailure"];

/// What the containers of a pod share.
pub(super) struct Pod<'f, 'p, 'v> {
    /// The spec of the pod.
    pub(super) spec: &'f Field<'p, 'v>,
    /// The valid volumes by name.
    pub(super) volumes: Vec<(&'v str, Field<'f, 'v>)>,
    /// The names of the resource claims.
    pub(super) claims: Vec<&'v str>,
}

impl Pod<'_, '_, '_> {
    fn grace_period(&self) -> Option<i64> {
        self.spec.get("terminationGracePeriodSeconds").number()
    }

    fn volume(&self, name: &str) -> Option<&Field<'_, '_>> {
        self.volumes.iter().find(|(known, _)| *known == name).map(|(_, volume)| volume)
    }
}

/// Checks all containers of a pod.
pub(super) fn check_all(e: &mut Errors, pod: &Pod<'_, '_, '_>) {
    let containers = pod.spec.get("containers");
    e.present(&containers);
    let mut names = BTreeSet::new();
    let mut host_ports = BTreeSet::new();
    for container in containers.items() {
        check(e, &container, pod);
        if !names.insert(container.get("name").text()) {
            e.duplicate(&container.get("name"));
        }
        check_host_ports(e, &container, &mut host_ports);
        check_hooks_and_probes(e, &container, pod);
        check_restart_rules(e, &container);
    }
    for container in pod.spec.get("initContainers").items() {
        check(e, &container, pod);
        let name = container.get("name");
        if !name.is_empty() && !names.insert(name.text()) {
            e.duplicate(&name);
        }
        check_host_ports(e, &container, &mut BTreeSet::new());
        check_restart_rules(e, &container);
        let is_sidecar = container.get("restartPolicy").text() == "Always";
        if is_sidecar {
            check_hooks_and_probes(e, &container, pod);
        } else {
            check_init_only(e, &container);
        }
    }
}

/// Checks the fields that an init container cannot have unless it is restarted.
fn check_init_only(e: &mut Errors, container: &Field<'_, '_>) {
    for name in ["lifecycle", "livenessProbe", "readinessProbe", "startupProbe"] {
        if container.get(name).is_set() {
            e.forbidden(
                &container.get(name),
                "may not be set for init containers without restartPolicy=Always",
            );
        }
    }
    for policy in container.get("resizePolicy").items() {
        let restart = policy.get("restartPolicy");
        if restart.text() == "RestartContainer" {
            e.invalid(&restart, "must not be set to 'RestartContainer' for non-sidecar initContainers");
        }
    }
}

fn check(e: &mut Errors, container: &Field<'_, '_>, pod: &Pod<'_, '_, '_>) {
    let name = container.get("name");
    if e.present(&name) {
        e.label(&name);
    }
    e.present(&container.get("image"));
    e.one_of(&container.get("terminationMessagePolicy"), &["File", "FallbackToLogsOnError"]);
    check_ports(e, &container.get("ports"));
    container.get("env").items().for_each(|variable| check_variable(e, &variable, pod));
    container.get("envFrom").items().for_each(|source| check_variables_from(e, &source));
    check_mounts(e, container, pod);
    check_devices(e, container, pod);
    e.one_of(&container.get("imagePullPolicy"), &["Always", "IfNotPresent", "Never"]);
    resources::check(e, &container.get("resources"), resources::ResourceUser::Container, &pod.claims);
    check_resize(e, &container.get("resizePolicy"), pod);
    let hosts_users = !pod.spec.get("hostUsers").is_false();
    security::check_container(e, &container.get("securityContext"), hosts_users);
    if !hosts_users && !container.get("volumeDevices").is_empty() {
        e.forbidden(&container.get("volumeDevices"), "when `hostUsers` is false");
    }
}

fn check_ports(e: &mut Errors, ports: &Field<'_, '_>) {
    let mut names = BTreeSet::new();
    for port in ports.items() {
        let name = port.get("name");
        if !name.is_empty() {
            let found = e.len();
            e.port_name(&name);
            if e.len() == found && !names.insert(name.text()) {
                e.duplicate(&name);
            }
        }
        let number = port.get("containerPort");
        if number.number_or_zero() == 0 {
            e.required(&number, "");
        } else {
            e.port_number(&number);
        }
        if port.get("hostPort").number_or_zero() != 0 {
            e.port_number(&port.get("hostPort"));
        }
        e.one_of(&port.get("protocol"), &PROTOCOLS);
    }
}

fn check_host_ports<'v>(
    e: &mut Errors,
    container: &Field<'_, 'v>,
    seen: &mut BTreeSet<(&'v str, &'v str, i64)>,
) {
    for port in container.get("ports").items() {
        let number = port.get("hostPort");
        let key = (port.get("protocol").text(), port.get("hostIP").text(), number.number_or_zero());
        if key.2 != 0 && !seen.insert(key) {
            e.duplicate(&number);
        }
    }
}

fn check_variable(e: &mut Errors, variable: &Field<'_, '_>, pod: &Pod<'_, '_, '_>) {
    const KNOWN: [&str; 9] = [
        "metadata.name",
        "metadata.namespace",
        "metadata.uid",
        "spec.nodeName",
        "spec.serviceAccountName",
        "status.hostIP",
        "status.hostIPs",
        "status.podIP",
        "status.podIPs",
    ];
    let name = variable.get("name");
    if e.present(&name) {
        e.environment(&name);
    }
    let from = variable.get("valueFrom");
    if !from.is_set() {
        return;
    }
    let mut count = 0;
    for kind in ["fieldRef", "resourceFieldRef", "configMapKeyRef", "secretKeyRef", "fileKeyRef"] {
        let source = from.get(kind);
        if !source.is_set() {
            continue;
        }
        count += 1;
        match kind {
            "fieldRef" => volume::check_field_ref(e, &source, &KNOWN),
            "resourceFieldRef" => volume::check_resource_ref(e, &source),
            "fileKeyRef" => check_file_key(e, &source, pod),
            _ => {
                e.subdomain(&source.get("name"));
                let key = source.get("key");
                if e.present(&key) {
                    e.config_key(&key, key.text());
                }
            }
        }
    }
    match count {
        0 => e.invalid(
            &from,
            "must specify one of: `fieldRef`, `resourceFieldRef`, `configMapKeyRef`, `secretKeyRef` or `fileKeyRef`",
        ),
        _ if !variable.get("value").is_empty() => {
            e.invalid(&from, "may not be specified when `value` is not empty");
        }
        1 => {}
        _ => e.invalid(&from, "may not have more than one field specified at a time"),
    }
}

fn check_file_key(e: &mut Errors, source: &Field<'_, '_>, pod: &Pod<'_, '_, '_>) {
    let (key, volume, path) = (source.get("key"), source.get("volumeName"), source.get("path"));
    if e.present(&key) {
        e.environment(&key);
    }
    if e.present(&volume) {
        e.label(&volume);
    }
    if e.present(&path) {
        e.no_backsteps(&path);
    }
    let volumes = pod.spec.get("volumes");
    match volumes.items().filter(|one| one.get("name").text() == volume.text()).last() {
        None => e.not_found(&volume),
        Some(found) if !found.get("emptyDir").is_set() => {
            e.invalid(&volume, "referenced volume must be of type emptyDir");
        }
        Some(_) => {}
    }
}

fn check_variables_from(e: &mut Errors, source: &Field<'_, '_>) {
    if !source.get("prefix").is_empty() {
        e.environment(&source.get("prefix"));
    }
    let mut count = 0;
    for kind in ["configMapRef", "secretRef"] {
        let reference = source.get(kind);
        if reference.is_set() {
            count += 1;
            if e.present(&reference.get("name")) {
                check_prefix(e, &reference.get("name"));
            }
        }
    }
    match count {
        0 => e.invalid(source, "must specify one of: `configMapRef` or `secretRef`"),
        1 => {}
        _ => e.invalid(source, "may not have more than one field specified at a time"),
    }
}

/// Checks the name of an object, which may be the beginning of a name.
fn check_prefix(e: &mut Errors, name: &Field<'_, '_>) {
    let text = name.text();
    let whole = text.strip_suffix('-').map(|start| format!("{start}a"));
    e.check(name, super::format::broken_subdomain(whole.as_deref().unwrap_or(text)));
}

fn check_mounts(e: &mut Errors, container: &Field<'_, '_>, pod: &Pod<'_, '_, '_>) {
    let (mounts, devices) = (container.get("volumeMounts"), container.get("volumeDevices"));
    let mut paths = BTreeSet::new();
    for mount in mounts.items() {
        let (name, path) = (mount.get("name"), mount.get("mountPath"));
        e.present(&name);
        if pod.volume(name.text()).is_none() {
            e.not_found(&name);
        }
        e.present(&path);
        if !paths.insert(path.text()) {
            e.invalid(&path, "must be unique");
        }
        if devices.items().any(|device| device.get("name").text() == name.text()) {
            e.invalid(&name, "must not already exist in volumeDevices");
        }
        if devices.items().any(|device| device.get("devicePath").text() == path.text()) {
            e.invalid(&path, "must not already exist as a path in volumeDevices");
        }
        let (sub, expression) = (mount.get("subPath"), mount.get("subPathExpr"));
        e.descending_path(&sub);
        e.descending_path(&expression);
        if !sub.is_empty() && !expression.is_empty() {
            e.invalid(&expression, "subPathExpr and subPath are mutually exclusive");
        }
        check_propagation(e, &mount, container);
    }
}

fn check_propagation(e: &mut Errors, mount: &Field<'_, '_>, container: &Field<'_, '_>) {
    let (propagation, recursive) = (mount.get("mountPropagation"), mount.get("recursiveReadOnly"));
    e.optional_one_of(&propagation, &["Bidirectional", "HostToContainer", "None"]);
    let is_privileged = container.get("securityContext").get("privileged").is_true();
    if propagation.text() == "Bidirectional" && !is_privileged {
        let detail = "Bidirectional mount propagation is available only to privileged containers";
        e.forbidden(&propagation, detail);
    }
    e.optional_one_of(&recursive, &["Disabled", "Enabled", "IfPossible"]);
    if matches!(recursive.text(), "Enabled" | "IfPossible") {
        if !mount.get("readOnly").is_true() {
            e.forbidden(&recursive, "may only be specified when readOnly is true");
        }
        if propagation.is_set() && propagation.text() != "None" {
            let detail = "may only be specified when mountPropagation is None or not specified";
            e.forbidden(&recursive, detail);
        }
    }
}

fn check_devices(e: &mut Errors, container: &Field<'_, '_>, pod: &Pod<'_, '_, '_>) {
    let mounts = container.get("volumeMounts");
    let (mut names, mut paths) = (BTreeSet::new(), BTreeSet::new());
    for device in container.get("volumeDevices").items() {
        let (name, path) = (device.get("name"), device.get("devicePath"));
        e.present(&name);
        if !name.is_empty() && !names.insert(name.text()) {
            e.invalid(&name, "must be unique");
        }
        match pod.volume(name.text()) {
            None => e.not_found(&name),
            Some(volume) => {
                let is_claim =
                    volume.get("persistentVolumeClaim").is_set() || volume.get("ephemeral").is_set();
                if !is_claim {
                    let detail = "can only use volume source type of PersistentVolumeClaim or Ephemeral for block mode";
                    e.invalid(&name, detail);
                }
            }
        }
        e.present(&path);
        e.no_backsteps(&path);
        if !paths.insert(path.text()) {
            e.invalid(&path, "must be unique");
        }
        if mounts.items().any(|mount| mount.get("name").text() == name.text()) {
            e.invalid(&name, "must not already exist in volumeMounts");
        }
        if mounts.items().any(|mount| mount.get("mountPath").text() == path.text()) {
            e.invalid(&path, "must not already exist as a path in volumeMounts");
        }
    }
}

fn check_resize(e: &mut Errors, policies: &Field<'_, '_>, pod: &Pod<'_, '_, '_>) {
    let mut seen = BTreeSet::new();
    for policy in policies.items() {
        let (name, restart) = (policy.get("resourceName"), policy.get("restartPolicy"));
        if !seen.insert(name.text()) {
            e.duplicate(&name);
        }
        e.one_of(&name, &["cpu", "memory"]);
        e.one_of(&restart, &["NotRequired", "RestartContainer"]);
        if pod.spec.get("restartPolicy").text() == "Never" && restart.text() != "NotRequired" {
            e.invalid(&restart, "must be 'NotRequired' when pod `restartPolicy` is 'Never'");
        }
    }
}

fn check_restart_rules(e: &mut Errors, container: &Field<'_, '_>) {
    let (policy, rules) = (container.get("restartPolicy"), container.get("restartPolicyRules"));
    if policy.is_set() {
        e.known(&policy, &RESTART_POLICIES);
    } else if !rules.is_empty() {
        e.required(&policy, "must specify restartPolicy when restart rules are used");
    }
    if rules.len() > 20 {
        e.too_many(&rules, 20);
    }
    for rule in rules.items() {
        e.known(&rule.get("action"), &["Restart", "RestartAllContainers"]);
        let codes = rule.get("exitCodes");
        if !codes.is_set() {
            e.required(&codes, "must be specified");
            continue;
        }
        e.known(&codes.get("operator"), &["In", "NotIn"]);
        if codes.get("values").len() > 255 {
            e.too_many(&codes.get("values"), 255);
        }
    }
}

fn check_hooks_and_probes(e: &mut Errors, container: &Field<'_, '_>, pod: &Pod<'_, '_, '_>) {
    let lifecycle = container.get("lifecycle");
    for hook in ["postStart", "preStop"] {
        let hook = lifecycle.get(hook);
        if hook.is_set() {
            check_handler(e, &hook, &["exec", "httpGet", "tcpSocket", "sleep"], pod);
        }
    }
    for name in ["livenessProbe", "readinessProbe", "startupProbe"] {
        let probe = container.get(name);
        if probe.is_set() {
            check_probe(e, &probe, pod);
        }
        let (success, grace) = (probe.get("successThreshold"), probe.get("terminationGracePeriodSeconds"));
        if name == "readinessProbe" {
            if grace.is_set() {
                e.invalid(&grace, "must not be set for readinessProbes");
            }
        } else if probe.is_set() && success.number_or_zero() != 1 {
            e.invalid(&success, "must be 1");
        }
    }
}

fn check_probe(e: &mut Errors, probe: &Field<'_, '_>, pod: &Pod<'_, '_, '_>) {
    check_handler(e, probe, &["exec", "httpGet", "tcpSocket", "grpc"], pod);
    for name in
        ["initialDelaySeconds", "timeoutSeconds", "periodSeconds", "successThreshold", "failureThreshold"]
    {
        e.non_negative(&probe.get(name));
    }
    let grace = probe.get("terminationGracePeriodSeconds");
    if grace.number().is_some_and(|seconds| seconds <= 0) {
        e.invalid(&grace, "must be greater than 0");
    }
}

fn check_handler(e: &mut Errors, handler: &Field<'_, '_>, kinds: &[&'static str], pod: &Pod<'_, '_, '_>) {
    let mut count = 0;
    for kind in kinds {
        let action = handler.get(kind);
        if !action.is_set() {
            continue;
        }
        count += 1;
        if count > 1 {
            e.forbidden(&action, "may not specify more than 1 handler type");
            continue;
        }
        match *kind {
            "exec" => drop(e.present(&action.get("command"))),
            "httpGet" => {
                e.present(&action.get("path"));
                e.port(&action.get("port"));
                e.known(&action.get("scheme"), &["HTTP", "HTTPS"]);
                action.get("httpHeaders").items().for_each(|header| e.http_header(&header.get("name")));
            }
            "sleep" => {
                let seconds = action.get("seconds").number_or_zero();
                if let Some(most) = pod.grace_period().filter(|most| !(0..=*most).contains(&seconds)) {
                    let detail =
                        format!("must be non-negative and less than terminationGracePeriodSeconds ({most})");
                    e.invalid(&action.get("seconds"), &detail);
                }
            }
            _ => e.port(&action.get("port")),
        }
    }
    if count == 0 {
        e.required(handler, "must specify a handler type");
    }
}
