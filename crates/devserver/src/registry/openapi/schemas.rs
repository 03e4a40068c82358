//! The OpenAPI schemas of the built-in types, which are decompressed when they are first used.

use serde::Deserialize;
use serde_json::value::RawValue;
use std::collections::{BTreeMap, HashMap};
use std::sync::LazyLock;

/// Lines of a name and a schema as JSON, compressed with zstd. `cargo xtask tables` generates them.
const COMPRESSED: &[u8] = include_bytes!("schemas.zst");

/// The prefix of a reference from one schema to another.
pub(super) const REFERENCE: &str = "#/components/schemas/";

/// The schemas of all built-in types.
#[derive(Debug)]
pub(super) struct Schemas {
    by_name: HashMap<String, Box<RawValue>>,
    /// The names of the schemas of kinds, by group, version and kind.
    kinds: HashMap<(String, String, String), String>,
}

/// Returns the schemas of all built-in types.
pub(super) fn built_in() -> &'static Schemas {
    static SCHEMAS: LazyLock<Schemas> = LazyLock::new(|| Schemas::read(&decompress(COMPRESSED)));
    &SCHEMAS
}

fn decompress(compressed: &[u8]) -> String {
    let size = zstd_safe::get_frame_content_size(compressed).ok().flatten();
    let size = size.and_then(|size| usize::try_from(size).ok()).expect("the generator writes the size");
    let mut text = Vec::with_capacity(size);
    zstd_safe::decompress(&mut text, compressed).expect("the generator writes a complete frame");
    String::from_utf8(text).expect("the generator writes UTF-8")
}

/// The kinds that a schema describes.
#[derive(Deserialize)]
struct Kinds {
    #[serde(rename = "x-kubernetes-group-version-kind", default)]
    kinds: Vec<Kind>,
}

#[derive(Deserialize)]
struct Kind {
    group: String,
    version: String,
    kind: String,
}

impl Schemas {
    fn read(text: &str) -> Self {
        let mut schemas = Self { by_name: HashMap::new(), kinds: HashMap::new() };
        for (name, json) in text.lines().filter_map(|line| line.split_once(' ')) {
            let of: Kinds = serde_json::from_str(json).expect("the generator writes JSON");
            for Kind { group, version, kind } in of.kinds {
                schemas.kinds.insert((group, version, kind), name.to_owned());
            }
            let schema = RawValue::from_string(json.to_owned()).expect("the generator writes JSON");
            schemas.by_name.insert(name.to_owned(), schema);
        }
        schemas
    }

    /// Returns the name of the schema of a kind.
    pub(super) fn of_kind(&self, group: &str, version: &str, kind: &str) -> Option<&str> {
        let key = (group.to_owned(), version.to_owned(), kind.to_owned());
        self.kinds.get(&key).map(String::as_str)
    }

    /// Adds a schema and all that it refers to.
    pub(super) fn collect<'s>(&'s self, name: &str, found: &mut BTreeMap<String, &'s RawValue>) {
        let Some((name, schema)) = self.by_name.get_key_value(name) else { return };
        if found.insert(name.clone(), schema).is_none() {
            for name in references(schema.get()) {
                self.collect(name, found);
            }
        }
    }
}

/// Returns the names of the schemas that a schema refers to.
fn references(json: &str) -> impl Iterator<Item = &str> {
    let after = json.split(REFERENCE).skip(1);
    after.filter_map(|rest| rest.split_once('"').map(|(name, _)| name))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::registry::catalog::Registry;

    #[test]
    fn every_built_in_resource_has_a_schema() {
        let registry = Registry::new();
        for resource in registry.resources() {
            let (group, version) = (&resource.group, &resource.version);
            let name = built_in().of_kind(group, version, &resource.kind);
            assert!(name.is_some(), "{group}/{version} {}", resource.kind);
        }
    }

    #[test]
    fn every_type_that_a_resource_refers_to_has_a_schema() {
        let mut found = BTreeMap::new();
        for resource in Registry::new().resources() {
            if let Some(name) = built_in().of_kind(&resource.group, &resource.version, &resource.kind) {
                built_in().collect(name, &mut found);
            }
        }
        assert!(found.contains_key("io.k8s.api.core.v1.Container"));
        for (name, schema) in &found {
            for reference in references(schema.get()) {
                assert!(found.contains_key(reference), "{name} refers to {reference}");
            }
        }
    }
}
