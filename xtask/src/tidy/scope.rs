//! The paths whose wording and signatures are checked: all, except those that are listed here.

/// Files and directories, relative to the repository root, whose texts are not rewritten yet.
///
/// Remove a path when its texts are rewritten: `cargo xtask tidy phrases PATH` lists the remaining hits.
pub(crate) const PENDING: [&str; 29] = [
    "crates/devserver/src/admission/review.rs",
    "crates/devserver/src/apply/oracle/random.rs",
    "crates/devserver/src/http/dispatch.rs",
    "crates/devserver/src/invalid.rs",
    "crates/devserver/src/object/defaults/mod.rs",
    "crates/devserver/src/object/name.rs",
    "crates/devserver/src/object/quantity.rs",
    "crates/devserver/src/object/rules.rs",
    "crates/devserver/src/object/tests.rs",
    "crates/devserver/src/registry/crd.rs",
    "crates/devserver/src/registry/resource.rs",
    "crates/devserver/src/storage/store.rs",
    "crates/devserver/src/structural/definition.rs",
    "crates/devserver/src/structural/mod.rs",
    "crates/devserver/src/verb/admission.rs",
    "crates/devserver/src/verb/apply.rs",
    "crates/devserver/src/verb/cluster.rs",
    "crates/devserver/src/verb/create.rs",
    "crates/devserver/src/verb/delete_collection.rs",
    "crates/devserver/src/verb/list.rs",
    "crates/devserver/src/verb/patch.rs",
    "crates/devserver/src/verb/update.rs",
    "crates/devserver/src/verb/watch.rs",
    "crates/devserver/tests/api/discovery.rs",
    "crates/devserver/tests/api/probe.rs",
    "crates/devserver/tests/api/webhooks.rs",
    "crates/leases/src/simulation/mod.rs",
    "crates/leases/src/simulation/process.rs",
    "crates/leases/src/simulation/world/mod.rs",
];

/// Returns true unless the file is, or is below, a pending path.
pub(crate) fn is_enforced(path: &str) -> bool {
    !is_listed(&PENDING, path)
}

/// Returns true if the file is, or is below, one of the paths.
fn is_listed(listed: &[&str], path: &str) -> bool {
    let is_below =
        |listed: &str| path.strip_prefix(listed).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'));
    listed.iter().copied().any(is_below)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    #[test]
    fn all_files_are_enforced_except_pending_ones() {
        assert!(is_enforced("crates/workqueue/src/lib.rs"));
        assert!(is_enforced("a/new/file.md"));
        assert!(PENDING.iter().all(|path| !is_enforced(path)));
    }

    #[test]
    fn a_listed_directory_contains_only_the_files_below_it() {
        let listed = ["crates/a/src", "docs/b.md"];
        assert!(is_listed(&listed, "crates/a/src/lib.rs"));
        assert!(is_listed(&listed, "docs/b.md"));
        assert!(!is_listed(&listed, "crates/a/srcs/lib.rs"));
        assert!(!is_listed(&listed, "docs/c.md"));
    }

    #[test]
    fn pending_paths_exist() {
        let root = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/.."));
        for path in PENDING {
            assert!(root.join(path).exists(), "{path} does not exist; remove it from PENDING");
        }
    }
}
