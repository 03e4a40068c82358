//! The commands of this repository, run as `cargo xtask <command>`.

mod test_counts;
mod process;
mod metadata;
mod programs;
mod step;
mod report;
mod go;
mod interop;
mod kubernetes;
mod cluster;
mod proxy_faults;
mod bench;
mod examples;
mod operator;
mod package;
mod public_api;
mod simulate;
mod tables;
mod openapi;
mod oracle;
mod web;
mod tidy;
mod dependencies;
mod suite;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, Result};
use clap::{Parser, Subcommand, ValueEnum};

use crate::bench::Arguments;
use crate::kubernetes::Version;
use crate::step::Step;
use crate::suite::Environment;

/// The commands of this repository.
#[derive(Parser)]
#[command(name = "cargo xtask")]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Runs all steps, or the given ones, and prints a summary
    ///
    /// Later steps run even if one fails. The last line is `N passed, N failed`; the exit code is 0 if none failed.
    Test {
        /// The steps to run; all but `controllers` and `programs` by default.
        #[arg(value_enum)]
        steps: Vec<Step>,
        /// The version of kube-apiserver in the step `cluster`, such as 1.33 or 1.33.13; that of `cluster/go.mod` by default
        #[arg(long, value_name = "VERSION")]
        kubernetes: Option<Version>,
    },
    /// Runs format, clippy, tidy, unit tests and pipeline tests: the checks before each commit
    Check,
    /// Runs format, clippy and tidy
    Lint,
    /// Checks the layout rules and the wording
    Tidy {
        #[command(subcommand)]
        part: Option<TidyPart>,
    },
    /// Checks licenses, duplicate versions and reasons of dependencies
    Deps,
    /// Builds the packages of all published crates
    Package(package::Arguments),
    /// Lists the public items of the libraries in docs/public-api, or compares them with the lists (needs nightly)
    PublicApi(public_api::Arguments),
    /// Generates the protobuf field tables, the merge schema and the OpenAPI schemas from the Go modules of Kubernetes (needs Go)
    Tables,
    /// Measures this project, kube-rs and client-go; `bench --help` lists the options
    #[command(disable_help_flag = true)]
    Bench(Arguments),
    /// Runs many informers under load with faults; `soak --help` lists the options
    #[command(disable_help_flag = true)]
    Soak(Arguments),
    /// Runs replicas of a sharded controller as processes with faults, and checks that no key is reconciled twice at once
    LeasesSoak {
        /// The minutes of faults and calm phases
        #[arg(long, default_value_t = 10.0)]
        minutes: f64,
        /// The number of objects
        #[arg(long, default_value_t = 10_000)]
        objects: u32,
        /// The seed of the changes and faults
        #[arg(long, default_value_t = 1)]
        seed: u64,
        /// Run against kube-apiserver instead of the devserver (needs Go)
        #[arg(long)]
        cluster: bool,
    },
    /// Runs kube-apiserver and etcd until Ctrl-C (needs Go)
    ///
    /// With `--kubernetes 1.33`, or an exact version: that version instead of the one of `cluster/go.mod`.
    /// With `--devserver`: the devserver with three nodes, kube-controller-manager and kube-scheduler.
    #[command(disable_help_flag = true)]
    Cluster {
        /// The options of the cluster program, such as `-port 6443`.
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        arguments: Vec<String>,
    },
    /// Runs network faults between informers and kube-apiserver (needs Go); `proxy-faults --help` lists the options
    #[command(disable_help_flag = true)]
    ProxyFaults {
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        arguments: Vec<String>,
    },
    /// Compares the devserver with kube-apiserver by random operations (needs Go); `compare --help` lists the options
    #[command(disable_help_flag = true)]
    Compare {
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        arguments: Vec<String>,
    },
    /// Runs seeds of the simulation; `simulate --help` lists the options
    #[command(disable_help_flag = true)]
    Simulate {
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        arguments: Vec<String>,
    },
}

#[derive(Subcommand)]
enum TidyPart {
    /// Lists banned wording in files or directories, with replacements
    Phrases {
        #[arg(required = true)]
        paths: Vec<PathBuf>,
    },
}

