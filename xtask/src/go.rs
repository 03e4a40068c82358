//! Finds Go, and builds programs with it.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};

use crate::process;

/// A prepared step.
#[derive(Debug)]
pub(crate) enum Ready {
    /// The command that runs the tests.
    Test(Command),
    /// The reason for skipping the tests.
    Skip(&'static str),
    /// The reason why the tests cannot run.
    Fail(&'static str),
}

/// A missing program: the reason for skipping its tests, or for their failure.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Missing {
    Skip(&'static str),
    Fail(&'static str),
}

impl From<Missing> for Ready {
    fn from(missing: Missing) -> Self {
        match missing {
            Missing::Skip(reason) => Self::Skip(reason),
            Missing::Fail(reason) => Self::Fail(reason),
        }
    }
}

/// Returns the path of Go. Without Go, the step is skipped, or fails in CI, where nothing may be skipped.
pub(crate) fn find_or_skip(reason: &'static str) -> std::result::Result<PathBuf, Missing> {
    find("go").ok_or_else(|| missing(reason, is_ci()))
}

/// Prints the reason for a skipped test; in CI it is a failure.
pub(crate) fn missing(reason: &'static str, is_ci: bool) -> Missing {
    println!("{reason}");
    if is_ci { Missing::Fail(reason) } else { Missing::Skip(reason) }
}

/// Returns true in CI, which sets `CI=true`.
pub(crate) fn is_ci() -> bool {
    is_true(std::env::var("CI").ok().as_deref())
}

fn is_true(variable: Option<&str>) -> bool {
    !matches!(variable, None | Some("" | "0" | "false"))
}

/// Returns the program with this name in the PATH.
pub(crate) fn find(name: &str) -> Option<PathBuf> {
    let directories = std::env::var_os("PATH")?;
    std::env::split_paths(&directories)
        .map(|directory| process::executable(&directory, name))
        .find(|program| program.is_file())
}

/// Returns the command that builds all programs of a Go module into a directory.
pub(crate) fn build(go: &Path, module: impl AsRef<OsStr>, into: &Path) -> Command {
    let mut command = Command::new(go);
    command.args(["build", "-C"]).arg(module).args(["-trimpath", "-ldflags=-s -w", "-o"]);
    // Go treats a path as a directory only if it ends in a separator.
    command.arg(into.join("")).arg("./...").env("CGO_ENABLED", "0");
    command
}

/// Builds all programs of a Go module into a directory, and returns the directory; `None` if they do not build.
pub(crate) fn build_into(go: &Path, module: &str, directory: PathBuf) -> Result<Option<PathBuf>> {
    let mut build = build(go, module, &directory);
    println!("{}", process::line(&build));
    Ok(process::run(&mut build)?.then_some(directory))
}

/// Runs a program that writes a generated file to its standard output.
pub(crate) fn generate(program: &Path) -> Result<String> {
    let output = Command::new(program).output().context("cannot start the generator")?;
    let error = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "the generator failed: {error}");
    String::from_utf8(output.stdout).context("the generator printed invalid UTF-8")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tests_without_go_are_skipped_and_fail_in_ci() {
        assert_eq!(missing("no Go", false), Missing::Skip("no Go"));
        assert_eq!(missing("no Go", true), Missing::Fail("no Go"));
    }

    #[test]
    fn ci_is_detected_by_its_variable() {
        assert!(is_true(Some("true")) && is_true(Some("1")));
        assert!(!is_true(None) && !is_true(Some("")) && !is_true(Some("false")));
    }

    #[test]
    fn programs_are_built_without_a_c_library() {
        let command = build(Path::new("/opt/go/bin/go"), "interop", Path::new("/tmp/target/interop"));
        let expected =
            "CGO_ENABLED=0 go build -C interop -trimpath -ldflags=-s -w -o /tmp/target/interop/ ./...";
        assert_eq!(process::line(&command), expected);
    }

    #[test]
    fn programs_are_found_in_the_path() {
        assert!(find("cargo").is_some());
        assert_eq!(find("no-such-program"), None);
    }
}
