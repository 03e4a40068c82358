//! Finds, builds and unpacks the programs that the interop tests run.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result};

use crate::interop::plan::Packaged;
use crate::process;

/// The Debian package that holds kubectl.
const PACKAGE: &str = "kubernetes-client";

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

/// Looks for a kubectl that a distribution built, and gets Debian's where there is apt-get.
///
/// The package is unpacked below `into` and not installed, which would need root and clash with other kubectls.
pub(crate) fn packaged(into: &Path) -> Result<Packaged> {
    let has_apt = find("apt-get").is_some() && find("dpkg-deb").is_some();
    let debian = if has_apt { debian(into)? } else { None };
    Ok(Packaged { debian, installed: find("kubectl"), has_apt })
}

fn debian(into: &Path) -> Result<Option<PathBuf>> {
    let folder = into.join("debian");
    let kubectl = folder.join("usr/bin/kubectl");
    if !kubectl.is_file() {
        fs::create_dir_all(&folder).with_context(|| format!("cannot make {}", folder.display()))?;
        let is_had = download(&folder)? || (update()? && download(&folder)?);
        if is_had {
            unpack(&folder)?;
        }
    }
    Ok(kubectl.is_file().then_some(kubectl))
}

fn download(into: &Path) -> Result<bool> {
    quiet(Command::new("apt-get").args(["download", "-qq", PACKAGE]).current_dir(into))
}

/// Reads the package lists anew, which takes root.
fn update() -> Result<bool> {
    quiet(Command::new("apt-get").args(["update", "-qq"]))
}

fn unpack(folder: &Path) -> Result<()> {
    for entry in fs::read_dir(folder).with_context(|| format!("cannot list {}", folder.display()))? {
        let package = entry?.path();
        if package.extension().is_some_and(|ending| ending == "deb") {
            quiet(Command::new("dpkg-deb").arg("--extract").args([&package, folder]))?;
            fs::remove_file(&package).with_context(|| format!("cannot remove {}", package.display()))?;
        }
    }
    Ok(())
}

/// Runs without its usual output; apt warns at length about folders that are root's own.
fn quiet(command: &mut Command) -> Result<bool> {
    println!("{}", process::line(command));
    process::run(command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn builds_small_programs_that_need_no_c_library() {
        let command = build(Path::new("/opt/go/bin/go"), Path::new("/tmp/target/interop"));
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
