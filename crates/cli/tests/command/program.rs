//! Runs the program, to its end or for a while.

use crate::folder::folder;
use std::{process::Stdio, time::Duration};
use tokio::{
    io::{AsyncBufReadExt, AsyncReadExt, BufReader, Lines},
    process::{Child, ChildStderr, ChildStdout, Command},
    time::timeout,
};

/// Longer than anything takes here.
const LIMIT: Duration = Duration::from_secs(60);

/// How a run ended.
#[derive(Debug)]
pub(crate) struct Ended {
    pub(crate) code: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Ended {
    pub(crate) fn lines(&self) -> Vec<&str> {
        self.stdout.lines().collect()
    }
}

/// The program, in surroundings that know of no cluster.
pub(crate) fn informer(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_informer"));
    command.args(arguments).env_clear().env("HOME", folder()).env("TZ", "UTC");
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).kill_on_drop(true);
    command
}

/// Runs a shell script whose arguments are the program and its arguments.
pub(crate) fn in_shell(script: &str, program: &Command) -> Command {
    let program = program.as_std();
    let mut command = Command::new("sh");
    command.args(["-c", script, "sh"]).arg(program.get_program()).args(program.get_args());
    command.env_clear().env("HOME", folder()).env("TZ", "UTC");
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).kill_on_drop(true);
    command
}

/// Runs a command to its end.
pub(crate) async fn end(mut command: Command) -> Ended {
    let output = timeout(LIMIT, command.output()).await.expect("it ends in time").unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    Ended { code: output.status.code(), stdout: text(output.stdout), stderr: text(output.stderr) }
}

/// Runs the program to its end.
pub(crate) async fn run(arguments: &[&str]) -> Ended {
    end(informer(arguments)).await
}

/// A running program with its output.
pub(crate) struct Running {
    child: Child,
    lines: Option<Lines<BufReader<ChildStdout>>>,
    errors: Option<Lines<BufReader<ChildStderr>>>,
}

impl Running {
    pub(crate) fn start(arguments: &[&str]) -> Self {
        Self::start_command(informer(arguments))
    }

    pub(crate) fn start_command(mut command: Command) -> Self {
        let mut child = command.spawn().unwrap();
        let lines = Some(BufReader::new(child.stdout.take().unwrap()).lines());
        Self { child, lines, errors: None }
    }

    /// The next line of stdout.
    pub(crate) async fn line(&mut self) -> String {
        let line = timeout(LIMIT, self.lines.as_mut().unwrap().next_line());
        line.await.expect("a line comes in time").unwrap().expect("it goes on")
    }

    /// Returns the next line of stderr, which [`end`](Self::end) does not return then.
    pub(crate) async fn stderr_line(&mut self) -> String {
        let stderr = &mut self.child.stderr;
        let lines = self.errors.get_or_insert_with(|| BufReader::new(stderr.take().unwrap()).lines());
        let line = timeout(LIMIT, lines.next_line());
        line.await.expect("a line comes in time").unwrap().expect("it goes on")
    }

    /// Reads no more.
    pub(crate) fn close_stdout(&mut self) {
        self.lines = None;
    }

    /// Sends a signal, such as `INT`.
    pub(crate) async fn signal(&self, name: &str) {
        let id = self.child.id().unwrap().to_string();
        let sent = Command::new("kill").args([&format!("-{name}"), &id]).status().await.unwrap();
        assert!(sent.success());
    }

    /// Returns whether it has ended.
    pub(crate) fn has_ended(&mut self) -> bool {
        self.child.try_wait().unwrap().is_some()
    }

    /// Waits until it has ended.
    pub(crate) async fn end(mut self) -> Ended {
        let mut stdout = String::new();
        if let Some(mut lines) = self.lines.take() {
            while let Some(line) = timeout(LIMIT, lines.next_line()).await.expect("it ends in time").unwrap()
            {
                stdout += &(line + "\n");
            }
        }
        let status = timeout(LIMIT, self.child.wait()).await.expect("it ends in time").unwrap();
        let mut stderr = String::new();
        if let Some(mut rest) = self.child.stderr.take() {
            rest.read_to_string(&mut stderr).await.unwrap();
        }
        Ended { code: status.code(), stdout, stderr }
    }
}
