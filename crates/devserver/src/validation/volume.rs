//! Volumes of pods.

use crate::object::quantity_value;
use crate::validation::field::{Errors, Field};
use crate::validation::{claim, resources};
use std::collections::BTreeSet;

/// The types of volumes, with the fields that each of them requires.
const TYPES: [(&str, &[&str]); 30] = [
    ("emptyDir", &[]),
    ("hostPath", &["path"]),
    ("gitRepo", &["repository"]),
    ("gcePersistentDisk", &["pdName"]),
    ("awsElasticBlockStore", &["volumeID"]),
    ("secret", &["secretName"]),
    ("nfs", &["server", "path"]),
    ("iscsi", &["targetPortal", "iqn"]),
    ("glusterfs", &["endpoints", "path"]),
    ("flocker", &[]),
    ("persistentVolumeClaim", &["claimName"]),
    ("rbd", &["monitors", "image"]),
    ("cinder", &["volumeID"]),
    ("cephfs", &["monitors"]),
    ("quobyte", &["registry", "volume"]),
    ("downwardAPI", &[]),
    ("fc", &[]),
    ("flexVolume", &["driver"]),
    ("configMap", &["name"]),
    ("azureFile", &["secretName", "shareName"]),
    ("vsphereVolume", &["volumePath"]),
    ("photonPersistentDisk", &["pdID"]),
    ("portworxVolume", &["volumeID"]),
    ("azureDisk", &["diskName", "diskURI"]),
    ("storageos", &["volumeName"]),
    ("projected", &[]),
    ("scaleIO", &["gateway", "system", "volumeName"]),
    ("csi", &["driver"]),
    ("ephemeral", &["volumeClaimTemplate"]),
    ("image", &[]),
];

const DOWNWARD: [&str; 3] = ["metadata.name", "metadata.namespace", "metadata.uid"];

/// The pod in which a volume is.
#[derive(Clone, Copy)]
pub(super) struct Owner<'n> {
    /// The name of the pod; empty in a template.
    pub(super) name: &'n str,
    /// Whether the pod is one, and not a template.
    pub(super) is_pod: bool,
}

/// Checks the volumes of a pod, and returns the valid ones.
pub(super) fn check<'s, 'v>(
    e: &mut Errors,
    volumes: &'s Field<'_, 'v>,
    owner: Owner<'_>,
) -> Vec<(&'v str, Field<'s, 'v>)> {
    let mut known: Vec<(&str, Field<'_, '_>)> = Vec::with_capacity(volumes.len());
    for volume in volumes.items() {
        let found = e.len();
        check_source(e, &volume, owner);
        let name = volume.get("name");
        if e.present(&name) {
            e.label(&name);
        }
        if known.iter().any(|(other, _)| *other == name.text()) {
            e.duplicate(&name);
        }
        if e.len() == found {
            known.push((name.text(), volume));
        }
        let claim = volume.get("persistentVolumeClaim");
        let claim = claim.get("claimName");
        let is_created = |other: &Field<'_, '_>| {
            let suffix = claim.text().strip_prefix(owner.name).and_then(|rest| rest.strip_prefix('-'));
            other.get("ephemeral").is_set() && suffix == Some(other.get("name").text())
        };
        if claim.is_set() && !owner.name.is_empty() && volumes.items().any(|other| is_created(&other)) {
            e.invalid(&claim, "must not reference a PVC that gets created for an ephemeral volume");
        }
    }
    known
}

fn check_source(e: &mut Errors, volume: &Field<'_, '_>, owner: Owner<'_>) {
    let mut count = 0;
    for (name, required) in TYPES {
        let source = volume.get(name);
        if !source.is_set() {
            continue;
        }
        count += 1;
        if count > 1 {
            e.forbidden(&source, "may not specify more than 1 volume type");
            continue;
        }
        for field in required {
            e.present(&source.get(field));
        }
        match name {
            "emptyDir" | "hostPath" | "gitRepo" | "secret" | "configMap" | "downwardAPI" | "projected" => {
                check_local(e, name, &source);
            }
            "csi" | "ephemeral" | "image" => check_other(e, name, volume, owner),
            _ => check_remote(e, name, &source),
        }
    }
    if count == 0 {
        e.required(volume, "must specify a volume type");
    }
}

