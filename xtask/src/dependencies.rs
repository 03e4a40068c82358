//! Compares `cargo metadata` with docs/dependencies.md: reasons, licenses and duplicate versions of dependencies.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;
use std::process::Stdio;

use anyhow::{Context, Result, ensure};
use serde_json::Value;

use crate::process;

const DOCUMENT: &str = "docs/dependencies.md";
const DIRECT: &str = "Direct dependencies";
const DUPLICATES: &str = "Duplicate versions";
const LICENSES: &str = "Licenses";
const EXCEPTIONS: &str = "Exceptions";

/// The name and the last cell of each row, by heading.
type Tables = BTreeMap<String, BTreeMap<String, String>>;

/// Prints the violations, and returns their number.
pub(crate) fn print(root: &Path) -> Result<usize> {
    let text = fs::read_to_string(root.join(DOCUMENT)).with_context(|| format!("cannot read {DOCUMENT}"))?;
    let mut command = process::cargo(["metadata", "--format-version=1", "--all-features", "--locked"]);
    let output = command.stderr(Stdio::inherit()).output().context("cannot start `cargo metadata`")?;
    ensure!(output.status.success(), "`cargo metadata` failed");
    let metadata = serde_json::from_slice(&output.stdout).context("`cargo metadata` printed invalid JSON")?;
    let violations = check(&metadata, &tables(&text));
    violations.iter().for_each(|violation| println!("{DOCUMENT}: {violation}"));
    println!("dependencies: {} violations", violations.len());
    Ok(violations.len())
}

fn tables(text: &str) -> Tables {
    let (mut tables, mut heading) = (Tables::new(), "");
    for line in text.lines() {
        heading = line.strip_prefix("## ").unwrap_or(heading);
        let cells: Vec<_> = line.trim_matches('|').split('|').map(str::trim).collect();
        let name = cells[0].strip_prefix('`').and_then(|name| name.strip_suffix('`'));
        if let (Some(name), Some(last), true) = (name, cells.last(), line.starts_with('|')) {
            tables.entry(heading.to_owned()).or_default().insert(name.to_owned(), (*last).to_owned());
        }
    }
    tables
}

fn check(metadata: &Value, tables: &Tables) -> Vec<String> {
    let empty = BTreeMap::new();
    let table = |heading: &str| tables.get(heading).unwrap_or(&empty);
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let list = |value: &Value| value.as_array().cloned().unwrap_or_default();
    let mut violations = Vec::new();
    let mut direct = BTreeSet::new();
    let mut versions = BTreeMap::<String, BTreeSet<String>>::new();
    let mut exceptions = BTreeSet::new();
    for package in list(&metadata["packages"]) {
        let (name, version, license) =
            (text(&package["name"]), text(&package["version"]), text(&package["license"]));
        // Packages of this repository have no source.
        if package["source"].is_null() {
            let external = list(&package["dependencies"])
                .into_iter()
                .filter(|dependency| !dependency["source"].is_null());
            direct.extend(external.map(|dependency| text(&dependency["name"])));
            continue;
        }
        if !is_allowed(&license, table(LICENSES)) {
            match table(EXCEPTIONS).contains_key(&name) {
                true => _ = exceptions.insert(name.clone()),
                false => violations
                    .push(format!("{name} {version} has the license `{license}`, which is not allowed")),
            }
        }
        versions.entry(name).or_default().insert(version);
    }
    let duplicates =
        versions.into_iter().filter(|(_, versions)| versions.len() > 1).map(|(name, _)| name).collect();
    for (heading, needed) in [(DIRECT, direct), (DUPLICATES, duplicates), (EXCEPTIONS, exceptions)] {
        let listed: BTreeSet<_> = table(heading).keys().cloned().collect();
        violations
            .extend(needed.difference(&listed).map(|name| format!("`{name}` is missing in \"{heading}\"")));
        violations.extend(
            listed.difference(&needed).map(|name| format!("`{name}` in \"{heading}\" is not needed")),
        );
        let without_reason = table(heading).iter().filter(|(_, reason)| reason.is_empty());
        violations.extend(without_reason.map(|(name, _)| format!("`{name}` in \"{heading}\" has no reason")));
    }
    violations
}

