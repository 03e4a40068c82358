//! The command line, as clap reads it.

mod duration;
mod size;
mod time;
mod cluster;
mod following;
mod watch;
mod top;
mod recording;
mod devserver;
mod web;
mod leases;
mod new_operator;
mod command;

pub(crate) use cluster::Cluster;
pub(crate) use command::{Cli, Command};
pub(crate) use devserver::{Devserver, seeds};
pub(crate) use duration::duration;
pub(crate) use following::{Approach, Encoding, Following, Stored};
pub(crate) use leases::Leases;
pub(crate) use new_operator::NewOperator;
pub(crate) use recording::{Changes, Diff, Get, ObjectHistory, Record, Recorded, RecordedOutput};
pub(crate) use top::{Demo, Top};
pub(crate) use watch::{Colour, Output, Watch};
pub(crate) use web::Web;
