//! The command line, as clap reads it.

mod duration;
mod size;
mod time;
mod cluster;
mod informer_args;
mod output;
mod watch;
mod wait;
mod top;
mod web;
mod recording;
mod devserver;
mod leases;
mod new_operator;
mod complete;
mod command;

pub(crate) use cluster::Cluster;
pub(crate) use command::{Cli, Command};
pub(crate) use complete::Complete;
pub(crate) use devserver::{Controllers, Devserver, seeds};
pub(crate) use duration::duration;
pub(crate) use informer_args::{Encoding, InformerArgs, ListStrategy, StorageArg};
pub(crate) use leases::Leases;
pub(crate) use new_operator::NewOperator;
pub(crate) use output::{Column, Output, output};
pub(crate) use recording::{Changes, Diff, Get, ObjectHistory, Record, Recorded, RecordedOutput};
pub(crate) use size::size;
pub(crate) use time::{since_in, time_in};
pub(crate) use top::{Demo, Top};
pub(crate) use wait::{Condition, Limit, Wait};
pub(crate) use watch::{Colour, Columns, Watch};
pub(crate) use web::{Web, WebAccess};
