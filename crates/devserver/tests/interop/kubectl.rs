//! Runs every available version of kubectl, each with its own server.

use std::{
    cell::Cell,
    fs,
    path::PathBuf,
    process::{Command, ExitStatus},
};

use crate::{child::Running, cluster::Cluster, folder::Folder};

/// A version of kubectl, and the server that it uses.
pub(crate) struct Kubectl {
    pub(crate) cluster: Cluster,
    folder: Folder,
    program: PathBuf,
    kubeconfig: PathBuf,
    started: Cell<usize>,
}

/// Runs a test for every version of kubectl, with a new server each time.
pub(crate) fn each_kubectl(test: impl Fn(&Kubectl)) {
    each_kubectl_of(Cluster::start, test);
}

/// Runs a test for every version of kubectl, with a new server from `start` each time.
pub(crate) fn each_kubectl_of(start: impl Fn() -> Cluster, test: impl Fn(&Kubectl)) {
    for program in programs() {
        println!("with {}", program.display());
        test(&Kubectl::new(program, start()));
    }
}

/// Runs a test with the kubectl of the Go module, for commands that the packaged one does not have yet.
pub(crate) fn newest_kubectl(test: impl Fn(&Kubectl)) {
    newest_kubectl_of(Cluster::start, test);
}

/// Runs a test with the kubectl of the Go module and a server that is started in a special way.
pub(crate) fn newest_kubectl_of(start: impl Fn() -> Cluster, test: impl Fn(&Kubectl)) {
    let program = programs().into_iter().next().expect("xtask lists the one that it builds first");
    test(&Kubectl::new(program, start()));
}

fn programs() -> Vec<PathBuf> {
    let listed = std::env::var_os("INTEROP_KUBECTL")
        .expect("INTEROP_KUBECTL is not set; `cargo xtask test interop` sets it");
    std::env::split_paths(&listed).collect()
}

impl Kubectl {
    fn new(program: PathBuf, cluster: Cluster) -> Self {
        let folder = Folder::new();
        let kubeconfig = folder.write("kubeconfig", &cluster.kubeconfig());
        Self { cluster, folder, program, kubeconfig, started: Cell::new(0) }
    }

    /// Runs a command line that succeeds, and returns its output.
    pub(crate) fn run(&self, line: &str) -> String {
        let (status, output, errors) = self.end(line);
        assert!(status.success(), "kubectl {line}: {status}\n{output}{errors}");
        output
    }

    /// Runs a command line that fails, and returns its standard error.
    pub(crate) fn fail(&self, line: &str) -> String {
        let (status, output, errors) = self.end(line);
        assert!(!status.success(), "kubectl {line} went well:\n{output}");
        errors
    }

    /// Runs a command line that fails and explains it in its output, as `diff` does, and returns the output.
    pub(crate) fn output_of_failure(&self, line: &str) -> String {
        let (status, output, errors) = self.end(line);
        assert_eq!(status.code(), Some(1), "kubectl {line}: {status}\n{output}{errors}");
        output
    }

    /// Starts a command line that runs until it is dropped.
    pub(crate) fn start(&self, line: &str) -> Running {
        self.start_with_errors(line).0
    }

    /// Creates the objects of a text, which is passed as a file, and returns the output.
    pub(crate) fn create(&self, text: &str) -> String {
        self.run(&format!("create -f {}", self.file("new.yaml", text)))
    }

    /// Creates a ConfigMap with the data `{sky: blue}`.
    pub(crate) fn create_config_map(&self, name: &str) {
        let metadata = format!("metadata: {{name: {name}}}");
        self.create(&format!("apiVersion: v1\nkind: ConfigMap\n{metadata}\ndata: {{sky: blue}}\n"));
    }

    /// Writes a file for `-f`, and returns its path.
    pub(crate) fn file(&self, name: &str, text: &str) -> String {
        self.folder.write(name, text).to_str().unwrap().to_owned()
    }

    fn end(&self, line: &str) -> (ExitStatus, String, String) {
        let (running, errors) = self.start_with_errors(line);
        let (status, output) = running.end();
        (status, output, fs::read_to_string(errors).unwrap())
    }

    fn start_with_errors(&self, line: &str) -> (Running, PathBuf) {
        let number = self.started.replace(self.started.get() + 1);
        let errors = self.folder.path().join(format!("errors-{number}"));
        (Running::start(&mut self.command(line), errors.clone()), errors)
    }

    /// Splits the line at spaces, except within single quotes.
    fn command(&self, line: &str) -> Command {
        let mut command = Command::new(&self.program);
        for (index, part) in line.split('\'').enumerate() {
            if index % 2 == 1 {
                command.arg(part);
            } else {
                command.args(part.split_whitespace());
            }
        }
        command.env("KUBECONFIG", &self.kubeconfig);
        // `kubectl edit` appends the file.
        command.env("KUBE_EDITOR", "sed -i.bak -e s/blue/green/");
        // The discovery cache of kubectl is valid only for this server.
        for variable in ["HOME", "KUBECACHEDIR"] {
            command.env(variable, self.folder.path());
        }
        command
    }
}
