//! The properties of a request that faults select by.

use serde::{Deserialize, Serialize};

/// The verb of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Verb {
    /// Get.
    Get,
    /// List.
    List,
    /// Watch.
    Watch,
    /// Create.
    Create,
    /// Update.
    Update,
    /// Patch.
    Patch,
    /// Delete.
    Delete,
    /// Delete a collection.
    DeleteCollection,
}

/// A request before it is processed.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Call<'a> {
    /// The verb; `None` for discovery and other paths without a resource.
    pub(crate) verb: Option<Verb>,
    /// The plural name of the resource.
    pub(crate) resource: &'a str,
    /// The namespace in the path, or an empty string.
    pub(crate) namespace: &'a str,
    /// The name in the path, or an empty string.
    pub(crate) name: &'a str,
    /// The subresource; empty for the object itself.
    pub(crate) subresource: &'a str,
    /// The name of the user.
    pub(crate) user: &'a str,
    /// The header `User-Agent`.
    pub(crate) user_agent: &'a str,
    /// The query string.
    pub(crate) query: &'a str,
}

impl Verb {
    /// Returns the verb as in discovery.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Get => "get",
            Self::List => "list",
            Self::Watch => "watch",
            Self::Create => "create",
            Self::Update => "update",
            Self::Patch => "patch",
            Self::Delete => "delete",
            Self::DeleteCollection => "deletecollection",
        }
    }
}

impl Call<'_> {
    /// Returns true for a list with a continue token.
    pub(crate) fn continues(&self) -> bool {
        self.verb == Some(Verb::List) && self.has_parameter("continue", |token| !token.is_empty())
    }

    /// Returns true for a streaming list (`sendInitialEvents`).
    pub(crate) fn is_streaming_list(&self) -> bool {
        self.verb == Some(Verb::Watch)
            && self.has_parameter("sendInitialEvents", |value| value != "0" && value != "false")
    }

    /// Returns true if the client has this name: the name of its user, or the program in its `User-Agent`.
    pub(crate) fn is_of(&self, client: &str) -> bool {
        self.user == client || self.user_agent.split('/').next() == Some(client)
    }

    fn has_parameter(&self, parameter: &str, is_accepted: impl Fn(&str) -> bool) -> bool {
        let mut parameters = form_urlencoded::parse(self.query.as_bytes());
        parameters.any(|(name, value)| name == parameter && is_accepted(&value))
    }
}
