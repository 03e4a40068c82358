//! Generates the field tables of the wire crate from the Go types of Kubernetes.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};

use crate::go::{self, Ready};
use crate::metadata::Workspace;
use crate::process;

/// The generated file.
const TABLES: &str = "crates/wire/src/protobuf/tables.rs";

const NO_GO: &str = "the field tables are skipped: `go` is not in the PATH";

/// Generates the tables.
pub(crate) fn write(workspace: &Workspace) -> Result<()> {
    let go = go::find("go").context(NO_GO)?;
    let built = build(&go, workspace)?.context("the generator did not build")?;
    let tables = go::generate(&process::executable(&built, "generate"))?;
    fs::write(TABLES, tables).with_context(|| format!("cannot write {TABLES}"))?;
    println!("wrote {TABLES}");
    Ok(())
}

/// Checks that the tables are up to date, and returns the command that runs the tests.
pub(crate) fn prepare(workspace: &Workspace) -> Result<Ready> {
    let go = match go::find_or_skip(NO_GO) {
        Ok(go) => go,
        Err(missing) => return Ok(missing.into()),
    };
    let Some(built) = build(&go, workspace)? else {
        return Ok(Ready::Fail("the Go programs did not build"));
    };
    let current = fs::read_to_string(TABLES).with_context(|| format!("cannot read {TABLES}"))?;
    if go::generate(&process::executable(&built, "generate"))? != current {
        return Ok(Ready::Fail("the field tables are outdated, run `cargo xtask tables`"));
    }
    Ok(Ready::Test(test_command(&process::executable(&built, "fill"))))
}

/// Returns the directory of the programs; `None` if they do not build.
fn build(go: &Path, workspace: &Workspace) -> Result<Option<PathBuf>> {
    go::build_into(go, "tables", workspace.target.join("tables"))
}

fn test_command(fill: &Path) -> Command {
    let mut command = process::cargo(["test", "--workspace", "--test", "kinds"]);
    command.env("KINDS_FILL", fill);
    command
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tests_get_the_path_of_the_program() {
        let expected = "KINDS_FILL=/a/fill cargo test --workspace --test kinds";
        assert_eq!(process::line(&test_command(Path::new("/a/fill"))), expected);
    }
}
