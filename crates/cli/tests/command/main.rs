//! The command as a person runs it: the program itself, against a server on loopback.

mod folder;
mod server;
mod program;
mod terminal;
mod watch;
mod files;
mod errors;
mod endings;
mod devserver;
mod shell;
mod top;
