//! Measures this project beside its peers: `cargo xtask bench`.

mod machine;
mod row;
mod options;
mod contender;
mod figure;
pub(crate) mod talk;
mod programs;
mod measured;
mod server;
mod life;
mod micro;
mod verdict;
mod table;
mod document;
mod chart;
mod watchers;
mod round;

use std::fmt::Write;
use std::fs;
use std::path::Path;

use anyhow::{Context, Result};
use serde_json::Value;

use crate::bench::contender::Contender;
pub(crate) use crate::bench::contender::Program;
use crate::bench::document::Setting;
use crate::bench::figure::FIGURES;
pub(crate) use crate::bench::machine::machine;
use crate::bench::options::Server;
pub(crate) use crate::bench::options::{Options, Profile, parse, smoke};
pub(crate) use crate::bench::programs::Programs;
use crate::bench::round::Rig;
use crate::bench::row::{Phase, Row};
pub(crate) use crate::bench::server::kubeconfig;
pub(crate) use crate::bench::talk::Talk;
use crate::metadata::Workspace;
use crate::paint::Paint;

/// The text of `cargo xtask bench --help`.
pub(crate) fn help() -> String {
    let mut text = options::HELP.to_owned();
    for row in Row::ALL {
        writeln!(text, "  {:<4} {}", row.name(), row.about()).expect("a string takes any text");
    }
    text
}

/// Builds, runs and prints.
///
/// # Errors
/// What did not build or run, or which client holds something else than the server.
pub(crate) fn run(workspace: &Workspace, options: &Options, wanted: &[Program]) -> Result<()> {
    let programs = Programs::build(workspace, wanted, options.profile)?;
    let mut documents = Vec::new();
    for &count in &options.counts {
        let mut plan = plan(options, &programs);
        if count > MOST_WHOLE {
            println!(
                "above {MOST_WHOLE} objects only compact caches run: what others hold does not fit most machines"
            );
            plan.retain(|(contender, _)| contender.is_small() || !contender.is_client());
        }
        let rig = Rig { workspace, programs: &programs, options };
        let (setting, rounds) = round::all(rig, count, &plan)?;
        println!("{}", table::table(&options.rows, &rounds, Paint::detect()));
        println!("{}", footer(&setting));
        documents.push(document::document(&setting, &options.rows, &rounds));
    }
    if let Some(file) = &options.svg {
        write(file, &chart::chart(&documents))?;
    }
    if let Some(file) = &options.json {
        write(file, &format!("{:#}\n", Value::from(documents)))?;
    }
    Ok(())
}

fn write(file: &Path, text: &str) -> Result<()> {
    fs::write(file, text).with_context(|| format!("cannot write {}", file.display()))
}

/// Of more objects than this, JSON and decoded objects take more memory than most machines have.
const MOST_WHOLE: u64 = 300_000;

/// Every program there is.
pub(crate) const EVERYONE: [Program; 3] = [Program::Ours, Program::KubeRs, Program::ClientGo];

/// Those that the smoke test runs: kube-rs takes too long to build for what it would show.
pub(crate) const IN_CI: [Program; 2] = [Program::Ours, Program::ClientGo];

/// Who goes through what, as far as the rows want it and programs are there.
fn plan(options: &Options, programs: &Programs) -> Vec<(Contender, Vec<Phase>)> {
    let phases = |contender: Contender| {
        let figures = FIGURES.iter().filter(|figure| options.rows.contains(&figure.row));
        let mut phases: Vec<_> = figures
            .filter(|figure| figure.contenders().any(|other| other == contender))
            .map(|figure| match (options.server, figure.row.phase()) {
                // A real server does not expire watches on command.
                (Server::Real, Phase::Relist) => Phase::Sync,
                (_, phase) => phase,
            })
            .collect();
        phases.sort_unstable();
        phases.dedup();
        phases
    };
    let there = Contender::ALL.into_iter().filter(|contender| programs.has(contender.program()));
    there.map(|contender| (contender, phases(contender))).filter(|(_, phases)| !phases.is_empty()).collect()
}

fn footer(setting: &Setting) -> String {
    let Setting { count, rounds, checksum, server, busy, machine } = setting;
    let busy = match busy {
        Some(busy) => format!(", busy for {:.0} % of a processor at most", busy * 100.0),
        None => String::new(),
    };
    format!(
        "{count} objects, {rounds} rounds, checksum {checksum}; {server}{busy}
{machine}
Each line: the median, the least and the most of the rounds; then the ratio to the best peer in the same round."
    )
}
