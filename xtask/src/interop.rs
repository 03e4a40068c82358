//! Runs tests of the devserver with kubectl, client-go, kube-controller-manager and kube-scheduler, which are built from the Go modules
//! in `interop/`.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result};

use crate::go::{self, Missing, Ready};
use crate::metadata::Workspace;
use crate::process;

/// The Debian package of kubectl, whose version is some years old.
const DEBIAN_PACKAGE: &str = "kubernetes-client";

/// The tests with kube-controller-manager and kube-scheduler, which are a step of their own.
const CONTROLLERS: &str = "controllers::";

/// The tests with other programs in Go, which are a step of their own.
const PROGRAMS: &str = "programs::";

/// Builds the programs, and returns the command that runs the tests.
pub(crate) fn prepare(workspace: &Workspace) -> Result<Ready> {
    let go = match go::find_or_skip("kubectl and client-go are skipped: `go` is not in the PATH") {
        Ok(go) => go,
        Err(missing) => return Ok(missing.into()),
    };
    let Some(kubectl) = kubectl(&go, workspace)? else {
        return Ok(Ready::Fail("kubectl and client-go did not build"));
    };
    let directory = workspace.target.join("interop");
    let mut kubectls = vec![kubectl];
    match packaged_kubectl(&directory)? {
        Some(kubectl) => kubectls.push(kubectl),
        None => {
            let reason = "the packaged kubectl is skipped: none in the PATH, and no package from apt-get";
            if let Missing::Fail(reason) = go::missing(reason, go::is_ci() && has_apt()) {
                return Ok(Ready::Fail(reason));
            }
        }
    }
    let programs = Programs {
        follow: process::executable(&directory, "follow"),
        elect: process::executable(&directory, "elect"),
    };
    test_command(&kubectls, &programs).map(Ready::Test)
}

/// Builds kube-controller-manager and kube-scheduler, and returns the command that runs the tests with them.
pub(crate) fn prepare_controllers(workspace: &Workspace) -> Result<Ready> {
    let go = match go::find_or_skip("kube-controller-manager is skipped: `go` is not in the PATH") {
        Ok(go) => go,
        Err(missing) => return Ok(missing.into()),
    };
    Ok(match controllers(&go, workspace)? {
        Some(program) => Ready::Test(controllers_test_command(&program)),
        None => Ready::Fail("kube-controller-manager and kube-scheduler did not build"),
    })
}

/// Builds kube-controller-manager and kube-scheduler as one program, and returns its path; `None` if it does not build.
///
/// It is a module of its own because it depends on `k8s.io/kubernetes`: the first build takes minutes.
pub(crate) fn controllers(go: &Path, workspace: &Workspace) -> Result<Option<PathBuf>> {
    let built = go::build_into(go, "interop/controllers", workspace.target.join("controllers"))?;
    Ok(built.map(|directory| process::executable(&directory, "controllers")))
}

fn controllers_test_command(program: &Path) -> Command {
    let mut command = process::cargo(["test", "--workspace", "--test", "interop", "--", CONTROLLERS]);
    command.env("INTEROP_CONTROLLERS", program);
    command
}

/// Builds the programs in `interop/programs`, and returns the command that runs the tests with them.
pub(crate) fn prepare_programs(workspace: &Workspace) -> Result<Ready> {
    let go = match go::find_or_skip("programs in Go are skipped: `go` is not in the PATH") {
        Ok(go) => go,
        Err(missing) => return Ok(missing.into()),
    };
    let directory = workspace.target.join("programs");
    let mut build = go::build(&go, "interop/programs", &directory);
    // Its main package is at the root of its module.
    build.arg("k8s.io/sample-controller");
    println!("{}", process::line(&build));
    Ok(match process::run(&mut build)? {
        true => Ready::Test(programs_test_command(&directory)),
        false => Ready::Fail("the programs did not build"),
    })
}

fn programs_test_command(directory: &Path) -> Command {
    let mut command = process::cargo(["test", "--workspace", "--test", "interop", "--", PROGRAMS]);
    command.env("INTEROP_PROGRAMS", directory);
    command
}

