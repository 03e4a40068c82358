//! The kinds that have a protobuf encoding.

use super::{
    table::{Kind, Message, Shape, Value},
    tables::KINDS,
};
use std::fmt;

/// The minor version of Kubernetes that the tables are generated from. Fields added later are unknown.
pub const KUBERNETES_MINOR: u32 = 37;

/// The protobuf schema of a kind. Every built-in kind of Kubernetes and its list has one; custom resources have none.
///
/// ```
/// use kube_informer_wire::Schema;
///
/// assert!(Schema::of("apps/v1", "Deployment").is_some());
/// assert!(Schema::of("example.com/v1", "Widget").is_none());
/// ```
#[derive(Clone, Copy)]
pub struct Schema(&'static Kind);

/// The kinds of options for any resource.
const COMMON: [&str; 4] = ["CreateOptions", "DeleteOptions", "PatchOptions", "UpdateOptions"];

impl Schema {
    /// Returns the schema of a kind, such as `apps/v1` and `Deployment`, or `v1` and `PodList`.
    #[must_use]
    pub fn of(api_version: &str, kind: &str) -> Option<Self> {
        let order = |known: &Kind| (known.api_version, known.name).cmp(&(api_version, kind));
        match KINDS.binary_search_by(order) {
            Ok(index) => Some(Self(&KINDS[index])),
            // Every API version has these; the tables have them once.
            Err(_) if COMMON.contains(&kind) && api_version != "v1" => Self::of("v1", kind),
            Err(_) => None,
        }
    }

    /// Returns the schema of an object that the server reduced to its metadata.
    #[must_use]
    pub fn partial_object_metadata() -> Self {
        Self::of("meta.k8s.io/v1", "PartialObjectMetadata").expect("the tables contain it")
    }

    /// Returns the apiVersion, such as `apps/v1`.
    #[must_use]
    pub fn api_version(self) -> &'static str {
        self.0.api_version
    }

    /// Returns the kind, such as `Deployment`.
    #[must_use]
    pub fn kind(self) -> &'static str {
        self.0.name
    }

    pub(super) fn message(self) -> &'static Message {
        self.0.message
    }

    /// Returns the schema of the items; `None` if this is not a list.
    #[must_use]
    pub fn item(self) -> Option<Self> {
        let items =
            self.message().field(2).filter(|field| field.shape == Shape::Many && field.name == "items")?;
        let Value::Message(message) = items.value else { return None };
        let item = Self::of(self.api_version(), self.kind().strip_suffix("List")?)?;
        std::ptr::eq(item.message(), message).then_some(item)
    }
}

impl PartialEq for Schema {
    fn eq(&self, other: &Self) -> bool {
        std::ptr::eq(self.0, other.0)
    }
}

impl Eq for Schema {}

impl fmt::Debug for Schema {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Schema({} {} of {})", self.api_version(), self.kind(), self.message().name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tables_are_generated_from_the_stated_version() {
        let module = include_str!("../../../../tables/go.mod");
        assert!(module.contains(&format!("k8s.io/client-go v0.{KUBERNETES_MINOR}.")));
    }
}
