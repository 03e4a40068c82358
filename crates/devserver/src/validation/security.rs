//! Security contexts of pods and containers.

use crate::validation::field::{Errors, Field};
use std::collections::BTreeSet;

/// Checks the security context of a container; in a user namespace, more types of `/proc` are allowed.
pub(super) fn check_container(e: &mut Errors, context: &Field<'_, '_>, hosts_users: bool) {
    if !context.is_set() {
        return;
    }
    check_ids(e, context);
    let mount = context.get("procMount");
    e.optional_one_of(&mount, &["Default", "Unmasked"]);
    if hosts_users && mount.text() == "Unmasked" {
        e.invalid(&mount, "`hostUsers` must be false to use `Unmasked`");
    }
    check_profiles(e, context);
    if context.get("allowPrivilegeEscalation").is_false() {
        if context.get("privileged").is_true() {
            e.invalid(context, "cannot set `allowPrivilegeEscalation` to false and `privileged` to true");
        }
        let capabilities = context.get("capabilities");
        if capabilities.get("add").items().any(|one| one.text() == "CAP_SYS_ADMIN") {
            let detail =
                "cannot set `allowPrivilegeEscalation` to false and `capabilities.Add` CAP_SYS_ADMIN";
            e.invalid(context, detail);
        }
    }
}

/// Checks the security context of a pod, and the fields of the spec that belong to it.
pub(super) fn check_pod(e: &mut Errors, spec: &Field<'_, '_>) {
    let context = spec.get("securityContext");
    check_ids(e, &context);
    e.in_range(&context.get("fsGroup"), 0, i64::from(i32::MAX));
    for group in context.get("supplementalGroups").items() {
        e.in_range(&group, 0, i64::from(i32::MAX));
    }
    let shared = spec.get("shareProcessNamespace");
    if shared.is_true() && spec.get("hostPID").is_true() {
        e.invalid(&shared, "ShareProcessNamespace and HostPID cannot both be enabled");
    }
    check_sysctls(e, spec, &context.get("sysctls"));
    e.optional_one_of(&context.get("fsGroupChangePolicy"), &["Always", "OnRootMismatch"]);
    e.optional_one_of(&context.get("supplementalGroupsPolicy"), &["Merge", "Strict"]);
    e.optional_one_of(&context.get("seLinuxChangePolicy"), &["MountOption", "Recursive"]);
    check_profiles(e, &context);
    if spec.get("hostUsers").is_false() {
        for name in ["hostNetwork", "hostPID", "hostIPC"] {
            if spec.get(name).is_true() {
                e.forbidden(&spec.get(name), "when `hostUsers` is false");
            }
        }
    }
}

fn check_ids(e: &mut Errors, context: &Field<'_, '_>) {
    e.in_range(&context.get("runAsUser"), 0, i64::from(i32::MAX));
    e.in_range(&context.get("runAsGroup"), 0, i64::from(i32::MAX));
}

fn check_profiles(e: &mut Errors, context: &Field<'_, '_>) {
    for name in ["seccompProfile", "appArmorProfile"] {
        let profile = context.get(name);
        if !profile.is_set() {
            continue;
        }
        let (kind, path) = (profile.get("type"), profile.get("localhostProfile"));
        e.one_of(&kind, &["Localhost", "RuntimeDefault", "Unconfined"]);
        if kind.text() != "Localhost" {
            if path.is_set() {
                e.invalid(&path, "can only be set when the type is Localhost");
            }
        } else if !path.is_set() {
            e.required(&path, "must be set when the type is Localhost");
        } else if name == "seccompProfile" {
            e.descending_path(&path);
        } else if path.text().trim() != path.text() {
            e.invalid(&path, "must not be padded with whitespace");
        } else if path.is_empty() {
            e.required(&path, "must be set when the type is Localhost");
        } else if path.len() > 4095 {
            e.too_long(&path, 4095);
        }
    }
    check_windows(e, &context.get("windowsOptions"));
}

fn check_sysctls(e: &mut Errors, spec: &Field<'_, '_>, sysctls: &Field<'_, '_>) {
    let mut names = BTreeSet::new();
    for sysctl in sysctls.items() {
        let name = sysctl.get("name");
        if !e.present(&name) {
            continue;
        }
        let text = name.text();
        if !is_sysctl(text) {
            e.invalid(&name, "must have at most 253 characters and match the regex of sysctls");
        } else if !names.insert(text) {
            e.duplicate(&name);
        }
        let dotted = text.replace('/', ".");
        let is_ipc = dotted.starts_with("kernel.shm")
            || dotted.starts_with("kernel.msg")
            || dotted.starts_with("fs.mqueue.")
            || dotted == "kernel.sem";
        if spec.get("hostNetwork").is_true() && dotted.starts_with("net.") {
            e.invalid(&name, "may not be specified when 'hostNetwork' is true");
        } else if spec.get("hostIPC").is_true() && is_ipc {
            e.invalid(&name, "may not be specified when 'hostIPC' is true");
        }
    }
}

/// Returns whether a text is segments of lower case letters joined by dots and slashes.
fn is_sysctl(name: &str) -> bool {
    let is_end = |letter: char| letter.is_ascii_lowercase() || letter.is_ascii_digit();
    let is_segment = |segment: &str| {
        segment.starts_with(is_end)
            && segment.ends_with(is_end)
            && segment.chars().all(|letter| is_end(letter) || matches!(letter, '-' | '_'))
    };
    name.len() <= 253 && name.split(['.', '/']).all(is_segment)
}

