//! Programs that run during a test: kubectl, the command `informer`, and kube-controller-manager.

use std::{
    ffi::OsString,
    path::{Path, PathBuf},
    process::Stdio,
};
use tokio::{
    io::{AsyncBufReadExt, BufReader, Lines},
    process::{Child, ChildStdout, Command},
};

use kube_conformance::{Server, in_time};

/// The variables with the paths of the programs.
pub(crate) const KUBECTL: &str = "CLUSTER_KUBECTL";
pub(crate) const INFORMER: &str = "CLUSTER_INFORMER";
pub(crate) const CONTROLLERS: &str = "CLUSTER_CONTROLLERS";

/// A home directory with a kubeconfig, which is removed at the end.
pub(crate) struct Home(PathBuf);

impl Home {
    /// Creates a home directory whose default cluster is this server.
    pub(crate) fn new(server: &Server, name: &str) -> Self {
        let version: String = server.version().chars().filter(char::is_ascii_alphanumeric).collect();
        let name = format!("{}-{version}-{name}", std::process::id());
        let home = Self(PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name));
        std::fs::create_dir_all(home.path().join(".kube")).unwrap();
        std::fs::write(home.kubeconfig(), server.kubeconfig()).unwrap();
        home
    }

    pub(crate) fn path(&self) -> &Path {
        &self.0
    }

    pub(crate) fn kubeconfig(&self) -> PathBuf {
        self.0.join(".kube/config")
    }

    /// Returns the command of a program in this home.
    pub(crate) fn command(&self, program: &str, arguments: &[&str]) -> Command {
        let path: OsString = std::env::var_os(program)
            .unwrap_or_else(|| panic!("{program} is not set; `cargo xtask test cluster` sets it"));
        let mut command = Command::new(path);
        command.args(arguments).env_clear().env("HOME", &self.0).env("TZ", "UTC");
        command.stdin(Stdio::null()).kill_on_drop(true);
        command
    }

    /// Returns what a program prints; it must succeed without an error message.
    pub(crate) async fn said(&self, program: &str, arguments: &[&str]) -> String {
        let output = in_time(program, self.command(program, arguments).output()).await.unwrap();
        let text = |bytes| String::from_utf8(bytes).unwrap();
        let (stdout, stderr) = (text(output.stdout), text(output.stderr));
        assert!(output.status.success() && stderr.is_empty(), "{program} {arguments:?}: {stderr}");
        stdout
    }

    /// Starts a program, with its standard error in a file of this home.
    pub(crate) fn start(&self, program: &str, arguments: &[&str]) -> Running {
        let errors = std::fs::File::create(self.0.join(format!("{program}.log"))).unwrap();
        let mut child =
            self.command(program, arguments).stdout(Stdio::piped()).stderr(errors).spawn().unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        Running { child, lines }
    }

    /// Returns the last lines of the standard error of a program.
    pub(crate) fn errors(&self, program: &str) -> String {
        let text = std::fs::read_to_string(self.0.join(format!("{program}.log"))).unwrap_or_default();
        let lines: Vec<_> = text.lines().collect();
        lines[lines.len().saturating_sub(30)..].join("\n")
    }
}

impl Drop for Home {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// A running program, which is killed when this is dropped.
pub(crate) struct Running {
    child: Child,
    lines: Lines<BufReader<ChildStdout>>,
}

impl Running {
    /// Waits for a line that starts with a text, and returns the rest of it.
    pub(crate) async fn line(&mut self, start: &str) -> String {
        let line = async {
            loop {
                let line = self.lines.next_line().await.unwrap().expect("it goes on");
                if let Some(rest) = line.strip_prefix(start) {
                    return rest.to_owned();
                }
            }
        };
        in_time(start, line).await
    }

    /// Ends it as Ctrl-C does, and waits for its end.
    pub(crate) async fn interrupt(mut self) {
        let id = self.child.id().unwrap().to_string();
        assert!(Command::new("kill").args(["-INT", &id]).status().await.unwrap().success());
        assert!(in_time("an interrupted program", self.child.wait()).await.unwrap().success());
    }
}
