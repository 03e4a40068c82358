//! Runs other programs and forwards their output.

use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};

use crate::test_counts::Counter;

/// The interval in which a program with a time limit is polled.
const POLL: Duration = Duration::from_millis(20);

/// The result of a test run.
#[derive(Debug)]
pub(crate) struct Tested {
    pub(crate) succeeded: bool,
    pub(crate) counter: Counter,
}

/// The result of a program with a time limit.
#[derive(Debug)]
pub(crate) enum Ended {
    InTime(ExitStatus),
    Killed,
}

/// Returns a command of the cargo that started this program.
pub(crate) fn cargo<const N: usize>(arguments: [&str; N]) -> Command {
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.args(arguments);
    // Without the variables that cargo sets for this program, or build scripts that read them would run again.
    let inherited = std::env::vars_os().map(|(name, _)| name);
    let inherited = inherited.filter(|name| {
        let name = name.to_string_lossy();
        name.starts_with("CARGO_PKG_") || name.starts_with("CARGO_MANIFEST_")
    });
    inherited.for_each(|name| _ = command.env_remove(name));
    command
}

/// Returns the command line, with the variables that it sets.
pub(crate) fn line(command: &Command) -> String {
    let set = command
        .get_envs()
        .filter_map(|(name, value)| Some(format!("{}={}", name.to_string_lossy(), value?.to_string_lossy())));
    let program = std::path::Path::new(command.get_program()).file_stem().unwrap_or_default();
    let words = std::iter::once(program).chain(command.get_args());
    set.chain(words.map(|word| word.to_string_lossy().into_owned())).collect::<Vec<_>>().join(" ")
}

/// Returns the path of a program in a directory.
pub(crate) fn executable(directory: &Path, name: &str) -> PathBuf {
    directory.join(format!("{name}{}", std::env::consts::EXE_SUFFIX))
}

/// Runs a command, and returns true if it succeeded.
pub(crate) fn run(command: &mut Command) -> Result<bool> {
    Ok(command.status().with_context(|| format!("cannot start `{}`", line(command)))?.success())
}

/// Runs a command, forwards its standard output, and counts the tests in it.
pub(crate) fn run_tests(command: &mut Command) -> Result<Tested> {
    let mut child = spawn(command.stdout(Stdio::piped()))?;
    let output = child.stdout.take().expect("standard output is piped");
    let counter = forward(BufReader::new(output), std::io::stdout())?;
    Ok(Tested { succeeded: child.wait()?.success(), counter })
}

/// Runs a command, and kills it after the time limit.
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
    command.spawn().with_context(|| format!("cannot start `{}`", line(command)))
}

fn forward(mut from: impl BufRead, mut to: impl Write) -> Result<Counter> {
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
    use crate::test_counts::TestCounts;

    fn check(output: &[u8], expected: TestCounts) {
        let mut forwarded = Vec::new();
        assert_eq!(forward(output, &mut forwarded).unwrap().counts, expected);
        assert_eq!(forwarded, output);
    }

    #[test]
    fn tests_are_counted_in_the_output() {
        let output = b"running 2 tests\ntest result: ok. 2 passed; 0 failed;\n\
                       test result: FAILED. 1 passed; 1 failed;";
        check(output, TestCounts { passed: 3, failed: 1 });
    }

    #[test]
    fn output_may_be_invalid_utf8() {
        check(b"not even \xff text\n", TestCounts::default());
    }

    #[test]
    fn a_program_is_killed_after_the_limit() {
        let ended = run_within(Command::new("sleep").arg("600"), Duration::from_millis(1)).unwrap();
        assert!(matches!(ended, Ended::Killed));
    }

    #[test]
    fn the_exit_status_is_returned() {
        let ended = run_within(&mut Command::new("false"), Duration::from_secs(60)).unwrap();
        assert!(matches!(ended, Ended::InTime(status) if !status.success()));
    }

    #[test]
    fn a_command_line_has_its_variables() {
        let mut command = Command::new("/opt/bin/cargo");
        command.args(["doc", "--no-deps"]).env("RUSTDOCFLAGS", "-Dwarnings");
        assert_eq!(line(&command), "RUSTDOCFLAGS=-Dwarnings cargo doc --no-deps");
    }
}
