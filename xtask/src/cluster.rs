//! Builds kube-apiserver and etcd from the Go module in `cluster/`, for the conformance tests and for manual use.

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use serde_json::Value;

use crate::go::{self, Ready};
use crate::interop;
use crate::kubernetes::{self, Version};
use crate::metadata::Workspace;
use crate::process;
use crate::programs;

/// The time that a cluster has to delete its files after the tests.
const CLEANUP_TIMEOUT: Duration = Duration::from_secs(20);

const POLL: Duration = Duration::from_millis(50);

/// Builds the programs, with kube-apiserver in this version, and returns the command that runs the tests.
pub(crate) fn prepare(workspace: &Workspace, version: Option<Version>) -> Result<Ready> {
    let go = match go::find_or_skip("kube-apiserver is skipped: `go` is not in the PATH") {
        Ok(go) => go,
        Err(missing) => return Ok(missing.into()),
    };
    let Some(program) = build(&go, workspace, version)? else {
        return Ok(Ready::Fail("kube-apiserver did not build"));
    };
    let Some(kubectl) = interop::kubectl(&go, workspace)? else {
        return Ok(Ready::Fail("kubectl did not build"));
    };
    let Some(controllers) = interop::controllers(&go, workspace)? else {
        return Ok(Ready::Fail("kube-controller-manager did not build"));
    };
    let Some(informer) = programs::build(workspace, "informer")? else {
        return Ok(Ready::Fail("informer did not build"));
    };
    let directory = directory(workspace);
    Ok(Ready::Test(test_command(&Programs { program, directory, kubectl, controllers, informer })))
}

/// The paths that the tests need.
struct Programs {
    program: PathBuf,
    /// The parent of the directories of clusters.
    directory: PathBuf,
    kubectl: PathBuf,
    controllers: PathBuf,
    informer: PathBuf,
}

/// Returns the directories of clusters that have not stopped after their tests.
pub(crate) fn remaining(workspace: &Workspace) -> Result<Vec<PathBuf>> {
    let deadline = Instant::now() + CLEANUP_TIMEOUT;
    loop {
        // A cluster deletes its directory last.
        let remaining = contents(&directory(workspace))?;
        if remaining.is_empty() || Instant::now() > deadline {
            return Ok(remaining);
        }
        thread::sleep(POLL);
    }
}

/// Runs a cluster until Ctrl-C. The arguments are those of the cluster program, and `--kubernetes VERSION`.
pub(crate) fn run(workspace: &Workspace, arguments: &[String]) -> Result<()> {
    let mut arguments = arguments.to_vec();
    let version = kubernetes::take_version(&mut arguments)?;
    println!("building kube-apiserver and etcd, which takes some minutes the first time");
    let mut command = Command::new(program(workspace, version)?);
    let mut child = command.args(arguments).stdout(Stdio::piped()).spawn()?;
    let output = child.stdout.take().expect("standard output is piped");
    for (number, line) in BufReader::new(output).lines().enumerate() {
        match number {
            0 => println!("{}", welcome(&serde_json::from_str(&line?)?)),
            _ => println!("{}", line?),
        }
    }
    child.wait()?;
    Ok(())
}

/// Runs the devserver with kubelets, kube-controller-manager and kube-scheduler until Ctrl-C.
pub(crate) fn run_devserver(workspace: &Workspace) -> Result<()> {
    let Some(go) = go::find("go") else {
        bail!("kube-controller-manager cannot be built: `go` is not in the PATH")
    };
    println!("building kube-controller-manager and kube-scheduler, which takes some minutes the first time");
    let Some(controllers) = interop::controllers(&go, workspace)? else {
        bail!("kube-controller-manager and kube-scheduler did not build")
    };
    let Some(program) = programs::build(workspace, "informer")? else { bail!("informer did not build") };
    let kubeconfig = workspace.target.join("controllers").join("kubeconfig");
    let mut server = Command::new(program);
    server.args(["devserver", "--listen", "127.0.0.1:0", "--kubelet", "3", "--controllers", "none"]);
    server.arg("--write-kubeconfig");
    let mut server = Guard(server.arg(&kubeconfig).stdout(Stdio::piped()).spawn()?);
    let output = server.0.stdout.take().expect("standard output is piped");
    for line in BufReader::new(output).lines() {
        if line?.starts_with("listening on") {
            break;
        }
    }
    let start = |name: &str| -> Result<Guard> {
        let log = workspace.target.join("controllers").join(format!("{name}.log"));
        let log = std::fs::File::create(&log).with_context(|| format!("cannot create {}", log.display()))?;
        let mut command = Command::new(&controllers);
        command.arg(name).arg(format!("--kubeconfig={}", kubeconfig.display()));
        command.args(["--leader-elect=false", "--secure-port=0"]).args(controllers_of(name));
        Ok(Guard(command.stdout(Stdio::null()).stderr(log).spawn()?))
    };
    let _controllers = [start("kube-controller-manager")?, start("kube-scheduler")?];
    println!(
        "\n  export KUBECONFIG={}\n  kubectl get nodes\n\nCtrl-C stops everything.",
        kubeconfig.display()
    );
    server.0.wait()?;
    Ok(())
}

