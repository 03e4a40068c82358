//! This program again, as another process that does one thing.

use std::process::{Command, Stdio};

const TASK: &str = "SAVED_TEST_TASK";

/// What this process is to do, if it was started for that.
pub(crate) fn task() -> Option<String> {
    std::env::var(TASK).ok()
}

/// The test called `name`, in a process of its own, by way of a shell that says `before` first.
pub(crate) fn command(before: &str, name: &str, task: &str) -> Command {
    let program = std::env::current_exe().unwrap();
    let mut command = Command::new("sh");
    command.arg("-c").arg(format!("{before} exec \"$0\" --exact {name} --nocapture --test-threads=1"));
    command.arg(program).env(TASK, task).stdin(Stdio::null()).stdout(Stdio::piped());
    command
}
