//! The paths whose wording and signatures are checked.

/// Files and directories, relative to the repository root.
///
/// Add a path when its texts are translated: `cargo xtask tidy phrases PATH` lists the remaining hits.
pub(crate) const ENFORCED: [&str; 36] = [
    "bench",
    "cluster",
    "conformance",
    "crates/folder",
    "crates/history",
    "crates/cli",
    "crates/informer",
    "crates/saved",
    "crates/wire",
    "crates/workqueue/src",
    "fuzz",
    "simulation",
    "tables",
    "xtask/src",
    "ARCHITECTURE.md",
    "CHANGELOG.md",
    "CONTRIBUTING.md",
    "README.md",
    "docs/behavior.md",
    "docs/benchmarking.md",
    "docs/cluster.md",
    "docs/command.md",
    "docs/concepts.md",
    "docs/controllers.md",
    "docs/dependencies.md",
    "docs/differences.md",
    "docs/from-client-go.md",
    "docs/from-kube-rs.md",
    "docs/fuzzing.md",
    "docs/memory.md",
    "docs/operating.md",
    "docs/performance.md",
    "docs/restarts.md",
    "docs/simulation.md",
    "docs/testing.md",
    "docs/web.md",
];

/// Returns true if the file is, or is below, an enforced path.
pub(crate) fn is_enforced(path: &str) -> bool {
    let is_below = |enforced: &str| {
        path.strip_prefix(enforced).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    };
    ENFORCED.into_iter().any(is_below)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_files_below_an_enforced_path_are_enforced() {
        assert!(is_enforced("crates/workqueue/src/lib.rs"));
        assert!(!is_enforced("crates/workqueue/srcs/lib.rs"));
        assert!(!is_enforced("docs/devserver.md"));
    }
}
