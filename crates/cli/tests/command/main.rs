//! The command as a person runs it: the program itself, against a server on loopback.

#![expect(clippy::unwrap_used, reason = "the lint sees only functions marked as tests as tests")]

mod folder;
mod save;
mod server;
mod program;
mod terminal;
mod picture;
mod watch;
mod keep;
mod files;
mod errors;
mod hostile;
mod untrusted;
mod identity;
mod endings;
mod devserver;
mod leases;
mod shell;
mod top;
mod pictures;
