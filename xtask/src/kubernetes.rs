//! Another version of Kubernetes than that of `cluster/go.mod`: its Go module is generated.

use std::fmt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::str::FromStr;

use anyhow::{Context, Result, bail, ensure};
use serde_json::Value;

use crate::metadata::Workspace;
use crate::process;

/// The Go module of Kubernetes.
const MODULE: &str = "k8s.io/kubernetes";

/// The module of `cluster/`.
const CLUSTER: &str = "github.com/kube-informer/kube-informer/cluster";

/// The patch releases that the support table of `docs/cluster.md` names. The lists of versions of module proxies are incomplete.
const TESTED: [Release; 2] = [Release { minor: 33, patch: 13 }, Release { minor: 37, patch: 1 }];

/// The version of a command line: `1.33` or `1.33.13`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Version {
    minor: u32,
    patch: Option<u32>,
}

/// An exact version.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Release {
    minor: u32,
    patch: u32,
}

impl FromStr for Version {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let numbers: Option<Vec<u32>> =
            text.trim_start_matches('v').split('.').map(|number| number.parse().ok()).collect();
        match numbers.as_deref() {
            Some(&[1, minor]) => Ok(Self { minor, patch: None }),
            Some(&[1, minor, patch]) => Ok(Self { minor, patch: Some(patch) }),
            _ => Err(format!("invalid version {text:?}: expected a version such as 1.33 or 1.33.13")),
        }
    }
}

impl fmt::Display for Release {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "v1.{}.{}", self.minor, self.patch)
    }
}

impl Release {
    /// Returns the version of the modules that are part of the repository of Kubernetes, such as `k8s.io/api`.
    fn staging(self) -> String {
        format!("v0.{}.{}", self.minor, self.patch)
    }
}

/// A Go module that is ready to be built.
#[derive(Debug)]
pub(crate) struct Generated {
    pub(crate) module: PathBuf,
    /// The directory of its program.
    pub(crate) into: PathBuf,
}

/// Removes `--kubernetes VERSION` from the arguments of a program, and returns the version.
pub(crate) fn take_version(arguments: &mut Vec<String>) -> Result<Option<Version>> {
    let Some(at) = arguments.iter().position(|argument| argument == "--kubernetes") else { return Ok(None) };
    ensure!(at + 1 < arguments.len(), "--kubernetes needs a version such as 1.33 or 1.33.13");
    let version = arguments.drain(at..at + 2).nth(1).unwrap_or_default();
    version.parse().map(Some).map_err(anyhow::Error::msg)
}

impl Version {
    /// Writes the Go module of this version below the target directory.
    pub(crate) fn generate(self, go: &Path, workspace: &Workspace) -> Result<Generated> {
        let release = self.release(go)?;
        let sources = download(go, release)?;
        let into = workspace.target.join("cluster").join(release.to_string());
        let module = into.join("module");
        std::fs::create_dir_all(&module)
            .with_context(|| format!("cannot create the directory {}", module.display()))?;
        for entry in Path::new("cluster").read_dir().context("cannot list the directory cluster")? {
            let file = entry?.path();
            if file.extension().is_some_and(|extension| extension == "go") {
                copy(&file, &module)?;
            }
        }
        let text = std::fs::read_to_string(sources.join("go.mod"))
            .with_context(|| format!("cannot read go.mod in {}", sources.display()))?;
        std::fs::write(module.join("go.mod"), go_mod(&text, release))?;
        // Go adds the checksums of the staging modules, which it gets from the checksum database.
        if !module.join("go.sum").exists() {
            copy(&sources.join("go.sum"), &module)?;
        }
        Ok(Generated { module, into })
    }

    fn release(self, go: &Path) -> Result<Release> {
        if let Some(patch) = self.patch {
            return Ok(Release { minor: self.minor, patch });
        }
        if let Some(tested) = TESTED.iter().find(|tested| tested.minor == self.minor) {
            return Ok(*tested);
        }
        let mut list = Command::new(go);
        // The workspace has no Go module at its root.
        list.args(["list", "-C", "cluster", "-m", "-f", "{{.Version}}"])
            .arg(format!("{MODULE}@v1.{}", self.minor));
        let output = list.output().with_context(|| format!("cannot start `{}`", process::line(&list)))?;
        let text = String::from_utf8_lossy(&output.stdout);
        match text.trim().parse() {
            Ok(Self { minor, patch: Some(patch) }) if output.status.success() => Ok(Release { minor, patch }),
            _ => bail!(
                "no release of Kubernetes 1.{}: {}",
                self.minor,
                String::from_utf8_lossy(&output.stderr)
            ),
        }
    }
}

