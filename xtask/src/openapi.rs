//! The OpenAPI schemas of the devserver, from the documents in the Go module of Kubernetes.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, anyhow, ensure};
use serde_json::Value;

use crate::go;

/// The generated file: lines of a name and a schema, compressed.
const SCHEMAS: &str = "crates/devserver/src/registry/openapi/schemas.zst";
/// The Go module whose `go.mod` has the version of Kubernetes.
const MODULE: &str = "tables/kubernetes";
/// The types that differ from group to group; no kind refers to them.
const VARYING: [&str; 2] =
    ["io.k8s.apimachinery.pkg.apis.meta.v1.DeleteOptions", "io.k8s.apimachinery.pkg.apis.meta.v1.WatchEvent"];
/// The highest level without long windows, which is a tenth smaller than the default level.
const LEVEL: i32 = 19;

/// Generates the schemas.
pub(crate) fn write() -> Result<()> {
    let go = go::find("go").context("cannot generate the OpenAPI schemas: `go` is not in the PATH")?;
    fs::write(SCHEMAS, compress(&generate(&go)?)?).with_context(|| format!("cannot write {SCHEMAS}"))?;
    println!("wrote {SCHEMAS}");
    Ok(())
}

/// Returns true if the schemas are those of the Go module. Only their text is compared: another version of zstd may compress it differently.
pub(crate) fn is_current(go: &Path) -> Result<bool> {
    let current = fs::read(SCHEMAS).with_context(|| format!("cannot read {SCHEMAS}"))?;
    let generated = generate(go)?;
    let mut text = Vec::with_capacity(generated.len());
    // A longer text does not fit, and is another one.
    Ok(zstd_safe::decompress(&mut text, &current).is_ok() && text == generated.as_bytes())
}

fn generate(go: &Path) -> Result<String> {
    let directory = documents(go)?;
    let mut schemas = BTreeMap::new();
    for entry in fs::read_dir(&directory).with_context(|| format!("cannot list {}", directory.display()))? {
        let path = entry?.path();
        let text = fs::read(&path).with_context(|| format!("cannot read {}", path.display()))?;
        let document =
            serde_json::from_slice(&text).with_context(|| format!("invalid JSON in {}", path.display()))?;
        add_schemas(&document, &mut schemas)?;
    }
    ensure!(!schemas.is_empty(), "no OpenAPI documents in {}", directory.display());
    Ok(lines(&schemas))
}

/// Returns the directory of the OpenAPI documents of Kubernetes, after downloading the module if necessary.
fn documents(go: &Path) -> Result<PathBuf> {
    let mut command = Command::new(go);
    command.args(["mod", "download", "-C", MODULE, "-json", "k8s.io/kubernetes"]);
    let output = command.output().context("cannot start go")?;
    ensure!(output.status.success(), "`go mod download` failed: {}", String::from_utf8_lossy(&output.stdout));
    let module: Value =
        serde_json::from_slice(&output.stdout).context("invalid JSON of `go mod download`")?;
    let directory = module["Dir"].as_str().context("`go mod download` printed no directory")?;
    Ok(Path::new(directory).join("api/openapi-spec/v3"))
}

fn add_schemas(document: &Value, schemas: &mut BTreeMap<String, Value>) -> Result<()> {
    for (name, schema) in document["components"]["schemas"].as_object().into_iter().flatten() {
        if VARYING.contains(&name.as_str()) {
            continue;
        }
        let first = schemas.entry(name.clone()).or_insert_with(|| schema.clone());
        ensure!(first == schema, "{name} differs between groups: add it to VARYING if no kind refers to it");
    }
    Ok(())
}

fn lines(schemas: &BTreeMap<String, Value>) -> String {
    schemas.iter().map(|(name, schema)| format!("{name} {schema}\n")).collect()
}

fn compress(text: &str) -> Result<Vec<u8>> {
    let mut compressed = Vec::with_capacity(zstd_safe::compress_bound(text.len()));
    let result = zstd_safe::compress(&mut compressed, text.as_bytes(), LEVEL);
    result.map_err(|code| anyhow!("cannot compress: {}", zstd_safe::get_error_name(code)))?;
    Ok(compressed)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn document(schemas: &Value) -> Value {
        json!({ "components": { "schemas": schemas } })
    }

    #[test]
    fn schemas_of_all_documents_are_written_once_in_order() {
        let mut schemas = BTreeMap::new();
        add_schemas(&document(&json!({ "b": { "type": "string" } })), &mut schemas).unwrap();
        add_schemas(&document(&json!({ "a": {}, "b": { "type": "string" } })), &mut schemas).unwrap();
        add_schemas(&json!({}), &mut schemas).unwrap();
        assert_eq!(lines(&schemas), "a {}\nb {\"type\":\"string\"}\n");
    }

    #[test]
    fn a_schema_that_differs_between_groups_is_an_error() {
        let mut schemas = BTreeMap::new();
        add_schemas(&document(&json!({ "a": {}, VARYING[0]: {} })), &mut schemas).unwrap();
        assert!(add_schemas(&document(&json!({ VARYING[0]: { "type": "object" } })), &mut schemas).is_ok());
        assert!(add_schemas(&document(&json!({ "a": { "type": "object" } })), &mut schemas).is_err());
    }

    #[test]
    fn compressed_text_has_its_size() {
        let compressed = compress("a {}\n").unwrap();
        assert_eq!(zstd_safe::get_frame_content_size(&compressed).ok(), Some(Some(5)));
    }
}
