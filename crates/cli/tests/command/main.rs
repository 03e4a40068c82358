//! The command as a person runs it: the program itself, against a server on loopback.

#![expect(clippy::unwrap_used, reason = "the lint sees only functions marked as tests as tests")]

mod folder;
mod save;
mod server;
mod program;
mod terminal;
mod picture;
mod watch;
mod output;
mod wait;
mod contexts;
mod keep;
mod files;
mod errors;
mod route;
mod hostile;
mod untrusted;
mod identity;
mod endings;
mod devserver;
mod recorder;
mod record;
mod recorded;
mod past;
mod leases;
mod shell;
mod new_operator;
mod top;
mod pictures;
