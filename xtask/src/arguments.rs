//! The command line: which command is meant, or what is wrong with it.

use std::fmt::Write;
use std::path::PathBuf;

use crate::bench;
use crate::soak;
use crate::step::Step;

/// What the user asks for.
#[derive(Debug, PartialEq)]
pub(crate) enum Command {
    /// Run these steps and sum up.
    Steps(Vec<Step>),
    Tidy,
    /// List the wording to replace below these paths.
    Phrases(Vec<PathBuf>),
    /// Check licences, duplicates and reasons.
    Deps,
    /// Write the field tables anew.
    Tables,
    /// Measure this project beside its peers.
    Bench(bench::Options),
    /// How far apart runs of it are.
    BenchCompare(Vec<PathBuf>),
    BenchHelp,
    /// Many informers under load for a long time.
    Soak(soak::Options),
    SoakHelp,
    /// Run a cluster, with these arguments for its program.
    Cluster(Vec<String>),
    /// Run seeds of the simulation, with these arguments for its program.
    Simulate(Vec<String>),
    Help,
}

/// Reads the arguments after the program's name.
///
/// # Errors
/// The text to show when a command or step is unknown; it names those there are.
pub(crate) fn parse(arguments: &[String]) -> Result<Command, String> {
    let Some((command, rest)) = arguments.split_first() else {
        return Err(format!("no command given; {}", commands()));
    };
    if command == "simulate" {
        return Ok(Command::Simulate(rest.to_vec()));
    }
    if arguments.iter().any(|argument| argument == "--help" || argument == "-h") {
        return Ok(match command.as_str() {
            "bench" => Command::BenchHelp,
            "soak" => Command::SoakHelp,
            _ => Command::Help,
        });
    }
    match command.as_str() {
        "help" => Ok(Command::Help),
        "test" if rest.is_empty() => Ok(Command::Steps(Step::ALL.to_vec())),
        "test" => steps(rest).map(Command::Steps),
        "lint" => alone(command, rest).map(|()| Command::Steps(Step::LINT.to_vec())),
        "tidy" if rest.first().is_some_and(|first| first == "phrases") => phrases(&rest[1..]),
        "tidy" => alone(command, rest).map(|()| Command::Tidy),
        "deps" => alone(command, rest).map(|()| Command::Deps),
        "tables" => alone(command, rest).map(|()| Command::Tables),
        "bench" if rest.first().is_some_and(|first| first == "compare") => compare(&rest[1..]),
        "bench" => bench::parse(rest).map(Command::Bench),
        "soak" => soak::parse(rest).map(Command::Soak),
        "cluster" => Ok(Command::Cluster(rest.to_vec())),
        unknown => Err(format!("unknown command `{unknown}`; {}", commands())),
    }
}

/// The command that explains what was typed wrong.
pub(crate) fn advice(arguments: &[String]) -> &'static str {
    match arguments.first().map(String::as_str) {
        Some("bench") => "cargo xtask bench --help",
        Some("soak") => "cargo xtask soak --help",
        _ => "cargo xtask help",
    }
}

/// The text of `cargo xtask help`.
pub(crate) fn help() -> String {
    let mut text = "\
The project's own commands.

Usage: cargo xtask <command>

  test [step..]  run every step below, or only the named ones, and sum up
  lint           the same as `test fmt clippy tidy`
  tidy           check the layout rules, each violation on a line of its own
  tidy phrases PATH..  list the wording to replace in files or directories, with suggestions
  deps           check the licences of dependencies, their versions, and that each has a reason
  tables         write the field tables of the wire crate and the merge schema of the devserver anew (needs Go)
  bench [..]     measure this project beside kube-rs and client-go; `bench --help` says how
  soak [..]      many informers under load for a long time, with faults; `soak --help` says how
  cluster [..]   run a kube-apiserver with etcd until Ctrl-C (needs Go); `-port 6443` and other options are its own
  simulate [..]  run seeds of the simulation; `simulate --help` says how
  help           print this text

Steps of `test`; they run in this order, and go on after one that fails:
"
    .to_owned();
    for step in Step::ALL {
        writeln!(text, "  {:<13}  {}", step.name(), step.about()).expect("a string takes any text");
    }
    text.push_str(
        "\nThe last line of `test` and `lint` is `N passed, N failed`; exit code 0 means none failed.",
    );
    text
}

fn phrases(paths: &[String]) -> Result<Command, String> {
    if paths.is_empty() {
        return Err("`tidy phrases` needs a file or directory at least".to_owned());
    }
    Ok(Command::Phrases(paths.iter().map(PathBuf::from).collect()))
}

