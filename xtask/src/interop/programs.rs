//! Finds and unpacks the kubectl of a distribution.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result};

use crate::go::find;
use crate::interop::plan::Packaged;
use crate::process;

/// The Debian package that holds kubectl.
const PACKAGE: &str = "kubernetes-client";

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
