//! The action of a request, as the rules of roles describe it.

use std::fmt;

/// An action of a user.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Attributes {
    /// A verb on objects.
    Resource(ResourceAttributes),
    /// A verb on another path.
    Path { verb: String, path: String },
}

/// A verb on objects; fields are empty where the request names nothing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct ResourceAttributes {
    pub(crate) verb: String,
    pub(crate) group: String,
    pub(crate) resource: String,
    pub(crate) subresource: String,
    pub(crate) namespace: String,
    pub(crate) name: String,
}

impl Attributes {
    /// Returns the namespace whose role bindings apply; empty for those of the cluster alone.
    pub(crate) fn namespace(&self) -> &str {
        match self {
            Self::Resource(attributes) => &attributes.namespace,
            Self::Path { .. } => "",
        }
    }
}

impl ResourceAttributes {
    /// Returns the resource with its subresource, as the rules of roles write it.
    pub(crate) fn combined(&self) -> String {
        match self.subresource.as_str() {
            "" => self.resource.clone(),
            subresource => format!("{}/{subresource}", self.resource),
        }
    }
}

/// Writes the end of the sentence "User .. cannot ..".
impl fmt::Display for Attributes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Path { verb, path } => write!(f, "{verb} path {path:?}"),
            Self::Resource(it) => {
                write!(f, "{} resource {:?} in API group {:?}", it.verb, it.combined(), it.group)?;
                match it.namespace.as_str() {
                    "" => f.write_str(" at the cluster scope"),
                    namespace => write!(f, " in the namespace {namespace:?}"),
                }
            }
        }
    }
}
