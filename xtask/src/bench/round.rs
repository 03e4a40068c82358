//! The rounds: every contender once, in an order that turns, against one server.

use std::fs;
use std::path::PathBuf;
use std::time::Instant;

use anyhow::{Context, Result};
use serde_json::{Value, json};

use crate::bench::contender::{Contender, Program};
use crate::bench::document::Setting;
use crate::bench::life::{self, Stage};
use crate::bench::measured::{Measured, Rounds};
use crate::bench::micro;
use crate::bench::options::Options;
use crate::bench::programs::Programs;
use crate::bench::row::Phase;
use crate::bench::talk::Talk;
use crate::metadata::Workspace;

/// Runs all rounds over this many objects.
pub(crate) fn all(
    workspace: &Workspace,
    (options, count): (&Options, u64),
    programs: &Programs,
    plan: &[(Contender, Vec<Phase>)],
) -> Result<(Setting, Rounds)> {
    println!("encoding {count} objects");
    let mut command = programs.command(Program::Ours).context("our own program is always built")?;
    let mut server = Talk::start(command.args(["replay", "--n", &count.to_string()]))?;
    let ready = server.hear().context("the replay server")?;
    let kubeconfig = kubeconfig(workspace, &ready)?;
    let mut stage = Stage { server: &mut server, kubeconfig: &kubeconfig, count, busy: 0.0 };
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
        checksum: ready["checksum"].as_str().unwrap_or_default().to_owned(),
        server: "replay server",
        busy: stage.busy,
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

/// Writes how clients reach the server.
fn kubeconfig(workspace: &Workspace, ready: &Value) -> Result<PathBuf> {
    let folder = workspace.target.join("bench");
    fs::create_dir_all(&folder).with_context(|| format!("cannot make {}", folder.display()))?;
    let file = folder.join("kubeconfig");
    let config = json!({
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{ "name": "replay", "cluster": { "server": ready["url"] } }],
        "users": [{ "name": "bench", "user": {} }],
        "contexts": [{ "name": "replay", "context": { "cluster": "replay", "user": "bench" } }],
        "current-context": "replay",
    });
    fs::write(&file, config.to_string()).with_context(|| format!("cannot write {}", file.display()))?;
    Ok(file)
}

/// What this runs on, in a line.
fn machine() -> String {
    let read = |file: &str| fs::read_to_string(file).unwrap_or_default();
    let field = |text: &str, name: &str| {
        let line = text.lines().find(|line| line.starts_with(name))?;
        line.split_once(':').map(|(_, value)| value.trim().to_owned())
    };
    let processor = field(&read("/proc/cpuinfo"), "model name").unwrap_or_else(|| "unknown processor".to_owned());
    let cores = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    let memory = field(&read("/proc/meminfo"), "MemTotal").unwrap_or_default();
    format!("{processor}, {cores} processors, {memory} of memory, {}", std::env::consts::OS)
}
