//! The crates depend on one another in one direction.

use crate::tidy::tree::{SourceFile, Tree};
use crate::tidy::violation::Violation;

const RULE: &str = "crates";

/// The directory of each crate, and the crates of this repository that it may use.
const MAY_USE: [(&str, &[&str]); 17] = [
    ("crates/wire", &[]),
    ("crates/folder", &[]),
    ("crates/saved", &["crates/wire", "crates/folder"]),
    ("crates/history", &["crates/wire", "crates/folder"]),
    ("crates/workqueue", &[]),
    ("crates/leases", &[]),
    (
        "crates/informer",
        &["crates/wire", "crates/saved", "crates/history", "crates/workqueue", "crates/leases"],
    ),
    ("crates/devserver", &["crates/wire", "crates/folder", "crates/history"]),
    (
        "crates/cli",
        &["crates/informer", "crates/devserver", "crates/history", "crates/wire", "crates/leases"],
    ),
    // The only crate that the kube-rs client of the benchmarks uses.
    ("bench/client", &[]),
    (
        "bench",
        &[
            "bench/client",
            "crates/wire",
            "crates/saved",
            "crates/workqueue",
            "crates/informer",
            "crates/devserver",
        ],
    ),
    ("bench/soak", &["bench/client", "crates/informer", "crates/devserver"]),
    ("conformance", &["crates/wire", "crates/history", "crates/informer", "crates/devserver"]),
    ("testkit", &[]),
    ("fuzz", &["crates/wire", "crates/saved", "crates/history", "crates/cli", "testkit"]),
    ("simulation", &["crates/wire", "crates/informer", "crates/devserver", "testkit"]),
    ("xtask", &[]),
];

/// The crates that tests and examples of every crate may use too.
const TESTS_MAY_USE: [&str; 2] = ["crates/devserver", "testkit"];

/// A dependency in a manifest.
struct Dependency<'a> {
    package: &'a str,
    line: usize,
    is_dev: bool,
}

pub(crate) fn check(tree: &Tree<'_>) -> Vec<Violation> {
    let manifests: Vec<_> = tree.files.iter().filter_map(|file| Some((directory(file)?, file))).collect();
    let directory_of = |package: &str| {
        let found = manifests.iter().find(|(_, file)| package_name(&file.text) == Some(package));
        found.map(|(directory, _)| *directory)
    };
    let mut violations = Vec::new();
    for &(directory, file) in &manifests {
        let Some((owner, may_use)) = MAY_USE.iter().find(|(known, _)| is_below(directory, known)) else {
            violations.push(unknown(file));
            continue;
        };
        for dependency in dependencies(&file.text) {
            let Some(used) = directory_of(dependency.package) else { continue };
            // A crate in a subdirectory of another one may use it.
            let is_allowed = used == *owner
                || may_use.contains(&used)
                || dependency.is_dev && TESTS_MAY_USE.contains(&used);
            if !is_allowed {
                violations.push(backward(file, &dependency, used));
            }
        }
    }
    violations
}

/// Returns the directory of a crate; `None` for the manifest of the workspace.
fn directory(file: &SourceFile) -> Option<&str> {
    file.path.strip_suffix("/Cargo.toml")
}

fn is_below(directory: &str, known: &str) -> bool {
    directory.strip_prefix(known).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

fn unknown(file: &SourceFile) -> Violation {
    Violation {
        file: file.path.clone(),
        line: 1,
        rule: RULE,
        problem: "this crate is not in the order of crates".to_owned(),
        fix: "add it to `MAY_USE` in xtask/src/tidy/crates.rs and to ARCHITECTURE.md".to_owned(),
    }
}

fn backward(file: &SourceFile, dependency: &Dependency<'_>, used: &str) -> Violation {
    Violation {
        file: file.path.clone(),
        line: dependency.line,
        rule: RULE,
        problem: format!(
            "`{}` in {used} is not among the crates that this crate may use",
            dependency.package
        ),
        fix: "move the common code into a crate below both; the order is in xtask/src/tidy/crates.rs"
            .to_owned(),
    }
}

fn package_name(manifest: &str) -> Option<&str> {
    let package = manifest.lines().map(str::trim).skip_while(|line| *line != "[package]").skip(1);
    package.take_while(|line| !line.starts_with('[')).find_map(|line| value_of(line, "name"))
}

/// Returns the dependencies of a manifest by their package names.
fn dependencies(manifest: &str) -> Vec<Dependency<'_>> {
    let mut found = Vec::new();
    let mut section = "";
    for (index, line) in manifest.lines().enumerate() {
        let line = line.trim();
        if let Some(name) = line.strip_prefix('[') {
            section = name.trim_end_matches(']');
        }
        let is_dev = section.contains("dev-dependencies");
        let package = match section.rsplit_once("dependencies") {
            Some((_, "")) => renamed(line).or_else(|| key(line)),
            Some((_, name)) if line.starts_with('[') => name.strip_prefix('.'),
            Some(_) => value_of(line, "package"),
            None => None,
        };
        found.extend(package.map(|package| Dependency { package, line: index + 1, is_dev }));
    }
    found
}

