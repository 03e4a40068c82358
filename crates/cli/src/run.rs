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
        Some(Command::Watch(asked)) => watch::run(*asked).await,
        Some(Command::Wait(asked)) => wait::run(*asked).await,
        Some(Command::Top(asked)) => top::run(*asked).await,
        Some(Command::Web(asked)) => web::run(*asked).await,
        Some(Command::Record(asked)) => record::run(*asked).await,
        Some(Command::History(asked)) => history::versions(&asked),
        Some(Command::Changes(asked)) => history::changes(&asked),
        Some(Command::Get(asked)) => history::get(&asked),
        Some(Command::Diff(asked)) => history::diff(&asked),
        Some(Command::Demo(asked)) => demo::run(&asked).await,
        Some(Command::Leases(asked)) => leases::run(*asked).await,
        Some(Command::Devserver(asked)) => devserver::run(*asked).await,
        Some(Command::NewOperator(asked)) => new_operator::run(&asked),
        Some(Command::Completions { shell }) => Ok(shell::completions(shell, name)?),
        Some(Command::Man) => Ok(shell::man()?),
        Some(Command::Complete(asked)) => complete::run(&asked).await,
        None if io::stdout().is_terminal() && io::stdin().is_terminal() => demo::run(&Demo::default()).await,
        None => watch::glimpse().await,
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
