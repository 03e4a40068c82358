//! `informer watch`: every change of resources as it happens.

mod selection;
mod relevance;
mod labels;
mod grid;
mod table;
mod json;
mod printer;
mod progress;
mod event_counts;
mod stats;
mod once;
mod files;
mod reports;
mod save_failures;
mod scope;
mod server_table;
mod session;

pub(crate) use printer::shown;
pub(crate) use session::{print_sample, run};