/// Returns the name before `=`, without `.workspace`.
fn key(line: &str) -> Option<&str> {
    let (key, _) = line.split_once('=').filter(|_| !line.starts_with(['[', '#']))?;
    key.trim().split('.').next()
}

/// Returns the package of `name = { package = "..", .. }`.
fn renamed(line: &str) -> Option<&str> {
    let (_, table) = line.split_once('{').filter(|_| !line.starts_with('#'))?;
    table.split(',').find_map(|entry| value_of(entry, "package"))
}

/// Returns the text of `key = "text"`.
fn value_of<'a>(entry: &'a str, key: &str) -> Option<&'a str> {
    let value = entry.trim().strip_prefix(key)?.trim_start().strip_prefix('=')?;
    value.split('"').nth(1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::tree::found;

    /// Returns the violations of a manifest of `crates/informer`.
    fn problem(dependencies: &str) -> Vec<String> {
        let manifest = format!("[package]\nname = \"kube-informer\"\n{dependencies}");
        found(
            check,
            &[
                ("Cargo.toml", "[workspace.dependencies]\nkube-cli = \"1\""),
                ("crates/wire/Cargo.toml", "[package]\nname = \"kube-informer-wire\""),
                ("crates/devserver/Cargo.toml", "[package]\nname = \"kube-devserver\""),
                ("crates/cli/Cargo.toml", "[package]\nname = \"kube-cli\""),
                ("crates/informer/Cargo.toml", &manifest),
            ],
        )
    }

    fn outside(line: usize, package: &str, directory: &str) -> [String; 1] {
        let at = format!("crates/informer/Cargo.toml:{line}: crates");
        [format!("{at}: `{package}` in {directory} is not among the crates that this crate may use")]
    }

    #[test]
    fn crates_below_may_be_used() {
        let manifest =
            "[dependencies]\nkube-informer-wire.workspace = true\nserde = \"1\"\n# kube-cli = \"1\"";
        assert_eq!(problem(manifest), [""; 0]);
    }

    #[test]
    fn tests_may_use_the_devserver() {
        assert_eq!(problem("[dev-dependencies]\nkube-devserver.workspace = true"), [""; 0]);
        let manifest = "[dependencies]\nkube-devserver = { path = \"../devserver\" }";
        assert_eq!(problem(manifest), outside(4, "kube-devserver", "crates/devserver"));
    }

    #[test]
    fn back_edges_are_caught_in_every_spelling() {
        let expected = |line| outside(line, "kube-cli", "crates/cli");
        assert_eq!(problem("[dependencies]\nkube-cli = \"1\""), expected(4));
        assert_eq!(problem("[dependencies.kube-cli]\nversion = \"1\""), expected(3));
        assert_eq!(problem("[dependencies.cli]\npackage = \"kube-cli\""), expected(4));
        assert_eq!(
            problem("[dev-dependencies]\ncli = { version = \"1\", package = \"kube-cli\" }"),
            expected(4)
        );
        assert_eq!(problem("[target.'cfg(unix)'.build-dependencies]\nkube-cli = \"1\""), expected(4));
    }

    #[test]
    fn an_unknown_crate_is_caught() {
        let problem = "crates/extra/Cargo.toml:1: crates: this crate is not in the order of crates";
        assert_eq!(found(check, &[("crates/extra/Cargo.toml", "[package]\nname = \"extra\"")]), [problem]);
    }
}
