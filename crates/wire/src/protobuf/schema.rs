//! The kinds that have a protobuf form.

use super::{
    table::{Kind, Message, Shape, Value},
    tables::KINDS,
};
use std::fmt;

/// The minor version of the Kubernetes whose types the tables are of: a field that came after it has no name here.
pub const KUBERNETES_MINOR: u32 = 37;

/// A kind of object of which the protobuf form is known: every built-in kind of Kubernetes, and lists of them.
///
/// Custom resources have none, and are served as JSON alone.
///
/// ```
/// use kube_informer_wire::Schema;
///
/// assert!(Schema::of("apps/v1", "Deployment").is_some());
/// assert!(Schema::of("example.com/v1", "Widget").is_none());
/// ```
#[derive(Clone, Copy)]
pub struct Schema(&'static Kind);

/// The kinds that go with requests for any resource.
const COMMON: [&str; 4] = ["CreateOptions", "DeleteOptions", "PatchOptions", "UpdateOptions"];

impl Schema {
    /// The schema of a kind, such as `apps/v1` and `Deployment`, or `v1` and `PodList`.
    #[must_use]
    pub fn of(api_version: &str, kind: &str) -> Option<Self> {
        let order = |known: &Kind| (known.api_version, known.name).cmp(&(api_version, kind));
        match KINDS.binary_search_by(order) {
            Ok(index) => Some(Self(&KINDS[index])),
            // Every version of every group has these, and the tables have them once.
            Err(_) if COMMON.contains(&kind) && api_version != "v1" => Self::of("v1", kind),
            Err(_) => None,
        }
    }

    /// The schema of an object that was reduced to its metadata by the server.
    #[must_use]
    pub fn partial() -> Self {
        Self::of("meta.k8s.io/v1", "PartialObjectMetadata").expect("the tables have it")
    }

    /// `v1`, `apps/v1` and so on.
    #[must_use]
    pub fn api_version(self) -> &'static str {
        self.0.api_version
    }

    /// `Pod`, `Deployment` and so on.
    #[must_use]
    pub fn kind(self) -> &'static str {
        self.0.name
    }

    /// Which of all kinds it is.
    pub(crate) fn number(self) -> usize {
        (std::ptr::from_ref(self.0).addr() - KINDS.as_ptr().addr()) / size_of::<Kind>()
    }

    /// The kind of this number.
    pub(crate) fn numbered(number: usize) -> Option<Self> {
        KINDS.get(number).map(Self)
    }

    pub(super) fn message(self) -> &'static Message {
        self.0.message
    }

    /// The schema of the items, if this is that of a list.
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
    fn every_kind_has_its_number() {
        for (number, kind) in KINDS.iter().enumerate() {
            let schema = Schema::of(kind.api_version, kind.name).unwrap();
            assert_eq!(schema.number(), number);
            assert_eq!(Schema::numbered(number), Some(schema));
        }
        assert_eq!(Schema::numbered(KINDS.len()), None);
    }

    #[test]
    fn the_tables_are_of_the_version_that_they_say() {
        let module = include_str!("../../../../tables/go.mod");
        assert!(module.contains(&format!("k8s.io/client-go v0.{KUBERNETES_MINOR}.")));
    }
}
