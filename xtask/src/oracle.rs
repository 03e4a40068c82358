//! The merge schema of the devserver, and the Go program that its server-side apply is compared with.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};

use crate::go::{self, Ready};
use crate::metadata::Workspace;
use crate::openapi;
use crate::process;

/// The generated merge schema.
const SCHEMA: &str = "crates/devserver/src/apply/merge_schema.txt";
/// The Go module with both programs; it depends on `k8s.io/kubernetes`, and the first build takes minutes.
const MODULE: &str = "tables/kubernetes";

const NO_GO: &str = "merge schema skipped: no `go` on the PATH builds the program that writes it";

/// Generates the merge schema.
pub(crate) fn write(workspace: &Workspace) -> Result<()> {
    let go = go::find("go").context(NO_GO)?;
    let built = build(&go, workspace)?.context("the program that writes the merge schema did not build")?;
    fs::write(SCHEMA, go::generate(&process::executable(&built, "schema"))?)
        .with_context(|| format!("cannot write {SCHEMA}"))?;
    println!("wrote {SCHEMA}");
    Ok(())
}

/// Checks that the merge schema is up to date, and builds the program that the tests use.
pub(crate) fn prepare(workspace: &Workspace) -> Result<Ready> {
    let go = match go::find_or_skip(NO_GO) {
        Ok(go) => go,
        Err(missing) => return Ok(missing.into()),
    };
    let Some(built) = build(&go, workspace)? else {
        return Ok(Ready::Fail("the programs with the libraries of kube-apiserver did not build"));
    };
    let kept = fs::read_to_string(SCHEMA).with_context(|| format!("cannot read {SCHEMA}"))?;
    if go::generate(&process::executable(&built, "schema"))? != kept {
        return Ok(Ready::Fail("the merge schema is not what `cargo xtask tables` writes"));
    }
    if !openapi::is_current(&go)? {
        return Ok(Ready::Fail("the OpenAPI schemas are outdated, run `cargo xtask tables`"));
    }
    Ok(Ready::Test(test_command(&process::executable(&built, "oracle"))))
}

/// Returns the directory of the programs; `None` if they do not build.
fn build(go: &Path, workspace: &Workspace) -> Result<Option<PathBuf>> {
    go::build_into(go, MODULE, workspace.target.join("kubernetes"))
}

fn test_command(oracle: &Path) -> Command {
    let mut command = process::cargo(["test", "--workspace", "--test", "oracle"]);
    command.env("DEVSERVER_ORACLE", oracle);
    command
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tests_get_the_path_of_the_program() {
        let expected = "DEVSERVER_ORACLE=/a/oracle cargo test --workspace --test oracle";
        assert_eq!(process::line(&test_command(Path::new("/a/oracle"))), expected);
    }
}
