//! Private: comparisons with the libraries of kube-apiserver, which panic if a result differs.
//!
//! They are functions and not unit tests, so that `cargo test` needs no Go: a test target of the conformance tests calls them.

mod validation;

pub use crate::apply::oracle::{
    built_in_kinds_change_as_in_kube_apiserver, custom_resources_change_by_their_schema_as_in_kube_apiserver,
};
pub use crate::object::oracle::built_in_kinds_have_the_defaults_of_kubernetes;
pub use validation::objects_are_accepted_as_by_kube_apiserver;