fn compare(files: &[String]) -> Result<Command, String> {
    match files.len() {
        0 | 1 => Err("`bench compare` needs two files of `--json` at least".to_owned()),
        _ => Ok(Command::BenchCompare(files.iter().map(PathBuf::from).collect())),
    }
}

fn steps(names: &[String]) -> Result<Vec<Step>, String> {
    let named: Vec<_> = names.iter().map(|name| step(name)).collect::<Result<_, _>>()?;
    Ok(Step::ALL.into_iter().filter(|step| named.contains(step)).collect())
}

fn step(name: &str) -> Result<Step, String> {
    Step::named(name).ok_or_else(|| {
        let known = Step::ALL.map(Step::name).join(", ");
        format!("unknown step `{name}`; the steps of `test` are {known}")
    })
}

fn alone(command: &str, rest: &[String]) -> Result<(), String> {
    match rest.first() {
        None => Ok(()),
        Some(extra) => Err(format!("`{command}` takes no arguments, but was given `{extra}`")),
    }
}

fn commands() -> &'static str {
    "the commands are test, lint, tidy, deps, tables, bench, soak, cluster, simulate and help"
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(line: &str) -> Result<Command, String> {
        parse(&line.split_whitespace().map(str::to_owned).collect::<Vec<_>>())
    }

    #[test]
    fn naming_no_step_means_every_step() {
        assert_eq!(parsed("test"), Ok(Command::Steps(Step::ALL.to_vec())));
    }

    #[test]
    fn named_steps_run_once_and_in_their_order() {
        assert_eq!(parsed("test docs fmt docs"), Ok(Command::Steps(vec![Step::Fmt, Step::Docs])));
    }

    #[test]
    fn a_cluster_gets_the_arguments_that_are_meant_for_it() {
        let arguments = vec!["-port".to_owned(), "6443".to_owned()];
        assert_eq!(parsed("cluster -port 6443"), Ok(Command::Cluster(arguments)));
    }

    #[test]
    fn the_simulation_reads_its_own_options() {
        let arguments = |line: &str| line.split_whitespace().map(str::to_owned).collect();
        for line in ["", "--seeds 5 --from 7", "--help"] {
            assert_eq!(parsed(&format!("simulate {line}")), Ok(Command::Simulate(arguments(line))));
        }
    }

    #[test]
    fn help_is_had_in_every_usual_way() {
        for line in ["help", "--help", "-h", "test --help", "lint -h"] {
            assert_eq!(parsed(line), Ok(Command::Help), "{line}");
        }
    }

    #[test]
    fn what_has_options_of_its_own_explains_them() {
        assert_eq!(parsed("bench --help"), Ok(Command::BenchHelp));
        assert_eq!(parsed("soak --minutes 3 --help"), Ok(Command::SoakHelp));
        for (line, wanted) in [
            ("bench --wrong", "cargo xtask bench --help"),
            ("soak --wrong", "cargo xtask soak --help"),
            ("tset", "cargo xtask help"),
        ] {
            let arguments: Vec<_> = line.split_whitespace().map(str::to_owned).collect();
            assert!(parse(&arguments).is_err(), "{line}");
            assert_eq!(advice(&arguments), wanted);
        }
    }

    #[test]
    fn runs_are_compared_with_each_other() {
        let files = ["a.json", "b.json"].map(PathBuf::from).to_vec();
        assert_eq!(parsed("bench compare a.json b.json"), Ok(Command::BenchCompare(files)));
        assert!(parsed("bench compare a.json").unwrap_err().contains("needs two files"));
    }

    #[test]
    fn phrases_are_listed_for_any_path() {
        assert!(parsed("tidy phrases").unwrap_err().contains("needs a file or directory"));
        assert_eq!(parsed("tidy phrases docs"), Ok(Command::Phrases(vec![PathBuf::from("docs")])));
    }

    #[test]
    fn help_names_every_step() {
        assert!(Step::ALL.iter().all(|step| help().contains(step.about())));
    }

    #[test]
    fn mistakes_are_named_with_the_choices() {
        for (line, wanted) in [
            ("", "no command given; the commands are"),
            (
                "tset",
                "unknown command `tset`; the commands are test, lint, tidy, deps, tables, bench, soak, cluster, simulate and help",
            ),
            ("test unit", "unknown step `unit`; the steps of `test` are fmt, clippy"),
            ("tidy crates", "`tidy` takes no arguments, but was given `crates`"),
        ] {
            let said = parsed(line).unwrap_err();
            assert!(said.starts_with(wanted), "{said}");
        }
    }
}
