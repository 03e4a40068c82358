//! Runs a single test of this program in another process.

use std::process::{Command, Stdio};

const TASK: &str = "SAVED_TEST_TASK";

/// Returns the task of this process if it was started by [`command`].
pub(crate) fn task() -> Option<String> {
    std::env::var(TASK).ok()
}

/// Creates a command that runs the test called `name` in another process, after the shell command `before`.
pub(crate) fn command(before: &str, name: &str, task: &str) -> Command {
    let program = std::env::current_exe().unwrap();
    let mut command = Command::new("sh");
    command.arg("-c").arg(format!("{before} exec \"$0\" --exact {name} --nocapture --test-threads=1"));
    command.arg(program).env(TASK, task).stdin(Stdio::null()).stdout(Stdio::piped());
    command
}
