//! Users, requests and the rules of roles, as functions of values: the part of RBAC that needs no stored objects.

mod user;

mod tokens;

mod attributes;

mod rule;

mod default_roles;

mod coverage;

pub(crate) use attributes::{Attributes, ResourceAttributes};
pub(crate) use coverage::uncovered;
pub(crate) use default_roles::{DEFAULT_BINDINGS, default_role};
pub(crate) use rule::PolicyRule;
pub(crate) use tokens::TokenTable;
pub use user::User;
pub(crate) use user::service_account;
