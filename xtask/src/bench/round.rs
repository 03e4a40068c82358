//! The rounds: every contender once, in an order that turns, against one server.

use std::time::Instant;

use anyhow::{Context, Result};

use crate::bench::contender::{Contender, Program};
use crate::bench::document::Setting;
use crate::bench::life::{self, Stage};
use crate::bench::machine::machine;
use crate::bench::measured::{Measured, Rounds};
use crate::bench::micro;
use crate::bench::options::{Options, Server};
use crate::bench::programs::Programs;
use crate::bench::row::Phase;
use crate::bench::server::{self, Wanted};
use crate::bench::watchers;
use crate::metadata::Workspace;

/// What a run has to work with.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Rig<'a> {
    pub(crate) workspace: &'a Workspace,
    pub(crate) programs: &'a Programs,
    pub(crate) options: &'a Options,
}

/// Runs all rounds over this many objects, and keeps what there is after each contender.
pub(crate) fn all(
    rig: Rig<'_>,
    count: u64,
    plan: &[(Contender, Vec<Phase>)],
    keep: &mut dyn FnMut(&Setting, &Rounds) -> Result<()>,
) -> Result<(Setting, Rounds)> {
    let mut server = match plan.iter().any(|(contender, _)| contender.is_client()) {
        true => {
            let mut clients = plan.iter().filter(|(contender, _)| contender.is_client());
            let wanted = Wanted { count, is_json: clients.any(|(client, _)| client.wants_json()) };
            Some(server::start(rig.workspace, rig.options.server, wanted, rig.programs)?)
        }
        false => None,
    };
    let (mut rounds, of) = (Rounds::default(), rig.options.rounds);
    let mut setting = Setting {
        count,
        rounds: of,
        busy: server.as_ref().filter(|server| server.kind == Server::Replay).map(|_| 0.0),
        checksum: server.as_ref().map_or_else(|| "none".to_owned(), |server| server.checksum.clone()),
        server: server.as_ref().map_or("no server", |server| server.about),
        machine: machine(),
        is_complete: false,
    };
    for round in 0..of {
        rounds.begin();
        for turn in 0..plan.len() {
            let (contender, phases) = &plan[(turn + round) % plan.len()];
            let began = Instant::now();
            let stage = server.as_mut().map(|server| Stage::new(server, count));
            let (measured, load) = one(rig, stage, *contender, phases)
                .with_context(|| format!("{} in round {}", contender.name(), round + 1))?;
            let seconds = began.elapsed().as_secs_f64();
            println!("round {} of {of}: {:<26} {seconds:>6.1} s", round + 1, contender.name());
            rounds.add(*contender, measured);
            setting.busy = setting.busy.map(|busy| busy.max(load));
            setting.is_complete = round + 1 == of && turn + 1 == plan.len();
            keep(&setting, &rounds)?;
        }
    }
    Ok((setting, rounds))
}

/// Measures one contender, and says how busy the server was with it.
fn one(
    rig: Rig<'_>,
    stage: Option<Stage<'_>>,
    contender: Contender,
    phases: &[Phase],
) -> Result<(Measured, f64)> {
    let made =
        |program: Program| move || rig.programs.command(program).expect("the plan names only what is there");
    if let (Some(mut stage), true) = (stage, contender.is_client()) {
        let mut command = made(contender.program())();
        // Of our program, the client is one part.
        if contender.program() == Program::Ours {
            command.arg("ours");
        }
        let measured = life::live(&mut stage, contender, command, (phases, rig.options))?;
        return Ok((measured, stage.busy));
    }
    let mut measured = micro::measure(contender, made(contender.program()), (phases, rig.options))?;
    if phases.contains(&Phase::Watchers) {
        let delivered = watchers::measure(rig.workspace, contender, made(Program::Ours), rig.options)?;
        measured.0.extend(delivered.0);
    }
    Ok((measured, 0.0))
}