/// Returns the further flags of a program: the controller of the addresses of pods needs a cloud or a range.
fn controllers_of(name: &str) -> &'static [&'static str] {
    match name {
        "kube-controller-manager" => &["--controllers=*,-node-ipam-controller"],
        _ => &[],
    }
}

/// A process that is killed when this is dropped.
struct Guard(Child);

impl Drop for Guard {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Builds the program with kube-apiserver in this version, or in that of `cluster/go.mod`, and returns its path.
pub(crate) fn program(workspace: &Workspace, version: Option<Version>) -> Result<PathBuf> {
    let Some(go) = go::find("go") else { bail!("kube-apiserver cannot be built: `go` is not in the PATH") };
    let Some(program) = build(&go, workspace, version)? else { bail!("kube-apiserver did not build") };
    Ok(program)
}

fn build(go: &Path, workspace: &Workspace, version: Option<Version>) -> Result<Option<PathBuf>> {
    let (into, mut build) = match version {
        None => {
            let into = workspace.target.join("cluster");
            let build = go::build(go, "cluster", &into);
            (into, build)
        }
        Some(version) => {
            let generated = version.generate(go, workspace)?;
            let mut build = go::build(go, &generated.module, &generated.into);
            // Go adds the missing checksums.
            build.env("GOFLAGS", format!("{} -mod=mod", std::env::var("GOFLAGS").unwrap_or_default()));
            (generated.into, build)
        }
    };
    println!("{}", process::line(&build));
    let program = process::executable(&into, "cluster");
    Ok(process::run(&mut build)?.then_some(program))
}

/// Returns the parent of the directories of clusters.
pub(crate) fn directory(workspace: &Workspace) -> PathBuf {
    workspace.target.join("cluster").join("run")
}

fn contents(directory: &Path) -> Result<Vec<PathBuf>> {
    if !directory.exists() {
        return Ok(Vec::new());
    }
    let entries = directory.read_dir().with_context(|| format!("cannot list {}", directory.display()))?;
    Ok(entries.map(|entry| entry.map(|entry| entry.path())).collect::<Result<_, _>>()?)
}

fn test_command(programs: &Programs) -> Command {
    // The claims of `conformance` use kube-apiserver if CLUSTER_PROGRAM is set. `cluster` needs the other programs.
    let mut command = process::cargo(["test", "--workspace", "--no-fail-fast"]);
    command.args(["--test", "conformance", "--test", "cluster"]);
    command.env("CLUSTER_PROGRAM", &programs.program).env("CLUSTER_FOLDER", &programs.directory);
    command.env("CLUSTER_KUBECTL", &programs.kubectl).env("CLUSTER_INFORMER", &programs.informer);
    command.env("CLUSTER_CONTROLLERS", &programs.controllers);
    command
}

fn welcome(ready: &Value) -> String {
    let word = |name: &str| ready[name].as_str().unwrap_or_default().to_owned();
    let (version, url, kubeconfig) = (word("version"), word("url"), word("kubeconfig"));
    format!(
        "
kube-apiserver {version} at {url}

  export KUBECONFIG={kubeconfig}
  kubectl get namespaces
  kubectl --context nobody get pods      # a user without permissions
  informer watch configmaps

There are no nodes, controllers or scheduler. Commands, one per line:

  compact                                       drops the history: watches from older versions expire
  kill|start|restart|pause|resume CHILD         CHILD is etcd or kube-apiserver
  token NAMESPACE SERVICEACCOUNT UID SECONDS    a token that expires after SECONDS

Ctrl-C or Ctrl-D stops the cluster and deletes its files."
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn the_tests_get_the_paths_of_the_programs() {
        let [program, directory, kubectl, controllers, informer] =
            ["/cluster", "/run", "/kubectl", "/controllers", "/informer"].map(Into::into);
        let command = test_command(&Programs { program, directory, kubectl, controllers, informer });
        let expected = "CLUSTER_CONTROLLERS=/controllers CLUSTER_FOLDER=/run CLUSTER_INFORMER=/informer CLUSTER_KUBECTL=/kubectl \
                        CLUSTER_PROGRAM=/cluster cargo test --workspace --no-fail-fast --test conformance --test cluster";
        assert_eq!(process::line(&command), expected);
    }

    #[test]
    fn the_welcome_text_has_the_address() {
        let text =
            welcome(&json!({ "version": "v1", "url": "https://host:1", "kubeconfig": "/a/kubeconfig" }));
        assert!(text.contains("v1 at https://host:1") && text.contains("KUBECONFIG=/a/kubeconfig"), "{text}");
    }

    #[test]
    fn a_missing_directory_has_no_contents() {
        assert_eq!(contents(Path::new("no/such/directory")).unwrap(), [""; 0].map(PathBuf::from));
    }
}
