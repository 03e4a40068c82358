//! Measures this project beside its peers: `cargo xtask bench`.

mod machine;
mod row;
mod contender;
mod memory;
mod figure;
mod options;
pub(crate) mod talk;
mod programs;
mod plan;
mod measured;
mod server;
mod stolen;
mod processors;
mod life;
mod restart;
mod micro;
mod verdict;
mod table;
mod document;
mod chart;
mod files;
mod watchers;
mod round;
mod scale;
pub(crate) mod compare;

use std::fmt::Write;

use anyhow::{Context, Result};

pub(crate) use crate::bench::contender::Program;
use crate::bench::document::Setting;
use crate::bench::files::Files;
pub(crate) use crate::bench::machine::machine;
use crate::bench::measured::Rounds;
use crate::bench::options::View;
pub(crate) use crate::bench::options::{Options, Profile, parse, smoke};
pub(crate) use crate::bench::programs::Programs;
use crate::bench::round::Rig;
use crate::bench::row::Row;
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
    let rig = Rig { workspace, programs: &programs, options };
    let measured = match options.view {
        View::Rows => measure(rig),
        View::Scale => scale::run(rig),
    };
    measured.with_context(|| match &options.json {
        Some(file) => format!("what was measured before this is in {}", file.display()),
        None => "with `--json FILE`, what was measured before this would be there".to_owned(),
    })
}

fn measure(rig: Rig<'_>) -> Result<()> {
    let options = rig.options;
    let mut files = Files::new(options.json.as_deref(), options.svg.as_deref(), chart::chart);
    for &count in &options.counts {
        let mut plan = plan::plan(options, rig.programs);
        if count > MOST_WHOLE {
            println!(
                "above {MOST_WHOLE} objects only compact caches run: what others hold does not fit most machines"
            );
            plan.retain(|planned| planned.contender.is_small() || !planned.contender.is_client());
        }
        let mut keep = |setting: &Setting, rounds: &Rounds| {
            files.put(document::document(setting, &options.rows, rounds), setting.is_complete)
        };
        let (setting, rounds) = round::all(rig, count, &plan, &mut keep)?;
        println!("{}", table::table(&options.rows, &rounds, Paint::detect()));
        println!("{}", footer(&setting));
    }
    Ok(())
}

/// Of more objects than this, JSON and decoded objects take more memory than most machines have.
const MOST_WHOLE: u64 = 300_000;

/// Every program there is.
pub(crate) const EVERYONE: [Program; 3] = [Program::Ours, Program::KubeRs, Program::ClientGo];

/// Those that the smoke test runs: kube-rs takes too long to build for what it would show.
pub(crate) const IN_CI: [Program; 2] = [Program::Ours, Program::ClientGo];

/// Where others had more than this of the processors, ratios do not repeat.
const MUCH: f64 = 0.15;

fn footer(setting: &Setting) -> String {
    let Setting { count, rounds, checksum, server, busy, machine, stolen, is_complete: _ } = setting;
    let busy = match busy {
        Some(busy) => format!(", busy for {:.0} % of a processor at most", busy * 100.0),
        None => String::new(),
    };
    let advice = match *stolen > MUCH {
        true => " That is much: what is above is worth little, so run it again when they have less.",
        false => "",
    };
    let stolen = stolen * 100.0;
    format!(
        "{count} objects, {rounds} rounds, checksum {checksum}; {server}{busy}
{machine}
Others had {stolen:.0} % of the processors that this machine wanted; times are without that, and latencies (but for W11) of moments in which they had 2 % at most.{advice}
The median of what was measured (of sizes the mean, of latencies that of the calm quarter), the least and the most; then its ratio to the best peer, the mean of those of the rounds, with the least and the most."
    )
}
