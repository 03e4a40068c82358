//! The command `informer`: follow any Kubernetes resource, and see what changes and how the cache fares.

mod args;
mod safe;
mod number;
mod paint;
mod notice;
mod trouble;
mod change;
mod kinds;
mod advice;
mod seed;
mod cluster;
mod meter;
mod follow;
mod signal;
mod watch;
mod devserver;
mod top;
mod demo;
mod shell;
mod run;

fn main() -> std::process::ExitCode {
    run::main()
}
