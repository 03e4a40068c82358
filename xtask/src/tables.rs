//! The field tables of the wire crate, which a Go program writes from the types of Kubernetes.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};

use crate::go::{self, Place, Plan, Ready, said};
use crate::metadata::Workspace;
use crate::process;

/// What is generated.
const TABLES: &str = "crates/wire/src/protobuf/tables.rs";

const NO_GO: &str = "field tables left out: no `go` on the PATH builds the program that writes them";

/// Writes the tables anew.
pub(crate) fn write(workspace: &Workspace) -> Result<()> {
    let go = go::find("go").context(NO_GO)?;
    let built = build(&go, workspace)?.context("the program that writes the tables did not build")?;
    let tables = generate(&built)?;
    fs::write(TABLES, tables).with_context(|| format!("cannot write {TABLES}"))?;
    println!("wrote {TABLES}");
    Ok(())
}

/// Sees whether the tables are those that would be written, and gets the program that the tests need.
pub(crate) fn prepare(workspace: &Workspace) -> Result<Ready> {
    let go = match go::with_go(go::find("go"), Place::detect(), NO_GO) {
        Plan::Run(go) => go,
        Plan::LeaveOut(why) => return Ok(Ready::Skip(said(why))),
        Plan::Fail(why) => return Ok(Ready::Fail(said(why))),
    };
    let Some(built) = build(&go, workspace)? else {
        return Ok(Ready::Fail("the programs that know the Go types did not build"));
    };
    let kept = fs::read_to_string(TABLES).with_context(|| format!("cannot read {TABLES}"))?;
    if generate(&built)? != kept {
        return Ok(Ready::Fail("the field tables are not what `cargo xtask tables` writes"));
    }
    Ok(Ready::Test(test_command(&program(&built, "fill"))))
}

/// The folder with the programs; nothing if they do not build.
fn build(go: &Path, workspace: &Workspace) -> Result<Option<PathBuf>> {
    let folder = workspace.target.join("tables");
    let mut build = go::build(go, "tables", &folder);
    println!("{}", process::line(&build));
    Ok(process::run(&mut build)?.then_some(folder))
}

fn generate(built: &Path) -> Result<String> {
    let output = Command::new(program(built, "generate")).output().context("the generator did not start")?;
    let said = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "the generator failed: {said}");
    String::from_utf8(output.stdout).context("the tables are text")
}

fn program(folder: &Path, name: &str) -> PathBuf {
    folder.join(format!("{name}{}", std::env::consts::EXE_SUFFIX))
}

fn test_command(fill: &Path) -> Command {
    let mut command = process::cargo([
        "test",
        "--workspace",
        "--features",
        "kube-informer-wire/__kinds",
        "--test",
        "kinds",
    ]);
    command.env("KINDS_FILL", fill);
    command
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tests_are_told_where_the_program_is() {
        let expected =
            "KINDS_FILL=/a/fill cargo test --workspace --features kube-informer-wire/__kinds --test kinds";
        assert_eq!(process::line(&test_command(Path::new("/a/fill"))), expected);
    }
}
