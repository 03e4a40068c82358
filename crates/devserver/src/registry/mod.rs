//! The served resources, built-in and custom, and the discovery documents.

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
pub(crate) use resource::{Conversion, PrinterColumn, Resource};
