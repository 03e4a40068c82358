//! Builds the page of `informer web` from `web/`, compares it with the committed bundle, and tests it in Chromium.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result};

use crate::go::{self, Ready};
use crate::metadata::Workspace;
use crate::process;
use crate::programs;

/// The folder of the sources, and the committed bundle.
const SOURCES: &str = "web";
const BUNDLE: &str = "crates/cli/src/web/dist";
/// The programs that can run the tests, in order of preference.
const BROWSERS: [&str; 3] = ["chromium", "chromium-browser", "google-chrome"];

/// Checks the bundle, builds the command, and returns the command that runs the tests.
pub(crate) fn prepare(workspace: &Workspace) -> Result<Ready> {
    let (Some(npm), Some(node)) = (go::find("npm"), go::find("node")) else {
        let reason = "the page is skipped: `npm` is not in the PATH";
        return Ok(go::missing(reason, go::is_ci()).into());
    };
    let can_test = has_browser() || (go::is_ci() && install_browser()?);
    if !can_test {
        let reason = "the page is skipped: install chromium (`apt-get install chromium`), or set CHROMIUM";
        return Ok(go::missing(reason, go::is_ci()).into());
    }
    let run = |arguments: &[&str]| {
        let mut command = Command::new(&npm);
        process::run(command.current_dir(SOURCES).args(arguments))
    };
    let built = workspace.target.join("web");
    let output = built.to_string_lossy();
    if !run(&["ci"])? {
        return Ok(Ready::Fail("`npm ci` failed"));
    }
    if !run(&["run", "build", "--", "--outDir", &output, "--emptyOutDir"])? {
        return Ok(Ready::Fail("the page cannot be built"));
    }
    let differing = differences(&read(Path::new(BUNDLE))?, &read(&built)?);
    if !differing.is_empty() {
        println!("{BUNDLE} differs from {SOURCES}: {}", differing.join(", "));
        return Ok(Ready::Fail("the bundle is not current: run `npm --prefix web run build`"));
    }
    let Some(program) = programs::build(workspace, "informer")? else {
        return Ok(Ready::Fail("the command cannot be built"));
    };
    let mut test = Command::new(node);
    test.arg("test/browser.mjs").arg(program).current_dir(SOURCES);
    Ok(Ready::Test(test))
}

fn has_browser() -> bool {
    std::env::var_os("CHROMIUM").is_some() || BROWSERS.iter().any(|name| go::find(name).is_some())
}

/// Installs the browser of Debian, and returns whether there is one now.
fn install_browser() -> Result<bool> {
    let Some(apt) = go::find("apt-get") else { return Ok(false) };
    let run = |arguments: &[&str]| process::run(Command::new(&apt).args(arguments));
    let installed =
        run(&["update", "-qq"])? && run(&["install", "-qq", "-y", "--no-install-recommends", "chromium"])?;
    Ok(installed && has_browser())
}

/// Returns the files of a folder.
fn read(folder: &Path) -> Result<BTreeMap<String, Vec<u8>>> {
    let context = || format!("cannot read {}", folder.display());
    let mut files = BTreeMap::new();
    for entry in fs::read_dir(folder).with_context(context)? {
        let entry = entry.with_context(context)?;
        let contents = fs::read(entry.path()).with_context(context)?;
        files.insert(entry.file_name().to_string_lossy().into_owned(), contents);
    }
    Ok(files)
}

/// Returns the names of the files that differ or are missing in one folder.
fn differences(one: &BTreeMap<String, Vec<u8>>, other: &BTreeMap<String, Vec<u8>>) -> Vec<String> {
    let names = one.keys().chain(other.keys().filter(|name| !one.contains_key(*name)));
    names.filter(|name| one.get(*name) != other.get(*name)).cloned().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_changed_missing_or_additional_file_is_a_difference() {
        let files = |list: &[(&str, &str)]| {
            list.iter().map(|(name, text)| ((*name).to_owned(), text.as_bytes().to_vec())).collect()
        };
        let committed: BTreeMap<_, _> = files(&[("app.css", "a"), ("app.js", "b"), ("old.js", "c")]);
        let built = files(&[("app.css", "a"), ("app.js", "changed"), ("new.js", "d")]);
        assert_eq!(differences(&committed, &built), ["app.js", "old.js", "new.js"]);
        assert!(differences(&committed, &committed).is_empty());
    }
}
