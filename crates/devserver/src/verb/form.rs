//! The representations of objects: complete, metadata only, or as rows of a table.

use crate::format::{Include, TableOptions, table};
use crate::object::convert;
use crate::registry::Resource;
use crate::storage::{Part, Record, head};
use crate::verb::clock::clock;
use jiff::Timestamp;
use kube_core::TypeMeta;
use serde_json::Value;
use std::sync::Arc;

/// The requested representation of objects.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub(crate) enum Representation {
    /// Complete objects.
    #[default]
    Whole,
    /// `as=PartialObjectMetadata`.
    Metadata,
    /// `as=Table`.
    Table,
}

/// The encoding of responses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub(crate) enum Encoding {
    #[default]
    Json,
    Protobuf,
}

/// Encodes objects of a resource in one representation.
#[derive(Clone, Debug)]
pub(crate) struct ObjectEncoder {
    resource: Arc<Resource>,
    form: Representation,
    include: Include,
    head: String,
    /// The time to which ages are relative; `None` for the current time.
    past: Option<Timestamp>,
}

const META: &str = "meta.k8s.io/v1";

impl ObjectEncoder {
    /// Creates the encoder of single objects; `include` is the parameter `includeObject` of tables.
    pub(crate) fn new(resource: &Arc<Resource>, form: Representation, include: Option<&str>) -> Self {
        let head = match form {
            Representation::Whole | Representation::Table => head(&resource.api_version(), &resource.kind),
            Representation::Metadata => head(META, "PartialObjectMetadata"),
        };
        let include = match include {
            Some("None") => Include::None,
            Some("Object") => Include::Object,
            Some(_) | None => Include::Metadata,
        };
        Self { resource: Arc::clone(resource), form, include, head, past: None }
    }

    /// Sets the time to which ages are relative.
    pub(crate) fn at(self, past: Option<Timestamp>) -> Self {
        Self { past, ..self }
    }

    /// Returns the encoder of list items, which omits the types of built-in objects, as kube-apiserver does.
    pub(crate) fn items(self) -> Self {
        match (self.form, self.resource.is_custom()) {
            (Representation::Whole, false) => Self { head: "{".to_owned(), ..self },
            (Representation::Whole, true) | (Representation::Metadata | Representation::Table, _) => self,
        }
    }

    pub(crate) fn form(&self) -> Representation {
        self.form
    }

    /// Returns the `apiVersion` and `kind` of a list.
    pub(crate) fn list_types(&self) -> TypeMeta {
        match self.form {
            Representation::Whole => types(&self.resource.api_version(), &self.resource.list_kind),
            Representation::Metadata => types(META, "PartialObjectMetadataList"),
            Representation::Table => types(META, "Table"),
        }
    }

    /// Returns the `apiVersion` and `kind` of an object.
    pub(crate) fn types(&self) -> TypeMeta {
        match self.form {
            Representation::Whole => types(&self.resource.api_version(), &self.resource.kind),
            Representation::Metadata => types(META, "PartialObjectMetadata"),
            Representation::Table => types(META, "Table"),
        }
    }

    pub(crate) fn append(&self, record: &Record, out: &mut Vec<u8>) {
        match self.form {
            Representation::Whole if self.resource.storage_schema.is_some() => {
                let mut object = record.to_value(&self.head);
                convert(&self.resource, &mut object);
                out.extend_from_slice(object.to_string().as_bytes());
            }
            Representation::Whole => record.write(&self.head, Part::Whole, out),
            Representation::Metadata => record.write(&self.head, Part::Metadata, out),
            Representation::Table => {
                out.extend_from_slice(self.table(std::slice::from_ref(record)).to_string().as_bytes())
            }
        }
    }

    /// Returns the objects as a table.
    pub(crate) fn table(&self, records: &[Record]) -> Value {
        let objects: Vec<_> = records.iter().map(|record| record.to_value(&self.head)).collect();
        let options = TableOptions { now: self.past.unwrap_or_else(clock), include: self.include };
        table(&self.resource, &objects, &options)
    }

    pub(crate) fn size(&self, record: &Record) -> usize {
        match self.form {
            Representation::Whole => record.size(Part::Whole),
            Representation::Metadata => record.size(Part::Metadata),
            Representation::Table => 0,
        }
    }
}

fn types(api_version: &str, kind: &str) -> TypeMeta {
    TypeMeta { api_version: api_version.to_owned(), kind: kind.to_owned() }
}
