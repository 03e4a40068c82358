//! Runs the Go program that uses the libraries of kube-apiserver.

use serde_json::Value;
use std::{
    io::{BufRead, BufReader, Write},
    process::{Child, ChildStdin, ChildStdout, Command, Stdio},
};

pub(crate) struct Oracle {
    child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
}

impl Oracle {
    pub(crate) fn start() -> Self {
        let program = std::env::var("DEVSERVER_ORACLE").expect("set by `cargo xtask test oracle`");
        let command = Command::new(program).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn();
        let mut child = command.expect("the program starts");
        let input = child.stdin.take().expect("it is piped");
        let output = BufReader::new(child.stdout.take().expect("it is piped"));
        Self { child, input, output }
    }

    /// Sends a request and waits for the response.
    pub(crate) fn ask(&mut self, request: &Value) -> Value {
        writeln!(self.input, "{request}").expect("the program reads");
        let mut line = String::new();
        self.output.read_line(&mut line).expect("the program writes");
        serde_json::from_str(&line).unwrap_or_else(|error| panic!("{error} in {line:?} to {request}"))
    }
}

impl Drop for Oracle {
    fn drop(&mut self) {
        // The program may have exited already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
