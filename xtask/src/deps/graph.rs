//! What `cargo metadata` says of all packages, ours and others'.

use std::collections::{BTreeMap, BTreeSet};
use std::process::Stdio;

use anyhow::{Context, Result, ensure};
use serde_json::Value;

use crate::process;

/// The packages of others, and which of them ours ask for.
#[derive(Debug, Default)]
pub(crate) struct Graph {
    pub(crate) packages: Vec<Package>,
    /// Each that is asked for by name, and the packages of ours that do.
    pub(crate) direct: BTreeMap<String, BTreeSet<String>>,
}

/// A package of others.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Package {
    pub(crate) name: String,
    pub(crate) version: String,
    pub(crate) licence: String,
}

/// Asks cargo, which fetches what is for other systems than this one, and so was not fetched to build.
pub(crate) fn load() -> Result<Graph> {
    let mut command = process::cargo(["metadata", "--format-version=1", "--all-features", "--locked"]);
    let output = command.stderr(Stdio::inherit()).output().context("`cargo metadata` did not start")?;
    ensure!(output.status.success(), "`cargo metadata` failed");
    Ok(read(&serde_json::from_slice(&output.stdout).context("`cargo metadata` did not print JSON")?))
}

fn read(metadata: &Value) -> Graph {
    let mut graph = Graph::default();
    for package in metadata["packages"].as_array().into_iter().flatten() {
        let name = text(&package["name"]);
        // What has no source lies in this repository.
        if !package["source"].is_null() {
            let (version, licence) = (text(&package["version"]), text(&package["license"]));
            graph.packages.push(Package { name, version, licence });
            continue;
        }
        let others = package["dependencies"].as_array().into_iter().flatten();
        for dependency in others.filter(|dependency| !dependency["source"].is_null()) {
            graph.direct.entry(text(&dependency["name"])).or_default().insert(name.clone());
        }
    }
    graph
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn ours_ask_and_others_are_held_against_the_rules() {
        let serde = json!({ "name": "serde", "source": "registry", "version": "1.0.0", "license": "MIT" });
        let asked = json!([{ "name": "serde", "source": "registry" }, { "name": "wire", "source": null }]);
        let ours = json!({ "name": "informer", "source": null, "dependencies": asked });
        let graph = read(&json!({ "packages": [serde, ours] }));
        let (name, version, licence) = ("serde".to_owned(), "1.0.0".to_owned(), "MIT".to_owned());
        assert_eq!(graph.packages, [Package { name, version, licence }]);
        assert_eq!(graph.direct, [("serde".to_owned(), ["informer".to_owned()].into())].into());
    }
}
