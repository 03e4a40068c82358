//! Runs the devserver's tests against kubectl and client-go, built from the Go module in `interop/`.

pub(crate) mod plan;
pub(crate) mod programs;

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};

use crate::interop::plan::{Place, Plan};
use crate::metadata::Workspace;
use crate::process;

/// Without Go neither kubectl nor the informer of client-go can be built.
const NO_GO: &str = "kubectl and client-go left out: no `go` on the PATH builds them";

/// What the step comes to.
#[derive(Debug)]
pub(crate) enum Ready {
    /// This command runs the tests.
    Test(Command),
    /// There are none, for this reason.
    Skip(&'static str),
    /// There have to be some, and for this reason there are none.
    Fail(&'static str),
}

/// Gets the programs that the tests need.
pub(crate) fn prepare(workspace: &Workspace) -> Result<Ready> {
    let place = Place::from_variable(std::env::var("CI").ok().as_deref());
    let go = match plan::with_go(programs::find("go"), place, NO_GO) {
        Plan::Run(go) => go,
        Plan::LeaveOut(why) => return Ok(Ready::Skip(said(why))),
        Plan::Fail(why) => return Ok(Ready::Fail(said(why))),
    };
    let folder = workspace.target.join("interop");
    let mut build = programs::build(&go, "interop", &folder);
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
    test_command(&kubectls, &built("follow")).map(Ready::Test)
}

/// Prints why something is left out.
pub(crate) fn said(why: &'static str) -> &'static str {
    println!("{why}");
    why
}

fn test_command(kubectls: &[PathBuf], follow: &Path) -> Result<Command> {
    let kubectls: OsString =
        std::env::join_paths(kubectls).context("the target folder's path has a colon")?;
    let mut command = process::cargo([
        "test",
        "--workspace",
        "--features",
        "kube-devserver/__interop",
        "--test",
        "interop",
    ]);
    command.env("INTEROP_KUBECTL", kubectls).env("INTEROP_FOLLOW", follow);
    Ok(command)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tests_are_told_where_the_programs_are() {
        let command =
            test_command(&["/a/kubectl".into(), "/b/kubectl".into()], Path::new("/a/follow")).unwrap();
        let expected = "INTEROP_FOLLOW=/a/follow INTEROP_KUBECTL=/a/kubectl:/b/kubectl \
                        cargo test --workspace --features kube-devserver/__interop --test interop";
        assert_eq!(process::line(&command), expected);
    }
}