/// Downloads the sources of Kubernetes, and returns their directory.
fn download(go: &Path, release: Release) -> Result<PathBuf> {
    let mut command = Command::new(go);
    command.args(["mod", "download", "-C", "cluster", "-json"]).arg(format!("{MODULE}@{release}"));
    println!("{}", process::line(&command));
    let output = command.output().with_context(|| format!("cannot start `{}`", process::line(&command)))?;
    let answer: Value = serde_json::from_slice(&output.stdout).with_context(|| {
        format!("`{}` failed: {}", process::line(&command), String::from_utf8_lossy(&output.stderr))
    })?;
    match (answer["Dir"].as_str(), answer["Error"].as_str()) {
        (Some(directory), None) => Ok(directory.into()),
        (_, error) => bail!("cannot download Kubernetes {release}: {}", error.unwrap_or("no directory")),
    }
}

/// Copies a file into a directory. Files in the module cache are read-only, and their copies are not.
fn copy(file: &Path, directory: &Path) -> Result<()> {
    let content = std::fs::read(file).with_context(|| format!("cannot read {}", file.display()))?;
    let copy = directory.join(file.file_name().context("a file has a name")?);
    std::fs::write(&copy, content).with_context(|| format!("cannot write {}", copy.display()))
}

/// Returns the `go.mod` of the cluster program. It requires what Kubernetes requires, with its staging modules as they were published.
fn go_mod(kubernetes: &str, release: Release) -> String {
    let staging = release.staging();
    let mut lines = Vec::new();
    for line in kubernetes.lines() {
        let words: Vec<&str> = line.split_whitespace().collect();
        lines.push(match words.as_slice() {
            ["module", MODULE] => format!("module {CLUSTER}"),
            [module, "v0.0.0", rest @ ..] if module.starts_with("k8s.io/") => {
                format!("\t{}", [&[*module, &staging], rest].concat().join(" "))
            }
            [module, "=>", path] if path.starts_with("./staging/") => {
                format!("\t{module} => {module} {staging}")
            }
            _ => line.to_owned(),
        });
    }
    lines.push(format!("\nrequire {MODULE} {release}\n"));
    lines.join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_version_is_a_minor_or_an_exact_one() {
        assert_eq!("1.33".parse(), Ok(Version { minor: 33, patch: None }));
        assert_eq!("v1.36.4".parse(), Ok(Version { minor: 36, patch: Some(4) }));
        for text in ["", "1", "2.1", "1.33.x", "1.33.1.2", "latest"] {
            let error = text.parse::<Version>().unwrap_err();
            assert!(error.contains(&format!("{text:?}")) && error.contains("1.33.13"), "{error}");
        }
    }

    #[test]
    fn the_version_is_removed_from_the_arguments_of_the_program() {
        let words = |line: &str| line.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
        let mut arguments = words("-port 6443 --kubernetes 1.33 -verbose");
        assert_eq!(take_version(&mut arguments).unwrap(), Some(Version { minor: 33, patch: None }));
        assert_eq!(arguments, words("-port 6443 -verbose"));
        assert_eq!(take_version(&mut arguments).unwrap(), None);
        assert!(take_version(&mut words("--kubernetes")).is_err());
        assert!(take_version(&mut words("--kubernetes -port")).is_err());
    }

    #[test]
    fn tested_minors_and_exact_versions_need_no_list_of_versions() {
        let release = |text: &str| text.parse::<Version>().unwrap().release(Path::new("no/such/go")).ok();
        assert_eq!(release("1.33"), Some(TESTED[0]));
        assert_eq!(release("1.33.2").map(|release| release.to_string()).as_deref(), Some("v1.33.2"));
        assert_eq!(release("1.1"), None);
    }

    #[test]
    fn staging_modules_have_the_version_of_kubernetes() {
        let kubernetes = "module k8s.io/kubernetes\n\ngo 1.24.0\n\nrequire (\n\tgo.uber.org/zap v1.27.0\n\t\
                          k8s.io/api v0.0.0\n\tk8s.io/kms v0.0.0 // indirect\n\tk8s.io/klog/v2 v2.130.1\n)\n\n\
                          replace (\n\tk8s.io/api => ./staging/src/k8s.io/api\n)\n";
        let expected = "module github.com/kube-informer/kube-informer/cluster\n\ngo 1.24.0\n\nrequire (\n\t\
                        go.uber.org/zap v1.27.0\n\tk8s.io/api v0.33.13\n\tk8s.io/kms v0.33.13 // indirect\n\t\
                        k8s.io/klog/v2 v2.130.1\n)\n\nreplace (\n\tk8s.io/api => k8s.io/api v0.33.13\n)\n\n\
                        require k8s.io/kubernetes v1.33.13\n";
        assert_eq!(go_mod(kubernetes, TESTED[0]), expected);
    }
}
