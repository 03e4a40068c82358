//! The command line.

use std::{num::NonZeroUsize, thread::available_parallelism};

/// A command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Command {
    /// Prints [`HELP`].
    Help,
    /// Runs seeds.
    Run(Seeds),
    /// Runs one seed and prints its log.
    Replay(u64),
}

/// The seeds to run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Seeds {
    /// The first seed.
    pub from: u64,
    /// The number of seeds.
    pub count: u64,
    /// The number of threads.
    pub jobs: usize,
}

/// The default number of seeds.
pub(crate) const DEFAULT_SEEDS: u64 = 300;

/// The help text.
pub const HELP: &str = "\
Runs server, informer and subscribers with faults in one thread under virtual time. A seed determines the run.

Usage: cargo xtask simulate [options]

  --seeds N    the number of seeds; the default is 300, and 3000 or more use an optimized build
  --from S     the first seed; the default is 0
  --jobs J     the number of threads; the default is the number of cores
  --replay S   run one seed and print its log
  --help       print this text

If a rule is violated, the command prints the seed, the log around the violation and the shortest list of actions that
still violates the rule. The exit code is 0 if no rule was violated and every kind of fault happened.";

/// Parses the arguments without the name of the program.
///
/// # Errors
/// A message for the user.
pub fn parse(arguments: &[String]) -> Result<Command, String> {
    let cores = available_parallelism().map_or(1, NonZeroUsize::get);
    let mut seeds = Seeds { from: 0, count: DEFAULT_SEEDS, jobs: cores };
    let mut rest = arguments.iter();
    while let Some(option) = rest.next() {
        if option == "--help" || option == "-h" {
            return Ok(Command::Help);
        }
        let mut number = || match rest.next() {
            None => Err(format!("`{option}` needs a number")),
            Some(text) => text.parse::<u64>().map_err(|_| format!("`{option}` needs a number, not `{text}`")),
        };
        match option.as_str() {
            "--seeds" => seeds.count = number()?,
            "--from" => seeds.from = number()?,
            "--jobs" => seeds.jobs = number()? as usize,
            "--replay" => return Ok(Command::Replay(number()?)),
            _ => {
                return Err(format!(
                    "unknown option `{option}`; expected --seeds, --from, --jobs, --replay or --help"
                ));
            }
        }
    }
    match seeds {
        Seeds { count: 0, .. } => Err("`--seeds` must be at least 1".to_owned()),
        Seeds { jobs: 0, .. } => Err("`--jobs` must be at least 1".to_owned()),
        Seeds { from, count, .. } if from.checked_add(count).is_none() => {
            Err("seeds must be less than 2^64".to_owned())
        }
        seeds => Ok(Command::Run(seeds)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(line: &str) -> Result<Command, String> {
        parse(&line.split_whitespace().map(str::to_owned).collect::<Vec<_>>())
    }

    #[test]
    fn options_have_defaults() {
        let cores = available_parallelism().map_or(1, NonZeroUsize::get);
        assert_eq!(parsed(""), Ok(Command::Run(Seeds { from: 0, count: 300, jobs: cores })));
        let said = Seeds { from: 7, count: 9, jobs: 1 };
        assert_eq!(parsed("--jobs 1 --from 7 --seeds 9"), Ok(Command::Run(said)));
        assert_eq!(parsed("--replay 3"), Ok(Command::Replay(3)));
        assert_eq!(parsed("--seeds --help"), Err("`--seeds` needs a number, not `--help`".to_owned()));
        assert_eq!(parsed("--from 1 --help"), Ok(Command::Help));
    }

    #[test]
    fn errors_name_the_option() {
        for (line, wrong) in [
            ("--seeds", "`--seeds` needs a number"),
            ("--seeds many", "`--seeds` needs a number, not `many`"),
            ("--seeds 0", "`--seeds` must be at least 1"),
            ("--jobs 0", "`--jobs` must be at least 1"),
            ("--from 18446744073709551615", "seeds must be less than 2^64"),
            ("300", "unknown option `300`; expected --seeds, --from, --jobs, --replay or --help"),
        ] {
            assert_eq!(parsed(line), Err(wrong.to_owned()), "{line}");
        }
    }
}