fn check_windows(e: &mut Errors, options: &Field<'_, '_>) {
    let (name, spec, user) = (
        options.get("gmsaCredentialSpecName"),
        options.get("gmsaCredentialSpec"),
        options.get("runAsUserName"),
    );
    if name.is_set() {
        e.subdomain(&name);
    }
    if spec.is_set() && (spec.is_empty() || spec.len() > 64 << 10) {
        e.invalid(&spec, "gmsaCredentialSpec cannot be empty and size must be under 64 KiB");
    }
    if user.is_set() && !is_windows_user(user.text()) {
        e.invalid(&user, "runAsUserName is not a valid name of a user");
    }
}

/// Returns whether a text is a user, or a domain and a user with a backslash between them.
fn is_windows_user(text: &str) -> bool {
    let (domain, user) = text.split_once('\\').map_or((None, text), |(domain, user)| (Some(domain), user));
    let is_domain = |domain: &str| {
        let is_net_bios = (1..=15).contains(&domain.chars().count())
            && !domain.starts_with('.')
            && !domain.contains(['\\', '/', ':', '*', '?', '"', '<', '>', '|']);
        domain.len() < 256 && (is_net_bios || crate::object::is_subdomain(&domain.to_ascii_lowercase()))
    };
    !text.chars().any(|letter| letter.is_ascii_control())
        && !user.is_empty()
        && user.len() <= 104
        && !user.chars().all(|letter| matches!(letter, '.' | ' '))
        && !user.contains(['"', '/', '\\', ':', ';', '|', '=', ',', '+', '*', '?', '<', '>', '@', '[', ']'])
        && domain.is_none_or(is_domain)
}

/// The fields of the security context of a pod that Windows does not have.
const WINDOWS_POD: [&str; 9] = [
    "appArmorProfile",
    "seLinuxOptions",
    "seccompProfile",
    "fsGroup",
    "fsGroupChangePolicy",
    "runAsUser",
    "runAsGroup",
    "supplementalGroupsPolicy",
    "seLinuxChangePolicy",
];

/// The fields of the security context of a container that Windows does not have.
const WINDOWS_CONTAINER: [&str; 10] = [
    "appArmorProfile",
    "seLinuxOptions",
    "seccompProfile",
    "capabilities",
    "readOnlyRootFilesystem",
    "privileged",
    "allowPrivilegeEscalation",
    "procMount",
    "runAsUser",
    "runAsGroup",
];

/// Checks the operating system of a pod, and the fields that belong to another one.
pub(super) fn check_system(e: &mut Errors, spec: &Field<'_, '_>) {
    check_host_process(e, spec);
    let system = spec.get("os");
    if !system.is_set() {
        return;
    }
    e.one_of(&system.get("name"), &["linux", "windows"]);
    let context = spec.get("securityContext");
    let name = system.get("name").text();
    let forbid = |e: &mut Errors, field: &Field<'_, '_>| {
        if field.is_set() {
            e.forbidden(field, &format!("cannot be set for a {name} pod"));
        }
    };
    if name == "linux" {
        forbid(e, &context.get("windowsOptions"));
    } else if name == "windows" {
        WINDOWS_POD.iter().for_each(|field| forbid(e, &context.get(field)));
        for list in ["sysctls", "supplementalGroups"] {
            if !context.get(list).is_empty() {
                forbid(e, &context.get(list));
            }
        }
        for field in ["hostUsers", "shareProcessNamespace", "resources"] {
            forbid(e, &spec.get(field));
        }
        for field in ["hostPID", "hostIPC"] {
            if spec.get(field).is_true() {
                forbid(e, &spec.get(field));
            }
        }
    }
    for list in ["containers", "initContainers"] {
        for container in spec.get(list).items() {
            let context = container.get("securityContext");
            match name {
                "linux" => forbid(e, &context.get("windowsOptions")),
                "windows" => WINDOWS_CONTAINER.iter().for_each(|field| forbid(e, &context.get(field))),
                _ => {}
            }
        }
    }
}

/// Checks that either all containers of a pod or none of them are processes of a Windows host.
fn check_host_process(e: &mut Errors, spec: &Field<'_, '_>) {
    let of = |holder: &Field<'_, '_>| {
        let context = holder.get("securityContext");
        context.get("windowsOptions").get("hostProcess").value().as_bool()
    };
    let of_pod = of(spec);
    let (mut all, mut hosted) = (0, 0);
    for list in ["containers", "initContainers"] {
        for container in spec.get(list).items() {
            let own = of(&container);
            all += 1;
            hosted += usize::from(own.or(of_pod) == Some(true));
            if own.is_some() && of_pod.is_some() && own != of_pod {
                e.invalid(&container, "pod hostProcess value must be identical if both are specified");
            }
        }
    }
    if hosted > 0 {
        if hosted != all {
            let detail = "If pod contains any hostProcess containers then all containers must be HostProcess containers";
            e.invalid(spec, detail);
        }
        if !spec.get("hostNetwork").is_true() {
            let detail = "hostNetwork must be true if pod contains any hostProcess containers";
            e.invalid(&spec.get("hostNetwork"), detail);
        }
    }
}
