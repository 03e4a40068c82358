//! A load test: many informers of a server that is written to and fails every few seconds.
//!
//! `run` starts `server` and `clients` as child processes, which read commands from standard input, and checks the result.

mod options;
mod memory;
mod delivery_times;
mod event_state;
mod writer;
mod faults;
mod server;
mod observed_informer;
mod clients;
mod memory_trend;
mod sample;
mod verdict;
mod run;

use std::process::ExitCode;

use anyhow::anyhow;
use clap::{Parser, Subcommand};

use crate::clients::ClientOptions;
use crate::options::{Load, RunOptions};

/// Load test of kube-informer.
#[derive(Parser)]
#[command(name = "kube-informer-soak")]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    Run(RunOptions),
    /// Runs the server
    Server(Load),
    /// Runs the informers
    Clients(ClientOptions),
}

fn main() -> ExitCode {
    let outcome = match Cli::parse().command {
        Command::Run(options) => run::run(&options),
        Command::Server(load) => server::run(load).map(|()| true).map_err(|error| anyhow!(error)),
        Command::Clients(options) => clients::run(&options).map(|()| true).map_err(|error| anyhow!(error)),
    };
    match outcome {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}
