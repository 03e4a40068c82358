//! What is served: built-in resources, resources that definitions add, and the documents that tell of them.

mod resource;

mod builtin;

mod crd;

mod catalog;

pub(crate) mod discovery;

pub(crate) mod openapi;

#[cfg(test)]
mod tests;

pub(crate) use catalog::Registry;
pub(crate) use crd::{definition_errors, establish};
pub(crate) use resource::{PrinterColumn, Resource};
