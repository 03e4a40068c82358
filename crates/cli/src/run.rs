//! Runs the subcommand of the command line.

use crate::args::{Cli, Command, Demo};
use crate::{
    cli_error, complete, demo, devserver, history, leases, new_operator, record, shell, top, wait, watch, web,
};
use clap::{CommandFactory, FromArgMatches, Parser};
use std::{
    io::{self, IsTerminal},
    path::Path,
    process::ExitCode,
};

/// The name under which kubectl finds plugins: `kubectl informer ..` runs it.
const PLUGIN: &str = "kubectl-informer";

/// Runs the command, and returns its exit code.
#[must_use]
pub fn main() -> ExitCode {
    let name = called();
    let cli = if name == PLUGIN { as_plugin() } else { Cli::parse() };
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build();
    cli_error::end(runtime.map_err(Into::into).and_then(|runtime| {
        let outcome = runtime.block_on(perform(cli, &name));
        // Requests that wait for a server do not delay the end.
        runtime.shutdown_background();
        outcome
    }))
}

async fn perform(cli: Cli, name: &str) -> anyhow::Result<()> {
    match cli.command {
        Some(Command::Watch(args)) => watch::run(*args).await,
        Some(Command::Wait(args)) => wait::run(*args).await,
        Some(Command::Top(args)) => top::run(*args).await,
        Some(Command::Web(args)) => web::run(*args).await,
        Some(Command::Record(args)) => record::run(*args).await,
        Some(Command::History(args)) => history::versions(&args),
        Some(Command::Changes(args)) => history::changes(&args),
        Some(Command::Get(args)) => history::get(&args),
        Some(Command::Diff(args)) => history::diff(&args),
        Some(Command::Demo(args)) => demo::run(&args).await,
        Some(Command::Leases(args)) => leases::run(*args).await,
        Some(Command::Devserver(args)) => devserver::run(*args).await,
        Some(Command::NewOperator(args)) => new_operator::run(&args),
        Some(Command::Completions { shell }) => Ok(shell::completions(shell, name)?),
        Some(Command::Man) => Ok(shell::man()?),
        Some(Command::Complete(args)) => complete::run(&args).await,
        None if io::stdout().is_terminal() && io::stdin().is_terminal() => demo::run(&Demo::default()).await,
        None => watch::print_sample().await,
    }
}

/// Returns the name under which the command was called, without its folder.
fn called() -> String {
    let path = std::env::args_os().next().unwrap_or_default();
    Path::new(&path).file_stem().map_or("informer".to_owned(), |name| name.to_string_lossy().into_owned())
}

/// Parses the command line; help and errors have the name of the plugin.
fn as_plugin() -> Cli {
    let command = Cli::command().bin_name("kubectl informer");
    let matches = command.get_matches();
    Cli::from_arg_matches(&matches).unwrap_or_else(|error| error.exit())
}
