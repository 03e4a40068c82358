//! Objects as rows of a table, which is what `kubectl get` prints.

mod column;

mod cells;

mod pod;

mod workload;

mod kinds;

mod custom;

mod render;

#[cfg(test)]
mod tests;

pub(crate) use render::{Include, TableOptions, table};