/// Checks volumes whose contents are on the node or in the API.
fn check_local(e: &mut Errors, name: &str, source: &Field<'_, '_>) {
    e.file_mode(&source.get("defaultMode"));
    match name {
        "emptyDir" => {
            if resources::amount(&source.get("sizeLimit")) < 0 {
                e.forbidden(&source.get("sizeLimit"), "SizeLimit field must be a valid resource quantity");
            }
        }
        "hostPath" => {
            e.no_backsteps(&source.get("path"));
            let types = [
                "",
                "BlockDevice",
                "CharDevice",
                "Directory",
                "DirectoryOrCreate",
                "File",
                "FileOrCreate",
                "Socket",
            ];
            e.optional_one_of(&source.get("type"), &types);
        }
        "gitRepo" => e.descending_path(&source.get("directory")),
        "secret" | "configMap" => check_items(e, source),
        "downwardAPI" => source.get("items").items().for_each(|file| check_downward_file(e, &file)),
        _ => check_projected(e, source),
    }
}

fn check_items(e: &mut Errors, source: &Field<'_, '_>) {
    for item in source.get("items").items() {
        e.present(&item.get("key"));
        e.present(&item.get("path"));
        e.local_path(&item.get("path"));
        e.file_mode(&item.get("mode"));
    }
}

fn check_downward_file(e: &mut Errors, file: &Field<'_, '_>) {
    e.present(&file.get("path"));
    e.local_path(&file.get("path"));
    e.file_mode(&file.get("mode"));
    let (field, resource) = (file.get("fieldRef"), file.get("resourceFieldRef"));
    if field.is_set() {
        check_field_ref(e, &field, &DOWNWARD);
        if resource.is_set() {
            e.invalid(file, "fieldRef and resourceFieldRef can not be specified simultaneously");
        }
    } else if resource.is_set() {
        let container = resource.get("containerName");
        if e.present(&container) {
            check_resource_ref(e, &resource);
        } else {
            check_divisor(e, &resource);
        }
    } else {
        e.required(file, "one of fieldRef and resourceFieldRef is required");
    }
}

/// Checks a reference to a field of the pod.
pub(super) fn check_field_ref(e: &mut Errors, reference: &Field<'_, '_>, known: &[&str]) {
    const LABELS: [&str; 2] = ["metadata.labels", "metadata.annotations"];
    e.present(&reference.get("apiVersion"));
    let path = reference.get("fieldPath");
    if !e.present(&path) {
        return;
    }
    if reference.get("apiVersion").text() != "v1" {
        return e.invalid(&path, "error converting fieldPath: unsupported pod version");
    }
    let subscript = path.text().strip_suffix("']").and_then(|path| path.split_once("['"));
    match subscript {
        Some(("metadata.annotations", key)) => {
            let broken = crate::object::broken_key(&key.to_ascii_lowercase());
            e.check(reference, broken);
        }
        Some(("metadata.labels", key)) => e.check(reference, crate::object::broken_key(key)),
        Some(_) => e.invalid(reference, "does not support subscript"),
        // The fields of a volume include the maps themselves.
        None if known.len() == DOWNWARD.len() && LABELS.contains(&path.text()) => {}
        None if !known.contains(&path.text()) => e.unsupported(&path, known),
        None => {}
    }
}

/// Checks a reference to a resource of a container.
pub(super) fn check_resource_ref(e: &mut Errors, reference: &Field<'_, '_>) {
    const KNOWN: [&str; 6] = [
        "limits.cpu",
        "limits.ephemeral-storage",
        "limits.memory",
        "requests.cpu",
        "requests.ephemeral-storage",
        "requests.memory",
    ];
    let resource = reference.get("resource");
    let name = resource.text();
    let is_huge_page = name.starts_with("requests.hugepages-") || name.starts_with("limits.hugepages-");
    if e.present(&resource) && !is_huge_page {
        e.known(&resource, &KNOWN);
    }
    check_divisor(e, reference);
}

fn check_divisor(e: &mut Errors, reference: &Field<'_, '_>) {
    const CPU: [&str; 2] = ["1m", "1"];
    const MEMORY: [&str; 13] =
        ["1", "1k", "1M", "1G", "1T", "1P", "1E", "1Ki", "1Mi", "1Gi", "1Ti", "1Pi", "1Ei"];
    let (name, divisor) = (reference.get("resource").text(), reference.get("divisor"));
    if quantity_value(divisor.text()).unwrap_or_default() == 0 {
        return;
    }
    let known = if name.ends_with(".cpu") { &CPU[..] } else { &MEMORY[..] };
    let is_known_resource = ["limits.", "requests."].iter().any(|prefix| name.starts_with(prefix));
    if is_known_resource && !known.contains(&divisor.text()) {
        e.invalid(&divisor, &format!("only divisor's values {} are supported", known.join(", ")));
    }
}

