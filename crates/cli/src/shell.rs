//! What shells and `man` want to know of the command.

use crate::args::Cli;
use clap::CommandFactory;
use std::io::{self, Write};

/// Prints the completions for a shell, for the name under which the command was called.
pub(crate) fn completions(shell: clap_complete::Shell, name: &str) -> io::Result<()> {
    let mut text = Vec::new();
    clap_complete::generate(shell, &mut Cli::command(), name, &mut text);
    io::stdout().write_all(&text)
}

/// Prints the man page, that of each subcommand below it.
pub(crate) fn man() -> io::Result<()> {
    let mut command = Cli::command();
    command.build();
    let mut text = Vec::new();
    clap_mangen::Man::new(command.clone()).render(&mut text)?;
    for subcommand in command.get_subcommands().filter(|subcommand| subcommand.get_name() != "help") {
        let title = format!("informer {}", subcommand.get_name());
        writeln!(text, ".SH {}", title.to_uppercase())?;
        let page = clap_mangen::Man::new(subcommand.clone());
        page.render_synopsis_section(&mut text)?;
        page.render_description_section(&mut text)?;
        page.render_options_section(&mut text)?;
    }
    io::stdout().write_all(&text)
}
