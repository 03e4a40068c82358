//! Load for a long time: a server that is written to and misbehaves, and many informers that follow it.
//!
//! They are two programs in one, `server` and `clients`. Each says a line of JSON when it is ready, then takes orders on
//! standard input, one a line, and answers each with a line. `cargo xtask soak` gives the orders and judges.

mod options;
mod memory;
mod histogram;
mod moments;
mod fold;
mod writer;
mod faults;
mod server;
mod followed;
mod clients;

use std::process::ExitCode;

const USAGE: &str = "usage: kube-informer-soak server [--informers N] [--objects N] [--rate N]
       kube-informer-soak clients --kubeconfig FILE [--informers N] [--waits short|default]";

fn main() -> ExitCode {
    let mut arguments = std::env::args().skip(1);
    let outcome = match arguments.next().as_deref() {
        Some("server") => server::run(arguments),
        Some("clients") => clients::run(arguments),
        _ => Err(USAGE.to_owned()),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(wrong) => {
            eprintln!("kube-informer-soak: {wrong}");
            ExitCode::FAILURE
        }
    }
}
