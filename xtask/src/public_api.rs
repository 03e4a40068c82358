//! Lists the public items of the published libraries, and compares them with the committed lists.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use anyhow::{Context, Result, ensure};
use clap::Args;

use crate::process;

/// The folder of the lists.
const FOLDER: &str = "docs/public-api";

/// The libraries, by their folder in `crates`, with the features that docs.rs documents.
const LIBRARIES: [(&str, &str); 7] = [
    ("devserver", ""),
    ("history", ""),
    ("informer", "testing,controller,manager,kube-runtime,compressed,saved,history,leases"),
    ("leases", ""),
    ("saved", ""),
    ("wire", ""),
    ("workqueue", ""),
];

/// The arguments of `public-api`.
#[derive(Args, Debug)]
pub(crate) struct Arguments {
    /// Compare with the committed lists instead of writing them.
    #[arg(long)]
    check: bool,
}

/// Writes or compares the list of every library. Needs `cargo install cargo-public-api --locked` and a nightly toolchain.
pub(crate) fn run(root: &Path, arguments: &Arguments) -> Result<bool> {
    let mut is_current = true;
    for (library, features) in LIBRARIES {
        let file = root.join(FOLDER).join(format!("{library}.txt"));
        let list = list(&root.join("crates").join(library), features)?;
        if !arguments.check {
            write(&file, &list)?;
            continue;
        }
        let committed = fs::read_to_string(&file).unwrap_or_default();
        let changes = differences(&committed, &list);
        changes.iter().for_each(|change| println!("{library}: {change}"));
        is_current &= changes.is_empty();
    }
    if !is_current {
        println!(
            "the public API has changed: run `cargo xtask public-api`, and commit the lists in {FOLDER}"
        );
    }
    Ok(is_current)
}

fn write(file: &PathBuf, list: &str) -> Result<()> {
    let context = || format!("cannot write {}", file.display());
    fs::create_dir_all(file.parent().unwrap_or(file)).with_context(context)?;
    fs::write(file, list).with_context(context)
}

fn list(folder: &Path, features: &str) -> Result<String> {
    let mut command = process::cargo(["public-api", "-sss"]);
    // The toolchain of this program would be used instead of nightly.
    command.env_remove("RUSTUP_TOOLCHAIN").arg("--manifest-path").arg(folder.join("Cargo.toml"));
    if !features.is_empty() {
        command.args(["--features", features]);
    }
    let output = command.stderr(Stdio::inherit()).output().context("cannot start cargo")?;
    ensure!(
        output.status.success(),
        "`cargo public-api` failed: it needs `cargo install cargo-public-api --locked` and `rustup toolchain install nightly`"
    );
    String::from_utf8(output.stdout).context("`cargo public-api` printed invalid UTF-8")
}

/// Returns the lines that were removed and added.
fn differences(committed: &str, current: &str) -> Vec<String> {
    let missing = |text: &str, other: &str, sign: char| -> Vec<String> {
        let known: std::collections::HashSet<_> = other.lines().collect();
        text.lines().filter(|line| !known.contains(line)).map(|line| format!("{sign} {line}")).collect()
    };
    let mut lines = missing(committed, current, '-');
    lines.extend(missing(current, committed, '+'));
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn removed_and_added_items_are_listed() {
        assert_eq!(
            differences("pub fn a()\npub fn b()\n", "pub fn b()\npub fn c()\n"),
            ["- pub fn a()", "+ pub fn c()"]
        );
        assert!(differences("pub fn a()\n", "pub fn a()\n").is_empty());
    }
}