/// The sources that the feature gates of 1.36 leave in a projected volume.
fn check_projected(e: &mut Errors, source: &Field<'_, '_>) {
    let mut paths = BTreeSet::new();
    for source in source.get("sources").items() {
        let mut count = 0;
        for kind in ["secret", "configMap", "downwardAPI"] {
            let part = source.get(kind);
            if !part.is_set() {
                continue;
            }
            count += 1;
            if kind == "downwardAPI" {
                part.get("items").items().for_each(|file| check_downward_file(e, &file));
            } else {
                e.present(&part.get("name"));
                check_items(e, &part);
            }
            for item in part.get("items").items() {
                let path = item.get("path");
                if !path.is_empty() && !paths.insert(path.text()) {
                    e.invalid(&path, "conflicting duplicate paths");
                }
            }
        }
        let token = source.get("serviceAccountToken");
        if token.is_set() {
            count += 1;
            check_token(e, &token);
        }
        if count > 1 {
            e.forbidden(&source, "may not specify more than 1 volume type per source");
        }
    }
}

fn check_token(e: &mut Errors, token: &Field<'_, '_>) {
    let seconds = token.get("expirationSeconds");
    if seconds.number_or_zero() < 600 {
        e.invalid(&seconds, "may not specify a duration less than 10 minutes");
    }
    if seconds.number_or_zero() > 1 << 32 {
        e.invalid(&seconds, "may not specify a duration larger than 2^32 seconds");
    }
    if e.present(&token.get("path")) {
        e.local_path(&token.get("path"));
    }
}

/// Checks volumes of a network or a cloud.
fn check_remote(e: &mut Errors, name: &str, source: &Field<'_, '_>) {
    match name {
        "gcePersistentDisk" | "awsElasticBlockStore" => e.in_range(&source.get("partition"), 0, 255),
        "nfs" if !source.get("path").text().starts_with('/') => {
            e.invalid(&source.get("path"), "must be an absolute path");
        }
        "iscsi" => check_iscsi(e, source),
        "flocker" => {
            let (name, uuid) = (source.get("datasetName"), source.get("datasetUUID"));
            match (name.is_empty(), uuid.is_empty()) {
                (true, true) => e.required(source, "one of datasetName and datasetUUID is required"),
                (false, false) => {
                    let detail = "datasetName and datasetUUID can not be specified simultaneously";
                    e.invalid(source, detail);
                }
                (true, false) | (false, true) => {}
            }
            if name.text().contains('/') {
                e.invalid(&name, "must not contain '/'");
            }
        }
        "cinder" | "storageos" => {
            let secret = source.get("secretRef");
            if secret.is_set() {
                e.present(&secret.get("name"));
            }
            if name == "storageos" {
                e.optional_label(&source.get("volumeName"));
                e.optional_label(&source.get("volumeNamespace"));
            }
        }
        "quobyte" => check_quobyte(e, source),
        "fc" => check_fibre_channel(e, source),
        "flexVolume" => {
            for (key, option) in source.get("options").entries() {
                let namespace = key.split_once('/').map_or(key, |(namespace, _)| namespace).to_lowercase();
                let is_under = |domain: &str| format!(".{namespace}").ends_with(domain);
                if is_under(".kubernetes.io") || is_under(".k8s.io") {
                    e.invalid(&option, "kubernetes.io and k8s.io namespaces are reserved");
                }
            }
        }
        "azureDisk" => check_azure_disk(e, source),
        _ => {}
    }
}

fn check_quobyte(e: &mut Errors, source: &Field<'_, '_>) {
    let detail = "must be a host:port pair or multiple pairs separated by commas";
    let registry = source.get("registry");
    let is_pair = |pair: &str| {
        pair.rsplit_once(':').is_some_and(|(host, _)| {
            !host.contains(':') && !host.contains(['[', ']']) || host.starts_with('[') && host.ends_with(']')
        })
    };
    if registry.is_empty() {
    } else if source.get("tenant").len() >= 65 {
        e.required(&source.get("tenant"), "must be a UUID and may not exceed a length of 64 characters");
    } else if !registry.text().split(',').all(is_pair) {
        e.invalid(&registry, detail);
    }
}

fn check_fibre_channel(e: &mut Errors, source: &Field<'_, '_>) {
    let (targets, ids) = (source.get("targetWWNs"), source.get("wwids"));
    if targets.is_empty() == ids.is_empty() {
        e.required(&targets, "must specify either targetWWNs or wwids, but not both");
    }
    if !targets.is_empty() {
        let lun = source.get("lun");
        if !lun.is_set() {
            e.required(&lun, "lun is required if targetWWNs is specified");
        }
        e.in_range(&lun, 0, 255);
    }
}

