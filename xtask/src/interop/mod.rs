//! Runs the devserver's tests against kubectl and client-go, built from the Go module in `interop/`.

mod plan;
mod programs;

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};

use crate::go::{self, Place, Plan, Ready, said};
use crate::metadata::Workspace;
use crate::process;

/// Gets the programs that the tests need.
pub(crate) fn prepare(workspace: &Workspace) -> Result<Ready> {
    const WHY: &str = "kubectl and client-go left out: no `go` on the PATH builds them";
    let place = Place::detect();
    let go = match go::with_go(go::find("go"), place, WHY) {
        Plan::Run(go) => go,
        Plan::LeaveOut(why) => return Ok(Ready::Skip(said(why))),
        Plan::Fail(why) => return Ok(Ready::Fail(said(why))),
    };
    let folder = workspace.target.join("interop");
    let mut build = go::build(&go, "interop", &folder);
    println!("{}", process::line(&build));
    if !process::run(&mut build)? {
        return Ok(Ready::Fail("kubectl and client-go did not build"));
    }
    let built = |name: &str| folder.join(format!("{name}{}", std::env::consts::EXE_SUFFIX));
    let mut kubectls = vec![built("kubectl")];
    match plan::with_packaged(programs::packaged(&folder)?, place) {
        Plan::Run(kubectl) => kubectls.push(kubectl),
        Plan::LeaveOut(why) => _ = said(why),
        Plan::Fail(why) => return Ok(Ready::Fail(said(why))),
    }
    let programs = Programs { follow: built("follow"), elect: built("elect") };
    test_command(&kubectls, &programs).map(Ready::Test)
}

/// Builds the programs, for those who need kubectl alone.
pub(crate) fn kubectl(go: &Path, workspace: &Workspace) -> Result<Option<PathBuf>> {
    let folder = workspace.target.join("interop");
    let mut build = go::build(go, "interop", &folder);
    println!("{}", process::line(&build));
    let program = folder.join(format!("kubectl{}", std::env::consts::EXE_SUFFIX));
    Ok(process::run(&mut build)?.then_some(program))
}

/// The programs that are built from the Go module, apart from kubectl.
struct Programs {
    follow: PathBuf,
    elect: PathBuf,
}

fn test_command(kubectls: &[PathBuf], programs: &Programs) -> Result<Command> {
    let kubectls: OsString =
        std::env::join_paths(kubectls).context("the target folder's path has a colon")?;
    let mut command = process::cargo([
        "test",
        "--workspace",
        "--features",
        "kube-devserver/__interop,kube-leases/__interop",
        "--test",
        "interop",
    ]);
    command
        .env("INTEROP_KUBECTL", kubectls)
        .env("INTEROP_FOLLOW", &programs.follow)
        .env("INTEROP_ELECT", &programs.elect);
    Ok(command)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tests_are_told_where_the_programs_are() {
        let programs = Programs { follow: "/a/follow".into(), elect: "/a/elect".into() };
        let command = test_command(&["/a/kubectl".into(), "/b/kubectl".into()], &programs).unwrap();
        let expected = "INTEROP_ELECT=/a/elect INTEROP_FOLLOW=/a/follow INTEROP_KUBECTL=/a/kubectl:/b/kubectl \
                        cargo test --workspace --features kube-devserver/__interop,kube-leases/__interop --test interop";
        assert_eq!(process::line(&command), expected);
    }
}
