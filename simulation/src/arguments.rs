//! The command line: which seeds, and on how many threads.

use std::{num::NonZeroUsize, thread::available_parallelism};

/// What the user asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Command {
    /// Print [`HELP`].
    Help,
    /// Run these.
    Run(Seeds),
    /// Run one, and print all that happens.
    Replay(u64),
}

/// Which seeds to run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Seeds {
    /// The first.
    pub from: u64,
    /// How many, that one counted.
    pub count: u64,
    /// On how many threads.
    pub jobs: usize,
}

/// How many seeds are run unless one says so.
pub(crate) const USUAL: u64 = 300;

/// What the command says of itself.
pub const HELP: &str = "\
Runs the whole stack, with faults, on one thread under virtual time; everything that happens is drawn from a seed.

Usage: cargo xtask simulate [options]

  --seeds N    run so many seeds; 300 unless this says otherwise, and with optimisation from 3000 on
  --from S     begin with this seed; 0 unless this says otherwise
  --jobs J     run on so many threads; as many as there are cores unless this says otherwise
  --replay S   run this one seed and print all that happens
  --help       print this text

A seed under which a rule is broken is printed with what happened around the break and with the fewest acts that still
break it. The same seed does the same, byte for byte. The exit code is 0 if all held and every kind of fault struck.";

/// Reads the arguments behind the program's name.
///
/// # Errors
/// What is wrong with them, in words.
pub fn parse(arguments: &[String]) -> Result<Command, String> {
    let cores = available_parallelism().map_or(1, NonZeroUsize::get);
    let mut seeds = Seeds { from: 0, count: USUAL, jobs: cores };
    let mut rest = arguments.iter();
    while let Some(option) = rest.next() {
        if option == "--help" || option == "-h" {
            return Ok(Command::Help);
        }
        let mut number = || match rest.next() {
            None => Err(format!("`{option}` wants a number")),
            Some(text) => {
                text.parse::<u64>().map_err(|_| format!("`{option}` wants a number, and got `{text}`"))
            }
        };
        match option.as_str() {
            "--seeds" => seeds.count = number()?,
            "--from" => seeds.from = number()?,
            "--jobs" => seeds.jobs = number()? as usize,
            "--replay" => return Ok(Command::Replay(number()?)),
            _ => {
                return Err(format!(
                    "unknown option `{option}`; there are --seeds, --from, --jobs, --replay and --help"
                ));
            }
        }
    }
    match seeds {
        Seeds { count: 0, .. } => Err("`--seeds` must be one at least".to_owned()),
        Seeds { jobs: 0, .. } => Err("`--jobs` must be one at least".to_owned()),
        Seeds { from, count, .. } if from.checked_add(count).is_none() => {
            Err("there are no seeds beyond 2^64".to_owned())
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
    fn what_is_not_said_is_as_usual() {
        let cores = available_parallelism().map_or(1, NonZeroUsize::get);
        assert_eq!(parsed(""), Ok(Command::Run(Seeds { from: 0, count: 300, jobs: cores })));
        let said = Seeds { from: 7, count: 9, jobs: 1 };
        assert_eq!(parsed("--jobs 1 --from 7 --seeds 9"), Ok(Command::Run(said)));
        assert_eq!(parsed("--replay 3"), Ok(Command::Replay(3)));
        assert_eq!(parsed("--seeds --help"), Err("`--seeds` wants a number, and got `--help`".to_owned()));
        assert_eq!(parsed("--from 1 --help"), Ok(Command::Help));
    }

    #[test]
    fn mistakes_are_named() {
        for (line, wrong) in [
            ("--seeds", "`--seeds` wants a number"),
            ("--seeds many", "`--seeds` wants a number, and got `many`"),
            ("--seeds 0", "`--seeds` must be one at least"),
            ("--jobs 0", "`--jobs` must be one at least"),
            ("--from 18446744073709551615", "there are no seeds beyond 2^64"),
            ("300", "unknown option `300`; there are --seeds, --from, --jobs, --replay and --help"),
        ] {
            assert_eq!(parsed(line), Err(wrong.to_owned()), "{line}");
        }
    }
}
