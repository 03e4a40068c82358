//! `informer watch`: every change of resources as it happens.

mod selection;
mod relevance;
mod labels;
mod grid;
mod table;
mod json;
mod printer;
mod progress;
mod told;
mod stats;
mod once;
mod files;
mod reports;
mod saving;
mod scope;
mod server_table;
mod session;

pub(crate) use printer::shown;
pub(crate) use session::{glimpse, run};
