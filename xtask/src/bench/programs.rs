//! Builds the programs that are measured, or says why one is left out.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Result, bail};

use crate::bench::contender::Program;
use crate::bench::options::Profile;
use crate::go::{self, Place, Plan};
use crate::metadata::Workspace;
use crate::process;

/// Where the programs are.
#[derive(Debug)]
pub(crate) struct Programs {
    found: BTreeMap<Program, PathBuf>,
}

const NO_GO: &str = "client-go left out: no `go` on the PATH builds it";

impl Programs {
    /// Builds these programs.
    pub(crate) fn build(workspace: &Workspace, wanted: &[Program], profile: Profile) -> Result<Self> {
        let mut found = BTreeMap::new();
        for program in wanted {
            let built = match program {
                Program::Ours => {
                    let mut command = process::cargo(["build", "--package", "kube-informer-bench"]);
                    cargo(&mut command, "kube-informer-bench", workspace, profile)?
                }
                Program::Soak => {
                    let mut command = process::cargo(["build", "--package", "kube-informer-soak"]);
                    cargo(&mut command, "kube-informer-soak", workspace, profile)?
                }
                Program::KubeRs => {
                    let mut command =
                        process::cargo(["build", "--manifest-path", "bench/peers/kube-rs/Cargo.toml"]);
                    cargo(&mut command, "kube-rs-peer", workspace, profile)?
                }
                Program::ClientGo => {
                    let Some(built) = client_go(workspace)? else { continue };
                    built
                }
            };
            found.insert(*program, built);
        }
        Ok(Self { found })
    }

    /// The command of a program; nothing if it was left out.
    pub(crate) fn command(&self, program: Program) -> Option<Command> {
        self.found.get(&program).map(Command::new)
    }

    pub(crate) fn has(&self, program: Program) -> bool {
        self.found.contains_key(&program)
    }
}

fn cargo(command: &mut Command, name: &str, workspace: &Workspace, profile: Profile) -> Result<PathBuf> {
    // One folder for all, so that what they have in common is built once.
    command.arg("--target-dir").arg(&workspace.target);
    let folder = match profile {
        Profile::Release => {
            command.arg("--release");
            "release"
        }
        Profile::Debug => "debug",
    };
    println!("{}", process::line(command));
    if !process::run(command)? {
        bail!("{name} did not build");
    }
    Ok(program(&workspace.target.join(folder), name))
}

fn client_go(workspace: &Workspace) -> Result<Option<PathBuf>> {
    let go = match go::with_go(go::find("go"), Place::detect(), NO_GO) {
        Plan::Run(go) => go,
        Plan::LeaveOut(why) => {
            println!("{why}");
            return Ok(None);
        }
        Plan::Fail(why) => bail!("{why}"),
    };
    let folder = workspace.target.join("bench");
    let mut command = go::build(&go, "bench/peers/client-go", &folder);
    println!("{}", process::line(&command));
    if !process::run(&mut command)? {
        bail!("client-go did not build");
    }
    Ok(Some(program(&folder, "client-go")))
}

fn program(folder: &Path, name: &str) -> PathBuf {
    folder.join(format!("{name}{}", std::env::consts::EXE_SUFFIX))
}