fn main() -> ExitCode {
    match run(&Cli::parse().command) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

/// Runs a command, and returns true if it succeeded.
fn run(command: &Command) -> Result<bool> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().context("xtask is in the workspace")?;
    let start = std::env::current_dir().context("cannot read the current directory")?;
    // Cargo and the examples run in the workspace, regardless of the directory in which this was started.
    std::env::set_current_dir(root).with_context(|| format!("cannot change to {}", root.display()))?;
    match command {
        Command::Test { steps, kubernetes } => {
            let selected = match steps.as_slice() {
                [] => Step::unless_named(),
                named => Step::value_variants().iter().copied().filter(|step| named.contains(step)).collect(),
            };
            Ok(run_steps(&selected, Environment { root, kubernetes: *kubernetes }))
        }
        Command::Check => Ok(run_steps(&Step::CHECK, Environment { root, kubernetes: None })),
        Command::Lint => Ok(run_steps(&Step::LINT, Environment { root, kubernetes: None })),
        Command::Tidy { part: None } => Ok(tidy::print(root)? == 0),
        Command::Tidy { part: Some(TidyPart::Phrases { paths }) } => {
            Ok(tidy::phrases::print(&start, paths)? == 0)
        }
        Command::Deps => Ok(dependencies::print(root)? == 0),
        Command::Package(arguments) => package::run(&metadata::load()?, arguments),
        Command::PublicApi(arguments) => public_api::run(root, arguments),
        Command::Tables => {
            let workspace = metadata::load()?;
            tables::write(&workspace)?;
            oracle::write(&workspace)?;
            openapi::write()?;
            Ok(true)
        }
        Command::Bench(arguments) => bench::compare(&metadata::load()?, arguments),
        Command::Soak(arguments) => bench::soak(&metadata::load()?, arguments),
        Command::LeasesSoak { minutes, objects, seed, cluster } => {
            let mut soak = process::cargo(["test", "--workspace", "--test", "leases_processes"]);
            soak.env("LEASES_SOAK_MINUTES", minutes.to_string())
                .env("LEASES_SOAK_OBJECTS", objects.to_string())
                .env("LEASES_SOAK_SEED", seed.to_string());
            if *cluster {
                soak.env("LEASES_SOAK_CLUSTER", cluster::program(&metadata::load()?, None)?);
            }
            process::run(&mut soak)
        }
        Command::Cluster { arguments } if arguments == &["--devserver"] => {
            cluster::run_devserver(&metadata::load()?).map(|()| true)
        }
        Command::Cluster { arguments } => cluster::run(&metadata::load()?, arguments).map(|()| true),
        Command::ProxyFaults { arguments } => {
            proxy_faults::run(&metadata::load()?, "proxy-faults", arguments)
        }
        Command::Compare { arguments } => proxy_faults::run(&metadata::load()?, "compare", arguments),
        Command::Simulate { arguments } => simulate::run(&metadata::load()?, arguments),
    }
}

fn run_steps(steps: &[Step], environment: Environment<'_>) -> bool {
    let outcomes = suite::run(steps, environment);
    println!("{}", report::summary(&outcomes));
    report::total(&outcomes).failed == 0
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn the_command_line_is_consistent() {
        Cli::command().debug_assert();
    }

    #[test]
    fn programs_receive_their_own_options() {
        let cli = Cli::try_parse_from(["xtask", "cluster", "-port", "6443"]).unwrap();
        assert!(matches!(cli.command, Command::Cluster { arguments } if arguments == ["-port", "6443"]));
        let cli = Cli::try_parse_from(["xtask", "cluster", "--kubernetes", "1.33"]).unwrap();
        assert!(
            matches!(cli.command, Command::Cluster { arguments } if arguments == ["--kubernetes", "1.33"])
        );
        let cli = Cli::try_parse_from(["xtask", "test", "cluster", "--kubernetes", "1.33"]).unwrap();
        assert!(matches!(cli.command, Command::Test { kubernetes: Some(_), .. }));
        let cli = Cli::try_parse_from(["xtask", "simulate", "--help"]).unwrap();
        assert!(matches!(cli.command, Command::Simulate { arguments } if arguments == ["--help"]));
        let cli = Cli::try_parse_from(["xtask", "bench", "relist", "--quick"]).unwrap();
        assert!(
            matches!(cli.command, Command::Bench(arguments) if arguments.program == ["relist", "--quick"])
        );
    }

    #[test]
    fn only_steps_that_build_for_minutes_have_to_be_named() {
        let left_out: Vec<_> =
            Step::value_variants().iter().filter(|step| !Step::unless_named().contains(step)).collect();
        assert_eq!(left_out, [&Step::Controllers, &Step::Programs]);
    }

    #[test]
    fn unknown_steps_are_rejected_with_the_known_ones() {
        let error = Cli::try_parse_from(["xtask", "test", "unit"]).err().unwrap().to_string();
        assert!(error.contains("fmt, clippy, tidy"), "{error}");
    }
}
