//! `informer watch`: every change of resources as it happens.

mod table;
mod json;
mod printer;
mod progress;
mod told;
mod stats;
mod files;
mod once;
mod session;

pub(crate) use session::{glimpse, run};
