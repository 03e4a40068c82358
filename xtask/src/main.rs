//! The project's own commands, run as `cargo xtask <command>`.

mod tally;
mod process;
mod metadata;
mod step;
mod paint;
mod file;
mod go;
mod interop;
mod cluster;
mod bench;
mod soak;
mod arguments;
mod outcome;
mod examples;
mod simulate;
mod tables;
mod oracle;
mod tidy;
mod deps;
mod suite;
mod report;

use std::path::Path;
use std::process::ExitCode;

use anyhow::{Context, Result};

use crate::arguments::Command;
use crate::paint::Paint;
use crate::step::Step;

const USAGE: u8 = 2;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let command = match arguments::parse(&arguments) {
        Ok(command) => command,
        Err(wrong) => {
            eprintln!("error: {wrong}\n\nTry `{}`.", arguments::advice(&arguments));
            return ExitCode::from(USAGE);
        }
    };
    match perform(&command) {
        Ok(code) => code,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn perform(command: &Command) -> Result<ExitCode> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().context("xtask lies in the workspace")?;
    let start = std::env::current_dir().context("cannot read the current directory")?;
    // Cargo and the examples find the workspace from wherever this was started.
    std::env::set_current_dir(root).with_context(|| format!("cannot work in {}", root.display()))?;
    let failed = match command {
        Command::Help => {
            println!("{}", arguments::help());
            0
        }
        Command::Tables => {
            let workspace = metadata::load()?;
            tables::write(&workspace)?;
            oracle::write(&workspace)?;
            0
        }
        Command::BenchHelp => {
            println!("{}", bench::help());
            0
        }
        Command::Bench(options) => {
            bench::run(&metadata::load()?, options, &bench::EVERYONE)?;
            0
        }
        Command::BenchCompare(files) => bench::compare::run(files)?,
        Command::SoakHelp => {
            println!("{}", soak::HELP);
            0
        }
        Command::Soak(options) => usize::from(!soak::run(&metadata::load()?, options)?),
        Command::Tidy => tidy::print(root)?,
        Command::Phrases(paths) => tidy::phrases::print(&start, paths)?,
        Command::Deps => deps::print(root)?,
        Command::Cluster(arguments) => {
            cluster::run(&metadata::load()?, arguments)?;
            0
        }
        Command::Simulate(arguments) => usize::from(!simulate::run(&metadata::load()?, arguments)?),
        Command::Steps(steps) => run(steps, root),
    };
    Ok(if failed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn run(steps: &[Step], root: &Path) -> usize {
    let paint = Paint::detect();
    let outcomes = suite::run(steps, root, paint);
    println!("{}", report::summary(&outcomes, paint));
    report::total(&outcomes).failed
}
