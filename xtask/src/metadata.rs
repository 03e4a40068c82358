//! The examples and model-checked tests of the workspace, from `cargo metadata`.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::process::Stdio;

use anyhow::{Context, Result, ensure};
use serde_json::Value;

use crate::process;

/// The feature that replaces locks and tasks by those of the model checker.
pub(crate) const MODEL_FEATURE: &str = "__model";

/// The packages of this repository, reduced to the needs of the steps.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Workspace {
    pub(crate) target: PathBuf,
    pub(crate) examples: Vec<Example>,
    pub(crate) models: Vec<Model>,
    /// The test targets that need programs, and so run only if they are named.
    pub(crate) named_tests: BTreeSet<String>,
    /// The names of the crates that are published.
    pub(crate) published: Vec<String>,
}

/// A program under `examples/`.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Example {
    pub(crate) package: String,
    pub(crate) name: String,
    pub(crate) features: Vec<String>,
}

/// A package with concurrency tests that run under a model checker.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Model {
    pub(crate) package: String,
    /// The test targets that require the feature; the other tests do not run under the model checker.
    pub(crate) tests: Vec<String>,
}

/// Runs `cargo metadata`.
pub(crate) fn load() -> Result<Workspace> {
    let mut command = process::cargo(["metadata", "--format-version=1", "--no-deps"]);
    let output = command.stderr(Stdio::inherit()).output().context("cannot start `cargo metadata`")?;
    ensure!(output.status.success(), "`cargo metadata` failed");
    Ok(read(&serde_json::from_slice(&output.stdout).context("`cargo metadata` printed invalid JSON")?))
}

fn read(metadata: &Value) -> Workspace {
    let mut workspace = Workspace {
        target: text(&metadata["target_directory"]).into(),
        examples: vec![],
        models: vec![],
        named_tests: BTreeSet::new(),
        published: vec![],
    };
    for package in list(&metadata["packages"]) {
        // An empty list of registries is `publish = false`.
        if package["publish"].is_null() {
            workspace.published.push(text(&package["name"]));
        }
        workspace.examples.extend(examples(package));
        workspace.models.extend(model(package));
        workspace.named_tests.extend(named_tests(package));
    }
    workspace
}

fn examples(package: &Value) -> impl Iterator<Item = Example> {
    let programs = list(&package["targets"]).iter().filter(|target| is_kind(target, "example"));
    programs.map(|target| Example {
        package: text(&package["name"]),
        name: text(&target["name"]),
        features: texts(&target["required-features"]),
    })
}

fn model(package: &Value) -> Option<Model> {
    package["features"].get(MODEL_FEATURE)?;
    let tests = list(&package["targets"]).iter().filter(|target| is_kind(target, "test"));
    let modelled = tests.filter(|test| texts(&test["required-features"]).iter().any(|f| f == MODEL_FEATURE));
    Some(Model { package: text(&package["name"]), tests: modelled.map(|test| text(&test["name"])).collect() })
}

fn named_tests(package: &Value) -> impl Iterator<Item = String> {
    let tests = list(&package["targets"]).iter().filter(|target| is_kind(target, "test"));
    tests.filter(|target| target["test"] == false).map(|target| text(&target["name"]))
}

fn is_kind(target: &Value, kind: &str) -> bool {
    texts(&target["kind"]).iter().any(|k| k == kind)
}

fn list(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

fn texts(value: &Value) -> Vec<String> {
    list(value).iter().map(text).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn workspace(features: &Value, targets: &Value) -> Workspace {
        let package = json!({ "name": "queue", "features": features, "targets": targets });
        read(&json!({ "target_directory": "/tmp/target", "packages": [package] }))
    }

    #[test]
    fn finds_examples_with_the_features_they_need() {
        let targets = json!([
            { "name": "queue", "kind": ["lib"] },
            { "name": "watch", "kind": ["example"], "required-features": ["tls"] },
        ]);
        let found = workspace(&json!({}), &targets);
        let (package, name, features) = ("queue".into(), "watch".into(), vec!["tls".into()]);
        assert_eq!(found.examples, [Example { package, name, features }]);
        assert_eq!(found.models, []);
    }

    #[test]
    fn finds_published_crates() {
        let packages = json!([{ "name": "queue", "publish": null }, { "name": "bench", "publish": [] }]);
        let found = read(&json!({ "target_directory": "/tmp/target", "packages": packages }));
        assert_eq!(found.published, ["queue"]);
    }

    #[test]
    fn finds_tests_that_run_only_if_they_are_named() {
        let targets = json!([
            { "name": "plain", "kind": ["test"], "test": true },
            { "name": "interop", "kind": ["test"], "test": false },
            { "name": "watch", "kind": ["example"], "test": false },
        ]);
        assert_eq!(workspace(&json!({}), &targets).named_tests, ["interop".to_owned()].into());
    }

    #[test]
    fn finds_tests_that_require_the_model() {
        let targets = json!([
            { "name": "plain", "kind": ["test"] },
            { "name": "model", "kind": ["test"], "required-features": ["__model"] },
        ]);
        let found = workspace(&json!({ "__model": [] }), &targets);
        assert_eq!(found.models, [Model { package: "queue".into(), tests: vec!["model".into()] }]);
    }
}
