//! The program of `cluster/`, which runs kube-apiserver and etcd.

use serde::Deserialize;
use serde_json::Value;
use std::{
    io::{BufRead, BufReader, Lines, Write},
    process::{Child, ChildStdin, ChildStdout, Command, Stdio},
    sync::{Mutex, OnceLock},
};

/// The variable with the path of the program.
const VARIABLE: &str = "CLUSTER_PROGRAM";

/// The variable with the parent of its directory.
const FOLDER: &str = "CLUSTER_FOLDER";

/// A running cluster, one for all tests of this process.
///
/// It stops when its standard input is closed, at the latest at the end of this process.
#[derive(Debug)]
pub(crate) struct Program {
    pub(crate) ready: Ready,
    connection: Mutex<Connection>,
    /// Not waited for: it deletes its files after the end of this process.
    _child: Child,
}

/// The first line of the program, when the API is ready.
#[derive(Debug, Deserialize)]
pub(crate) struct Ready {
    pub(crate) kubeconfig: String,
    pub(crate) version: String,
}

#[derive(Debug)]
struct Connection {
    input: ChildStdin,
    output: Lines<BufReader<ChildStdout>>,
}

impl Program {
    /// Returns true if the variable with the path of the program is set.
    pub(crate) fn is_given() -> bool {
        std::env::var_os(VARIABLE).is_some()
    }

    /// Returns the cluster of this process, which the first call starts.
    pub(crate) fn shared() -> &'static Self {
        static SHARED: OnceLock<Program> = OnceLock::new();
        SHARED.get_or_init(Self::start)
    }

    fn start() -> Self {
        let program = std::env::var_os(VARIABLE)
            .unwrap_or_else(|| panic!("{VARIABLE} is not set; `cargo xtask test cluster` sets it"));
        let mut command = Command::new(&program);
        if let Some(folder) = std::env::var_os(FOLDER) {
            command.arg("-within").arg(folder);
        }
        let child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn();
        let mut child = child.unwrap_or_else(|error| {
            panic!("cannot start {}, the value of {VARIABLE}: {error}", program.display())
        });
        let (input, output) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
        let mut connection = Connection { input, output: BufReader::new(output).lines() };
        Self {
            ready: serde_json::from_value(connection.answer()).unwrap(),
            connection: Mutex::new(connection),
            _child: child,
        }
    }

    /// Executes a command and waits for the response.
    pub(crate) async fn send(&'static self, command: String) -> Value {
        tokio::task::spawn_blocking(move || self.send_blocking(&command)).await.unwrap()
    }

    /// Executes a command and blocks the thread until the response.
    pub(crate) fn send_blocking(&self, command: &str) -> Value {
        let answer = {
            let mut connection = self.connection.lock().unwrap();
            writeln!(connection.input, "{command}").unwrap();
            connection.answer()
        };
        assert_eq!(answer.get("error"), None, "{command}");
        answer
    }
}

impl Connection {
    fn answer(&mut self) -> Value {
        let line = self.output.next().expect("the program says on standard error why it ended").unwrap();
        serde_json::from_str(&line).unwrap()
    }
}
