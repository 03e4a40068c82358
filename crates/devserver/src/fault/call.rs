//! What a request asks for, as far as a fault cares.

use serde::{Deserialize, Serialize};

/// What a request wants to do with a resource.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Verb {
    /// Reads one object.
    Get,
    /// Reads many objects.
    List,
    /// Follows many objects.
    Watch,
    /// Makes an object.
    Create,
    /// Replaces an object.
    Update,
    /// Changes a part of an object.
    Patch,
    /// Deletes one object.
    Delete,
    /// Deletes many objects.
    DeleteCollection,
}

/// A request, before it is answered.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Call<'a> {
    /// What it wants; none for discovery and the like.
    pub(crate) verb: Option<Verb>,
    /// The plural name of the resource.
    pub(crate) resource: &'a str,
    /// The namespace that the path names; empty without one.
    pub(crate) namespace: &'a str,
    /// The object that the path names; empty without one.
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
    /// The verb as discovery writes it.
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
    /// Whether it is a list that continues another one.
    pub(crate) fn continues(&self) -> bool {
        self.verb == Some(Verb::List) && self.says("continue", |token| !token.is_empty())
    }

    /// Whether it is a watch that begins with all there is and says where that ends.
    pub(crate) fn is_streaming_list(&self) -> bool {
        self.verb == Some(Verb::Watch)
            && self.says("sendInitialEvents", |value| value != "0" && value != "false")
    }

    /// Returns whether a client of this name sends it: a user, or the program in `User-Agent`.
    pub(crate) fn is_of(&self, client: &str) -> bool {
        self.user == client || self.user_agent.split('/').next() == Some(client)
    }

    fn says(&self, parameter: &str, is_meant: impl Fn(&str) -> bool) -> bool {
        let mut parameters = form_urlencoded::parse(self.query.as_bytes());
        parameters.any(|(name, value)| name == parameter && is_meant(&value))
    }
}
