//! The rounds: every contender once, in an order that turns, against one server.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::time::Instant;

use anyhow::{Context, Result};

use crate::bench::contender::{Contender, Corpus, Program};
use crate::bench::document::Setting;
use crate::bench::life::{self, Stage};
use crate::bench::machine::machine;
use crate::bench::measured::{Measured, Rounds};
use crate::bench::micro;
use crate::bench::options::Options;
use crate::bench::plan::{self, Turn};
use crate::bench::programs::Programs;
use crate::bench::restart;
use crate::bench::row::Phase;
use crate::bench::server::{self, Wanted};
use crate::bench::stolen::Ticks;
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
    plan: &[plan::Entry],
    keep: &mut dyn FnMut(&Setting, &Rounds) -> Result<()>,
) -> Result<(Setting, Rounds)> {
    let turns = plan::turns(plan);
    let of = turns.last().map_or(0, |turn| turn.round + 1);
    let mut servers = Servers::default();
    let mut rounds = Rounds::default();
    let mut setting = Setting {
        count,
        rounds: of,
        busy: None,
        checksum: "none".to_owned(),
        server: "no server",
        machine: machine(),
        is_complete: false,
        stolen: 0.0,
    };
    let begin = Ticks::now();
    for (at, turn) in turns.iter().enumerate() {
        let (contender, round) = (turn.contender, turn.round + 1);
        if at == 0 || turns[at - 1].round != turn.round {
            rounds.begin();
        }
        let began = Instant::now();
        let server = match contender.is_client() {
            true => Some(servers.get(rig, (contender.corpus(), count), plan)?),
            false => None,
        };
        server.as_deref().into_iter().for_each(|server| setting.asked(server));
        let stage = server.map(|server| Stage::new(server, count));
        let (all, load) =
            one(rig, stage, turn).with_context(|| format!("{} in round {round}", contender.name()))?;
        let seconds = began.elapsed().as_secs_f64();
        println!("round {round} of {of}: {:<26} {seconds:>6.1} s", contender.name());
        all.into_iter().for_each(|(contender, measured)| rounds.add(contender, measured));
        setting.busy = setting.busy.map(|busy| busy.max(load));
        setting.stolen = begin.stolen();
        setting.is_complete = at + 1 == turns.len();
        keep(&setting, &rounds)?;
    }
    Ok((setting, rounds))
}

/// The servers of a run, one for each corpus that somebody follows, started when they are first asked.
#[derive(Debug, Default)]
struct Servers(BTreeMap<Corpus, server::Server>);

impl Servers {
    fn get(
        &mut self,
        rig: Rig<'_>,
        (corpus, count): (Corpus, u64),
        plan: &[plan::Entry],
    ) -> Result<&mut server::Server> {
        Ok(match self.0.entry(corpus) {
            Entry::Occupied(there) => there.into_mut(),
            Entry::Vacant(place) => {
                let mut clients =
                    plan.iter().map(|planned| planned.contender).filter(|client| client.is_client());
                let is_json = clients.any(|client| client.corpus() == corpus && client.wants_json());
                let is_protobuf = corpus == Corpus::Pods;
                let wanted = Wanted { corpus, count, is_json, is_protobuf };
                place.insert(server::start(rig.workspace, rig.options.server, wanted, rig.programs)?)
            }
        })
    }
}

/// Measures one contender, or two that take turns, and says how busy the server was with it.
fn one(rig: Rig<'_>, stage: Option<Stage<'_>>, turn: &Turn) -> Result<(Vec<(Contender, Measured)>, f64)> {
    let (contender, phases) = (turn.contender, turn.phases.as_slice());
    let made =
        |program: Program| move || rig.programs.command(program).expect("the plan names only what is there");
    if let (Some(mut stage), true) = (stage, contender.is_client()) {
        let command = || {
            let mut command = made(contender.program())();
            // Of our program, the client is one part.
            if contender.program() == Program::Ours {
                command.arg("ours");
            }
            command
        };
        let measured = match contender.is_saved() {
            true => {
                restart::live(&mut stage, contender, &command, &rig.workspace.target.join("bench/saved"))?
            }
            false => life::live(&mut stage, contender, command(), (phases, rig.options))?,
        };
        return Ok((vec![(contender, measured)], stage.busy));
    }
    let mut all =
        vec![(contender, micro::measure(contender, made(contender.program()), (phases, rig.options))?)];
    let who: &[Contender] = match contender {
        Contender::ApiServer => &[Contender::OursParts, Contender::ApiServer],
        // It has its turns with the other.
        _ if rig.programs.has(Contender::ApiServer.program()) => &[],
        _ => &[Contender::OursParts],
    };
    if phases.contains(&Phase::Watchers) && !who.is_empty() {
        all.extend(watchers::measure(rig.workspace, who, made(Program::Ours), rig.options)?);
    }
    Ok((all, 0.0))
}
