//! The rounds: every contender once, in an order that turns, against one server.

use std::fs;
use std::time::Instant;

use anyhow::{Context, Result};

use crate::bench::contender::{Contender, Program};
use crate::bench::document::Setting;
use crate::bench::life::{self, Stage};
use crate::bench::measured::{Measured, Rounds};
use crate::bench::micro;
use crate::bench::options::Options;
use crate::bench::programs::Programs;
use crate::bench::row::Phase;
use crate::bench::server;
use crate::metadata::Workspace;

/// Runs all rounds over this many objects.
pub(crate) fn all(
    workspace: &Workspace,
    (options, count): (&Options, u64),
    programs: &Programs,
    plan: &[(Contender, Vec<Phase>)],
) -> Result<(Setting, Rounds)> {
    let mut server = server::start(workspace, options.server, count, programs)?;
    let mut stage = Stage {
        server: &mut server.talk,
        kubeconfig: &server.kubeconfig,
        count,
        busy: 0.0,
        kind: options.server,
    };
    let mut rounds = Rounds::default();
    for round in 0..options.rounds {
        rounds.begin();
        for turn in 0..plan.len() {
            let (contender, phases) = &plan[(turn + round) % plan.len()];
            let began = Instant::now();
            let measured = one(&mut stage, *contender, programs, (phases, options))
                .with_context(|| format!("{} in round {}", contender.name(), round + 1))?;
            let (of, seconds) = (options.rounds, began.elapsed().as_secs_f64());
            println!("round {} of {of}: {:<26} {seconds:>6.1} s", round + 1, contender.name());
            rounds.add(*contender, measured);
        }
    }
    let setting = Setting {
        count,
        rounds: options.rounds,
        busy: stage.busy,
        checksum: server.checksum,
        server: server.about,
        machine: machine(),
    };
    Ok((setting, rounds))
}

fn one(
    stage: &mut Stage<'_>,
    contender: Contender,
    programs: &Programs,
    work: (&[Phase], &Options),
) -> Result<Measured> {
    let command = || {
        let mut command = programs.command(contender.program()).expect("the plan names only what is there");
        // Of our program, the clients are one part.
        if contender.program() == Program::Ours && contender != Contender::OursParts {
            command.arg("ours");
        }
        command
    };
    match contender {
        Contender::OursParts | Contender::KubeParts | Contender::GoParts => {
            micro::measure(contender, command, work)
        }
        _ => life::live(stage, contender, command(), work),
    }
}

/// What this runs on, in a line.
fn machine() -> String {
    let read = |file: &str| fs::read_to_string(file).unwrap_or_default();
    let field = |text: &str, name: &str| {
        let line = text.lines().find(|line| line.starts_with(name))?;
        line.split_once(':').map(|(_, value)| value.trim().to_owned())
    };
    let processor =
        field(&read("/proc/cpuinfo"), "model name").unwrap_or_else(|| "unknown processor".to_owned());
    let cores = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    let memory = field(&read("/proc/meminfo"), "MemTotal").unwrap_or_default();
    format!("{processor}, {cores} processors, {memory} of memory, {}", std::env::consts::OS)
}
