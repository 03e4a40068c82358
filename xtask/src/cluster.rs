//! A real kube-apiserver with etcd, built from the Go module in `cluster/`: for the conformance tests, and for a person.

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use serde_json::Value;

use crate::go::{self, Place, Plan, Ready, said};
use crate::interop;
use crate::metadata::Workspace;
use crate::process;

/// A cluster notices at once that its tests have ended, and then has files to delete.
const GRACE: Duration = Duration::from_secs(20);

/// How often is looked for what is left behind.
const POLL: Duration = Duration::from_millis(50);

/// Builds the program and gives the command that runs the tests against it.
pub(crate) fn prepare(workspace: &Workspace) -> Result<Ready> {
    const WHY: &str = "kube-apiserver left out: no `go` on the PATH builds it";
    let go = match go::with_go(go::find("go"), Place::detect(), WHY) {
        Plan::Run(go) => go,
        Plan::LeaveOut(why) => return Ok(Ready::Skip(said(why))),
        Plan::Fail(why) => return Ok(Ready::Fail(said(why))),
    };
    let Some(program) = build(&go, workspace)? else {
        return Ok(Ready::Fail("kube-apiserver did not build"));
    };
    let Some(kubectl) = interop::kubectl(&go, workspace)? else {
        return Ok(Ready::Fail("kubectl did not build"));
    };
    let Some(informer) = informer(workspace)? else { return Ok(Ready::Fail("informer did not build")) };
    let folder = folder(workspace);
    Ok(Ready::Test(test_command(&Programs { program, folder, kubectl, informer })))
}

/// What the tests are told.
struct Programs {
    program: PathBuf,
    /// Where clusters have their folders.
    folder: PathBuf,
    kubectl: PathBuf,
    informer: PathBuf,
}

/// Builds the command that people use.
fn informer(workspace: &Workspace) -> Result<Option<PathBuf>> {
    let mut build = process::cargo(["build", "--workspace", "--bin", "informer"]);
    println!("{}", process::line(&build));
    let program = workspace.target.join("debug").join(format!("informer{}", std::env::consts::EXE_SUFFIX));
    Ok(process::run(&mut build)?.then_some(program))
}

/// What clusters have not deleted, although those who started them have ended.
pub(crate) fn left_behind(workspace: &Workspace) -> Result<Vec<PathBuf>> {
    let deadline = Instant::now() + GRACE;
    loop {
        let left = contents(&folder(workspace))?;
        // The folder of a cluster goes last, so that none is left where no folder is.
        if left.is_empty() || Instant::now() > deadline {
            return Ok(left);
        }
        thread::sleep(POLL);
    }
}

/// Runs a cluster for a person, until they end it.
pub(crate) fn run(workspace: &Workspace, arguments: &[String]) -> Result<()> {
    let Some(go) = go::find("go") else { bail!("no `go` on the PATH builds kube-apiserver") };
    println!("building kube-apiserver and etcd; the first time this takes some minutes");
    let Some(program) = build(&go, workspace)? else { bail!("kube-apiserver did not build") };
    let mut command = Command::new(program);
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

/// The program, built, and where its folder is to be made.
pub(crate) fn command(workspace: &Workspace) -> Result<Command> {
    let Some(go) = go::find("go") else { bail!("no `go` on the PATH builds kube-apiserver") };
    let Some(program) = build(&go, workspace)? else { bail!("kube-apiserver did not build") };
    let mut command = Command::new(program);
    command.arg("-within").arg(folder(workspace));
    Ok(command)
}

fn build(go: &Path, workspace: &Workspace) -> Result<Option<PathBuf>> {
    let into = workspace.target.join("cluster");
    let mut build = go::build(go, "cluster", &into);
    println!("{}", process::line(&build));
    let program = into.join(format!("cluster{}", std::env::consts::EXE_SUFFIX));
    Ok(process::run(&mut build)?.then_some(program))
}

/// Where clusters of tests have their folders.
fn folder(workspace: &Workspace) -> PathBuf {
    workspace.target.join("cluster").join("run")
}

fn contents(folder: &Path) -> Result<Vec<PathBuf>> {
    if !folder.exists() {
        return Ok(Vec::new());
    }
    let entries = folder.read_dir().with_context(|| format!("cannot list {}", folder.display()))?;
    Ok(entries.map(|entry| entry.map(|entry| entry.path())).collect::<Result<_, _>>()?)
}

fn test_command(programs: &Programs) -> Command {
    let mut command = process::cargo([
        "test",
        "--workspace",
        "--features",
        "kube-conformance/__cluster",
        "--test",
        "conformance",
        "--no-fail-fast",
        "--",
        "real::",
        "kinds::",
        "command::",
    ]);
    command.env("CLUSTER_PROGRAM", &programs.program).env("CLUSTER_FOLDER", &programs.folder);
    command.env("CLUSTER_KUBECTL", &programs.kubectl).env("CLUSTER_INFORMER", &programs.informer);
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
  kubectl --context nobody get pods      # somebody without any rights
  informer watch configmaps

There are no nodes, no controllers and no scheduler. Commands, one a line:

  compact                                       forget history: watches from older versions are expired
  kill|start|restart|pause|resume CHILD         CHILD is etcd or kube-apiserver
  token NAMESPACE SERVICEACCOUNT UID SECONDS    a token that expires so soon

Ctrl-C or Ctrl-D ends it and deletes its files."
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn tests_are_told_where_the_program_is() {
        let [program, folder, kubectl, informer] =
            ["/cluster", "/run", "/kubectl", "/informer"].map(Into::into);
        let command = test_command(&Programs { program, folder, kubectl, informer });
        let expected = "CLUSTER_FOLDER=/run CLUSTER_INFORMER=/informer CLUSTER_KUBECTL=/kubectl \
                        CLUSTER_PROGRAM=/cluster cargo test --workspace --features \
                        kube-conformance/__cluster --test conformance --no-fail-fast -- real:: kinds:: command::";
        assert_eq!(process::line(&command), expected);
    }

    #[test]
    fn a_person_is_told_how_to_reach_it() {
        let text =
            welcome(&json!({ "version": "v1", "url": "https://host:1", "kubeconfig": "/a/kubeconfig" }));
        assert!(text.contains("v1 at https://host:1") && text.contains("KUBECONFIG=/a/kubeconfig"), "{text}");
    }

    #[test]
    fn nothing_is_left_where_nothing_was() {
        assert_eq!(contents(Path::new("no/such/folder")).unwrap(), [""; 0].map(PathBuf::from));
    }
}
