//! Go: whether it is there, what its absence means, and how programs are built with it.

use std::path::{Path, PathBuf};
use std::process::Command;

/// Who waits for the result.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Place {
    /// A contributor's machine, which need not have everything.
    Desk,
    /// Continuous integration, where what is left out is never missed.
    Ci,
}

/// What becomes of the tests.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Plan<T> {
    Run(T),
    LeaveOut(&'static str),
    Fail(&'static str),
}

/// What a step comes to.
#[derive(Debug)]
pub(crate) enum Ready {
    /// This command runs the tests.
    Test(Command),
    /// There are none, for this reason.
    Skip(&'static str),
    /// There have to be some, and for this reason there are none.
    Fail(&'static str),
}

impl Place {
    /// Where this runs.
    pub(crate) fn detect() -> Self {
        Self::from_variable(std::env::var("CI").ok().as_deref())
    }

    /// CI services set `CI=true`.
    fn from_variable(ci: Option<&str>) -> Self {
        match ci {
            None | Some("" | "0" | "false") => Self::Desk,
            Some(_) => Self::Ci,
        }
    }
}

/// What becomes of tests that need Go; `why` is said where they are left out.
pub(crate) fn with_go(go: Option<PathBuf>, place: Place, why: &'static str) -> Plan<PathBuf> {
    match (go, place) {
        (Some(go), Place::Desk | Place::Ci) => Plan::Run(go),
        (None, Place::Desk) => Plan::LeaveOut(why),
        (None, Place::Ci) => Plan::Fail(why),
    }
}

/// The program of this name on the PATH.
pub(crate) fn find(name: &str) -> Option<PathBuf> {
    let file = format!("{name}{}", std::env::consts::EXE_SUFFIX);
    let folders = std::env::var_os("PATH")?;
    std::env::split_paths(&folders).map(|folder| folder.join(&file)).find(|program| program.is_file())
}

/// The command that builds every program of a Go module into a folder.
pub(crate) fn build(go: &Path, module: &str, into: &Path) -> Command {
    let mut command = Command::new(go);
    command.args(["build", "-C", module, "-trimpath", "-ldflags=-s -w", "-o"]);
    // Only a path that ends in a separator is a folder to Go.
    command.arg(into.join("")).arg("./...").env("CGO_ENABLED", "0");
    command
}

/// Says a reason aloud, and gives it back.
pub(crate) fn said(why: &'static str) -> &'static str {
    println!("{why}");
    why
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::process;

    const WHY: &str = "left out: no `go`";

    #[test]
    fn runs_wherever_go_is() {
        for place in [Place::Desk, Place::Ci] {
            assert_eq!(with_go(Some("/go".into()), place, WHY), Plan::Run("/go".into()));
        }
    }

    #[test]
    fn says_at_the_desk_what_was_left_out_without_go() {
        assert_eq!(with_go(None, Place::Desk, WHY), Plan::LeaveOut(WHY));
    }

    #[test]
    fn ci_fails_without_go() {
        assert_eq!(with_go(None, Place::Ci, WHY), Plan::Fail(WHY));
    }

    #[test]
    fn ci_is_what_says_so() {
        for (variable, place) in [
            (None, Place::Desk),
            (Some(""), Place::Desk),
            (Some("false"), Place::Desk),
            (Some("true"), Place::Ci),
            (Some("1"), Place::Ci),
        ] {
            assert_eq!(Place::from_variable(variable), place, "{variable:?}");
        }
    }

    #[test]
    fn builds_small_programs_that_need_no_c_library() {
        let command = build(Path::new("/opt/go/bin/go"), "interop", Path::new("/tmp/target/interop"));
        let expected =
            "CGO_ENABLED=0 go build -C interop -trimpath -ldflags=-s -w -o /tmp/target/interop/ ./...";
        assert_eq!(process::line(&command), expected);
    }

    #[test]
    fn finds_what_is_on_the_path_and_nothing_else() {
        assert!(find("cargo").is_some());
        assert_eq!(find("no-such-program"), None);
    }
}