/// Builds the Go programs, and returns the path of kubectl; `None` if they do not build.
pub(crate) fn kubectl(go: &Path, workspace: &Workspace) -> Result<Option<PathBuf>> {
    let built = go::build_into(go, "interop", workspace.target.join("interop"))?;
    Ok(built.map(|directory| process::executable(&directory, "kubectl")))
}

/// The programs of the Go module other than kubectl.
struct Programs {
    follow: PathBuf,
    elect: PathBuf,
}

fn test_command(kubectls: &[PathBuf], programs: &Programs) -> Result<Command> {
    let kubectls: OsString =
        std::env::join_paths(kubectls).context("the target directory contains a colon")?;
    let skipped = ["--skip", CONTROLLERS, "--skip", PROGRAMS];
    let mut command = process::cargo(["test", "--workspace", "--test", "interop", "--"]);
    command.args(skipped);
    command
        .env("INTEROP_KUBECTL", kubectls)
        .env("INTEROP_FOLLOW", &programs.follow)
        .env("INTEROP_ELECT", &programs.elect);
    Ok(command)
}

fn has_apt() -> bool {
    go::find("apt-get").is_some() && go::find("dpkg-deb").is_some()
}

/// Returns the kubectl of the Debian package, or else the one in the PATH.
///
/// The package is extracted and not installed, which would need root and conflict with other packages.
fn packaged_kubectl(directory: &Path) -> Result<Option<PathBuf>> {
    let directory = directory.join("debian");
    let kubectl = directory.join("usr/bin/kubectl");
    if has_apt() && !kubectl.is_file() {
        fs::create_dir_all(&directory).with_context(|| format!("cannot create {}", directory.display()))?;
        let download = || {
            run_quietly(
                Command::new("apt-get").args(["download", "-qq", DEBIAN_PACKAGE]).current_dir(&directory),
            )
        };
        // Updating the package lists needs root.
        let update = || run_quietly(Command::new("apt-get").args(["update", "-qq"]));
        if download()? || (update()? && download()?) {
            extract_packages(&directory)?;
        }
    }
    Ok(if kubectl.is_file() { Some(kubectl) } else { go::find("kubectl") })
}

fn extract_packages(directory: &Path) -> Result<()> {
    for entry in fs::read_dir(directory).with_context(|| format!("cannot list {}", directory.display()))? {
        let package = entry?.path();
        if package.extension().is_some_and(|extension| extension == "deb") {
            run_quietly(Command::new("dpkg-deb").arg("--extract").arg(&package).arg(directory))?;
            fs::remove_file(&package).with_context(|| format!("cannot remove {}", package.display()))?;
        }
    }
    Ok(())
}

fn run_quietly(command: &mut Command) -> Result<bool> {
    println!("{}", process::line(command));
    process::run(command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_controllers_run_in_a_command_of_their_own() {
        let command = controllers_test_command(Path::new("/a/controllers"));
        let expected = "INTEROP_CONTROLLERS=/a/controllers \
                        cargo test --workspace --test interop -- controllers::";
        assert_eq!(process::line(&command), expected);
    }

    #[test]
    fn the_other_programs_run_in_a_command_of_their_own() {
        let command = programs_test_command(Path::new("/a/programs"));
        let expected = "INTEROP_PROGRAMS=/a/programs cargo test --workspace --test interop -- programs::";
        assert_eq!(process::line(&command), expected);
    }

    #[test]
    fn the_tests_get_the_paths_of_the_programs() {
        let programs = Programs { follow: "/a/follow".into(), elect: "/a/elect".into() };
        let command = test_command(&["/a/kubectl".into(), "/b/kubectl".into()], &programs).unwrap();
        let expected = "INTEROP_ELECT=/a/elect INTEROP_FOLLOW=/a/follow INTEROP_KUBECTL=/a/kubectl:/b/kubectl \
                        cargo test --workspace --test interop -- --skip controllers:: --skip programs::";
        assert_eq!(process::line(&command), expected);
    }
}
