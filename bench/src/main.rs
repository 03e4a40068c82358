//! The benchmark program: `compare` runs it with its other subcommands, the kube-rs client and the client-go client as child processes.

mod replay;
mod kube_apiserver;
mod many_kinds;
mod informer_client;
mod components;
mod watchers;
mod compare;

use std::process::ExitCode;

use anyhow::anyhow;
use clap::{Parser, Subcommand};
use kube_informer_bench_client::options::ClientOptions;
use kube_informer_bench_client::session::ProcessStart;

/// Benchmarks of kube-informer.
#[derive(Parser)]
#[command(name = "kube-informer-bench")]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    Compare(compare::CompareOptions),
    /// Serves objects that were encoded in advance
    Replay(replay::ReplayOptions),
    /// Creates pods on a real server, and updates them
    Load(kube_apiserver::LoadOptions),
    /// Runs an informer as a client under test
    Client(ClientOptions),
    /// Runs a devserver on one thread
    Devserver(watchers::DevserverOptions),
    /// Runs informers of many kinds
    ManyKinds(many_kinds::ManyKindsOptions),
    /// Opens 100 watches on a server, and writes to it
    Watchers(watchers::WatcherOptions),
    /// Measures a component without a server
    #[command(subcommand)]
    Component(components::Component),
}

fn main() -> ExitCode {
    let start = ProcessStart::now();
    let outcome = match Cli::parse().command {
        Command::Compare(options) => compare::run(&options),
        Command::Replay(options) => replay::run(&options).map_err(|error| anyhow!(error)),
        Command::Load(options) => kube_apiserver::run(&options).map_err(|error| anyhow!(error)),
        Command::Client(options) => informer_client::run(start, &options).map_err(|error| anyhow!(error)),
        Command::Devserver(options) => watchers::serve(&options),
        Command::ManyKinds(options) => many_kinds::run(start, &options),
        Command::Watchers(options) => watchers::run(&options).map_err(|error| anyhow!(error)),
        Command::Component(component) => components::run(&component).map_err(|error| anyhow!(error)),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}