fn check_azure_disk(e: &mut Errors, source: &Field<'_, '_>) {
    e.optional_one_of(&source.get("cachingMode"), &["None", "ReadOnly", "ReadWrite"]);
    let (kind, uri) = (source.get("kind"), source.get("diskURI"));
    e.optional_one_of(&kind, &["Dedicated", "Managed", "Shared"]);
    let start = if kind.text() == "Managed" { "/subscriptions/" } else { "https://" };
    if kind.is_set() && !uri.text().starts_with(start) {
        e.unsupported(&uri, &[start]);
    }
}

fn check_iscsi(e: &mut Errors, source: &Field<'_, '_>) {
    for name in ["iqn", "initiatorName"] {
        let name = source.get(name);
        if name.is_set() && !is_initiator(name.text()) {
            e.invalid(&name, "must be valid format");
        }
    }
    e.in_range(&source.get("lun"), 0, 255);
    let is_authenticated =
        source.get("chapAuthDiscovery").is_true() || source.get("chapAuthSession").is_true();
    if is_authenticated && !source.get("secretRef").is_set() {
        e.required(&source.get("secretRef"), "");
    }
}

/// Returns whether a text is a name of an initiator: `iqn.2001-04.com.example:disk`, `eui.` or `naa.` with digits.
fn is_initiator(name: &str) -> bool {
    let is_hex = |digits: &str, length: usize| {
        digits.len() == length && digits.bytes().all(|byte| byte.is_ascii_hexdigit())
    };
    match name.split_once('.') {
        Some(("iqn", rest)) => {
            let Some((date, rest)) = rest.split_at_checked(8) else { return false };
            let is_date = date.bytes().enumerate().all(|(place, byte)| match place {
                4 => byte == b'-',
                7 => byte == b'.',
                _ => byte.is_ascii_digit(),
            });
            let (domain, name) =
                rest.split_once(':').map_or((rest, None), |(domain, name)| (domain, Some(name)));
            let is_inner = |letter: char| letter.is_alphanumeric() || matches!(letter, '.' | '-');
            is_date
                && domain.starts_with(|first: char| first.is_ascii_alphanumeric())
                && domain.chars().all(is_inner)
                && name.is_none_or(|name| !name.is_empty())
        }
        Some(("eui", digits)) => is_hex(digits, 16),
        Some(("naa", digits)) => is_hex(digits, 32) || is_hex(digits, 16),
        _ => false,
    }
}

/// Checks volumes of drivers, claims that are created with the pod, and images.
fn check_other(e: &mut Errors, name: &'static str, volume: &Field<'_, '_>, owner: Owner<'_>) {
    let source = volume.get(name);
    match name {
        "csi" => {
            let driver = source.get("driver");
            check_driver(e, &driver);
            let secret = source.get("nodePublishSecretRef");
            if secret.is_set() && e.present(&secret.get("name")) {
                e.subdomain(&secret.get("name"));
            }
        }
        "ephemeral" => {
            let template = source.get("volumeClaimTemplate");
            if template.is_set() {
                let metadata = template.get("metadata");
                check_template_metadata(e, &metadata);
                claim::check_spec(e, &template.get("spec"));
            }
            let volume = volume.get("name");
            let name = format!("{}-{}", owner.name, volume.text());
            if !owner.name.is_empty() && !volume.is_empty() {
                e.check(&volume, super::format::broken_subdomain(&name));
            }
        }
        _ => {
            if owner.is_pod {
                e.present(&source.get("reference"));
            }
            e.one_of(&source.get("pullPolicy"), &["Always", "IfNotPresent", "Never"]);
        }
    }
}

fn check_driver(e: &mut Errors, driver: &Field<'_, '_>) {
    if driver.is_empty() {
        return;
    }
    if driver.len() > 63 {
        e.too_long(driver, 63);
    }
    e.check(driver, super::format::broken_subdomain(&driver.text().to_lowercase()));
}

/// Checks the labels and annotations of a template, which has no other metadata.
fn check_template_metadata(e: &mut Errors, metadata: &Field<'_, '_>) {
    check_labels_and_annotations(e, metadata);
    let value = metadata.value().as_object().into_iter().flatten();
    let is_other = |name: &str| !["labels", "annotations", "creationTimestamp"].contains(&name);
    if value.into_iter().any(|(name, value)| is_other(name) && !value.is_null()) {
        e.forbidden(metadata, "cannot be set for an Ephemeral volume");
    }
}

/// Checks the labels and annotations of a template.
pub(super) fn check_labels_and_annotations(e: &mut Errors, metadata: &Field<'_, '_>) {
    e.labels(&metadata.get("labels"));
    let annotations = metadata.get("annotations");
    let mut size = 0;
    for (key, value) in annotations.entries() {
        size += key.len() + value.len();
        e.check(&annotations, crate::object::broken_key(&key.to_ascii_lowercase()));
    }
    if size > 256 << 10 {
        e.too_long(&annotations, 256 << 10);
    }
}
