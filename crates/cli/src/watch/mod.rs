//! `informer watch`: every change of resources as it happens.

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
mod session;

pub(crate) use printer::shown;
pub(crate) use session::{glimpse, run};
