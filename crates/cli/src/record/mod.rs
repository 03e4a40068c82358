//! `informer record`: records every change of a cluster into a folder.

mod selection;
mod status;
mod endpoints;
mod notices;
mod session;

pub(crate) use session::run;