/// Returns true if one alternative of the expression is allowed. An expression with parentheses must be listed as a whole.
fn is_allowed(expression: &str, allowed: &BTreeMap<String, String>) -> bool {
    let alternatives = expression.replace('/', " OR ");
    let is_alternative_allowed =
        |alternative: &str| alternative.split(" AND ").all(|license| allowed.contains_key(license.trim()));
    allowed.contains_key(expression) || alternatives.split(" OR ").any(is_alternative_allowed)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    const TEXT: &str = "## Direct dependencies\n| `serde` | reads |\n## Licenses\n| `MIT` | permissive |\n| `(MIT OR X) AND Y` | |\n";

    fn violations(packages: &[(&str, &str, &str)], text: &str) -> Vec<String> {
        let package = |(name, version, license): &(&str, &str, &str)| json!({ "name": name, "version": version, "license": license, "source": "registry" });
        let own = json!({ "name": "informer", "source": null, "dependencies": [
            { "name": "serde", "source": "registry" }, { "name": "wire", "source": null }] });
        let packages: Vec<_> = packages.iter().map(package).chain([own]).collect();
        check(&json!({ "packages": packages }), &tables(text))
    }

    #[test]
    fn listed_dependencies_pass() {
        assert_eq!(violations(&[("serde", "1.0.0", "MIT")], TEXT), [""; 0]);
    }

    #[test]
    fn every_direct_dependency_has_a_reason() {
        let found = violations(&[], "## Direct dependencies\n| `old` | reason |\n");
        let missing = "`serde` is missing in \"Direct dependencies\"";
        assert_eq!(found, [missing, "`old` in \"Direct dependencies\" is not needed"]);
        let found = violations(&[], "## Direct dependencies\n| `serde` | |\n");
        assert_eq!(found, ["`serde` in \"Direct dependencies\" has no reason"]);
    }

    #[test]
    fn licenses_are_allowed_for_all_packages_or_for_one() {
        let packages = [("imbl", "7.0.0", "MPL-2.0+")];
        assert_eq!(
            violations(&packages, TEXT),
            ["imbl 7.0.0 has the license `MPL-2.0+`, which is not allowed"]
        );
        let excepted = format!("{TEXT}## Exceptions\n| `imbl` | tests |\n");
        assert_eq!(violations(&packages, &excepted), [""; 0]);
        assert_eq!(violations(&[], &excepted), ["`imbl` in \"Exceptions\" is not needed"]);
    }

    #[test]
    fn one_alternative_of_a_license_expression_must_be_allowed() {
        let allowed = &tables(TEXT)["Licenses"];
        for expression in ["MIT", "GPL-3.0 OR MIT", "GPL-3.0/MIT", "MIT AND MIT", "(MIT OR X) AND Y"] {
            assert!(is_allowed(expression, allowed), "{expression}");
        }
        for expression in ["", "GPL-3.0", "MIT AND GPL-3.0", "MIT WITH exception", "(MIT OR X) AND Z"] {
            assert!(!is_allowed(expression, allowed), "{expression}");
        }
    }

    #[test]
    fn duplicate_versions_are_listed() {
        let packages = [("syn", "2.0.0", "MIT"), ("syn", "3.0.0", "MIT"), ("syn", "3.0.0", "MIT")];
        assert_eq!(violations(&packages, TEXT), ["`syn` is missing in \"Duplicate versions\""]);
        let listed = format!("{TEXT}## Duplicate versions\n| `syn` | macros |\n");
        assert_eq!(violations(&packages, &listed), [""; 0]);
        assert_eq!(violations(&packages[..1], &listed), ["`syn` in \"Duplicate versions\" is not needed"]);
    }
}
