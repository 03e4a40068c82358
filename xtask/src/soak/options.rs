//! What `cargo xtask soak` is asked for.

use std::path::PathBuf;
use std::time::Duration;

use crate::bench::Profile;

/// How the soak is run.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Options {
    pub(crate) time: Duration,
    pub(crate) informers: u64,
    pub(crate) objects: u64,
    /// Writes a second.
    pub(crate) rate: f64,
    /// How far apart faults are.
    pub(crate) faults: Duration,
    /// How much what clients have in use may grow in an hour, as a share of its mean.
    pub(crate) bound: f64,
    pub(crate) waits: Waits,
    pub(crate) profile: Profile,
    pub(crate) json: Option<PathBuf>,
}

/// How informers wait after a failure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Waits {
    Short,
    Default,
}

impl Waits {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Short => "short",
            Self::Default => "default",
        }
    }
}

pub(crate) const HELP: &str = "\
Many informers under load for a long time, against a devserver that fails every few seconds.

Usage: cargo xtask soak [options]

  --minutes M    how long the load goes on (default 20)
  --informers N  each of its own namespace, half of them compact (default 50)
  --objects N    how many objects there are in all, of about 1 KB each (default 100000)
  --rate R       writes a second, each seen by one informer (default 5000)
  --faults S     seconds from one fault to the next (default 5)
  --bound P      by how many percent of its mean what clients have in use may grow in an hour (default 5)
  --default-waits
                 wait after failures as informers do unless told otherwise; with failures this close to each other waits grow
                 to a minute, as those of client-go do. Without this, they grow to a second or two
  --json FILE    write every line and the verdict; the file is written anew with each line
  --debug        programs without optimisation, to try the rig and not to measure

One handler of the first informer does not come back from its first event until the load has ended. Every ten seconds a line
is printed. In the end, every cache, and what every handler was told, is held against what the server has; the exit code is 1
if anything is lost, or if what the clients have in use grew by more than the bound. Resident memory, in which is what the
allocator keeps, is shown beside it. A run of less than five minutes is too short to judge by its memory, and is not.
";

/// Reads the arguments after `soak`.
///
/// # Errors
/// What is wrong with them, in words.
pub(crate) fn parse(arguments: &[String]) -> Result<Options, String> {
    let mut options = full();
    let mut rest = arguments.iter();
    while let Some(argument) = rest.next() {
        let mut value = || rest.next().ok_or_else(|| format!("{argument} needs a value"));
        match argument.as_str() {
            "--minutes" => options.time = Duration::from_secs_f64(number(argument, value()?)? * 60.0),
            "--informers" => options.informers = number(argument, value()?)? as u64,
            "--objects" => options.objects = number(argument, value()?)? as u64,
            "--rate" => options.rate = number(argument, value()?)?,
            "--faults" => options.faults = Duration::from_secs_f64(number(argument, value()?)?),
            "--bound" => options.bound = number(argument, value()?)? / 100.0,
            "--json" => options.json = Some(value()?.into()),
            "--default-waits" => options.waits = Waits::Default,
            "--debug" => options.profile = Profile::Debug,
            unknown => return Err(format!("`{unknown}` is no option of `soak`")),
        }
    }
    if options.informers == 0 || options.objects < options.informers {
        return Err("each informer needs an object".to_owned());
    }
    Ok(options)
}

fn full() -> Options {
    Options {
        time: Duration::from_secs(20 * 60),
        informers: 50,
        objects: 100_000,
        rate: 5_000.0,
        faults: Duration::from_secs(5),
        bound: 0.05,
        waits: Waits::Short,
        profile: Profile::Release,
        json: None,
    }
}

/// What CI runs: everything works, and nothing is lost.
pub(crate) fn smoke() -> Options {
    Options {
        time: Duration::from_secs(8),
        informers: 6,
        objects: 300,
        rate: 200.0,
        faults: Duration::from_secs(1),
        profile: Profile::Debug,
        ..full()
    }
}

fn number(name: &str, text: &str) -> Result<f64, String> {
    let number = text.parse::<f64>().ok().filter(|number| *number > 0.0 && *number < 1e9);
    number.ok_or_else(|| format!("{name} needs a number above zero, not `{text}`"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(line: &str) -> Result<Options, String> {
        parse(&line.split_whitespace().map(str::to_owned).collect::<Vec<_>>())
    }

    #[test]
    fn what_is_not_said_is_the_full_load() {
        assert_eq!(parsed("").unwrap(), full());
        let options = parsed("--minutes 0.5 --objects 100 --bound 10").unwrap();
        assert_eq!((options.time, options.objects, options.bound), (Duration::from_secs(30), 100, 0.1));
    }

    #[test]
    fn mistakes_are_named() {
        for (line, wanted) in [
            ("--minute 3", "`--minute` is no option of `soak`"),
            ("--rate", "--rate needs a value"),
            ("--rate 0", "--rate needs a number above zero, not `0`"),
            ("--objects 3", "each informer needs an object"),
        ] {
            assert_eq!(parsed(line).unwrap_err(), wanted);
        }
    }
}
