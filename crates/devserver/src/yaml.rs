//! Applies manifests: files with several objects in YAML.

use crate::http::Loopback;
use crate::registry::Resource;
use serde_json::Value;
use std::sync::Arc;

/// Reports a manifest that was not applied.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ApplyYamlError {
    /// The text is not YAML.
    #[error("invalid YAML: {0}")]
    Syntax(String),
    /// A document is not an object with `apiVersion`, `kind` and `metadata.name`.
    #[error("document {document} has no {field}")]
    Incomplete {
        /// The number of the document, from 1.
        document: usize,
        /// The field that is missing.
        field: &'static str,
    },
    /// The server does not serve the kind of a document.
    #[error(
        "document {document}: no matches for kind {kind:?} in version {api_version:?}; apply its CustomResourceDefinition first"
    )]
    UnknownKind {
        /// The number of the document, from 1.
        document: usize,
        /// The `apiVersion` of the document.
        api_version: String,
        /// The `kind` of the document.
        kind: String,
    },
    /// The server refused an object.
    #[error("document {document}: {message}")]
    Refused {
        /// The number of the document, from 1.
        document: usize,
        /// The HTTP status code.
        code: u16,
        /// The message of the server.
        message: String,
    },
}

/// Applies all documents of a text in their order; documents without contents are skipped.
pub(crate) async fn apply(client: &Loopback, text: &str) -> Result<Vec<Value>, ApplyYamlError> {
    let documents: Vec<Value> =
        serde_saphyr::from_multiple(text).map_err(|error| ApplyYamlError::Syntax(error.to_string()))?;
    let mut applied = Vec::new();
    for (index, object) in documents.into_iter().enumerate().filter(|(_, object)| !object.is_null()) {
        let document = index + 1;
        let path = path(client, &object, document)?;
        let reply = client.apply(&path, &object).await;
        if let Some(message) = reply.refusal() {
            return Err(ApplyYamlError::Refused { document, code: reply.code, message });
        }
        applied.push(reply.body);
    }
    Ok(applied)
}

fn path(client: &Loopback, object: &Value, document: usize) -> Result<String, ApplyYamlError> {
    let text = |pointer: &str, field: &'static str| {
        let found = object.pointer(pointer).and_then(Value::as_str).filter(|text| !text.is_empty());
        found.ok_or(ApplyYamlError::Incomplete { document, field })
    };
    let api_version = text("/apiVersion", "apiVersion")?;
    let (kind, name) = (text("/kind", "kind")?, text("/metadata/name", "metadata.name")?);
    let registry = client.gateway().cluster.registry();
    let is_meant = |one: &&Arc<Resource>| one.kind == kind && one.api_version() == api_version;
    let resource = registry.resources().find(is_meant).ok_or_else(|| ApplyYamlError::UnknownKind {
        document,
        api_version: api_version.to_owned(),
        kind: kind.to_owned(),
    })?;
    let root = if resource.group.is_empty() { "/api" } else { "/apis" };
    let plural = &resource.plural;
    Ok(match resource.is_namespaced() {
        true => {
            let namespace = text("/metadata/namespace", "metadata.namespace").unwrap_or("default");
            format!("{root}/{api_version}/namespaces/{namespace}/{plural}/{name}")
        }
        false => format!("{root}/{api_version}/{plural}/{name}"),
    })
}
