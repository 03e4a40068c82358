//! Runs other programs with their output passed through as it comes.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};

use crate::tally::Counter;

/// How often a program with a deadline is asked whether it has ended.
const POLL: Duration = Duration::from_millis(20);

/// How a test run ended.
#[derive(Debug)]
pub(crate) struct Tested {
    pub(crate) succeeded: bool,
    pub(crate) counter: Counter,
}

/// How a program with a deadline ended.
#[derive(Debug)]
pub(crate) enum Ended {
    InTime(ExitStatus),
    Killed,
}

/// A cargo command, run by the cargo that started this program.
pub(crate) fn cargo<const N: usize>(arguments: [&str; N]) -> Command {
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.args(arguments);
    // What cargo said of this program to it is no business of the next cargo: build scripts that look at it run again.
    let said = std::env::vars_os().map(|(name, _)| name);
    let said = said.filter(|name| {
        let name = name.to_string_lossy();
        name.starts_with("CARGO_PKG_") || name.starts_with("CARGO_MANIFEST_")
    });
    said.for_each(|name| _ = command.env_remove(name));
    command
}

/// The command as one would type it, with the variables it sets.
pub(crate) fn line(command: &Command) -> String {
    let set = command
        .get_envs()
        .filter_map(|(name, value)| Some(format!("{}={}", name.to_string_lossy(), value?.to_string_lossy())));
    let program = std::path::Path::new(command.get_program()).file_stem().unwrap_or_default();
    let words = std::iter::once(program).chain(command.get_args());
    set.chain(words.map(|word| word.to_string_lossy().into_owned())).collect::<Vec<_>>().join(" ")
}

/// Runs to the end and says whether it went well.
pub(crate) fn run(command: &mut Command) -> Result<bool> {
    Ok(command.status().with_context(|| format!("`{}` did not start", line(command)))?.success())
}

/// Runs to the end and counts the tests it reports on standard output, which still passes through.
pub(crate) fn run_tests(command: &mut Command) -> Result<Tested> {
    let mut child = spawn(command.stdout(Stdio::piped()))?;
    let output = child.stdout.take().expect("standard output is piped");
    let counter = pass_through(BufReader::new(output), std::io::stdout())?;
    Ok(Tested { succeeded: child.wait()?.success(), counter })
}

/// Runs for at most `limit`, and kills what has not ended by then.
pub(crate) fn run_within(command: &mut Command, limit: Duration) -> Result<Ended> {
    let mut child = spawn(command.stdin(Stdio::null()))?;
    let deadline = Instant::now() + limit;
    while Instant::now() < deadline {
        if let Some(status) = child.try_wait()? {
            return Ok(Ended::InTime(status));
        }
        thread::sleep(POLL);
    }
    child.kill()?;
    child.wait()?;
    Ok(Ended::Killed)
}

fn spawn(command: &mut Command) -> Result<Child> {
    command.spawn().with_context(|| format!("`{}` did not start", line(command)))
}

fn pass_through(mut from: impl BufRead, mut to: impl Write) -> Result<Counter> {
    let mut counter = Counter::default();
    let mut bytes = Vec::new();
    while from.read_until(b'\n', &mut bytes)? > 0 {
        to.write_all(&bytes)?;
        to.flush()?;
        counter.line_printed(&String::from_utf8_lossy(&bytes));
        bytes.clear();
    }
    Ok(counter)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tally::Tally;

    fn check(output: &[u8], expected: Tally) {
        let mut seen = Vec::new();
        assert_eq!(pass_through(output, &mut seen).unwrap().tally, expected);
        assert_eq!(seen, output);
    }

    #[test]
    fn counts_what_passes_through() {
        let output = b"running 2 tests\ntest result: ok. 2 passed; 0 failed;\n\
                       test result: FAILED. 1 passed; 1 failed;";
        check(output, Tally { passed: 3, failed: 1 });
    }

    #[test]
    fn output_need_not_be_text() {
        check(b"not even \xff text\n", Tally::default());
    }

    #[test]
    fn kills_what_does_not_end() {
        let ended = run_within(Command::new("sleep").arg("600"), Duration::from_millis(1)).unwrap();
        assert!(matches!(ended, Ended::Killed));
    }

    #[test]
    fn says_how_a_program_ended_in_time() {
        let ended = run_within(&mut Command::new("false"), Duration::from_secs(60)).unwrap();
        assert!(matches!(ended, Ended::InTime(status) if !status.success()));
    }

    #[test]
    fn shows_a_command_as_typed() {
        let mut command = Command::new("/opt/bin/cargo");
        command.args(["doc", "--no-deps"]).env("RUSTDOCFLAGS", "-Dwarnings");
        assert_eq!(line(&command), "RUSTDOCFLAGS=-Dwarnings cargo doc --no-deps");
    }
}
