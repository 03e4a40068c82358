//! Starts server and clients, looks at them while the load goes on, and judges.

use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};

use crate::bench::talk::number;
use crate::bench::{Program, Programs, Talk, kubeconfig, machine};
use crate::metadata::Workspace;
use crate::soak::document;
use crate::soak::options::Options;
use crate::soak::sample::Sample;
use crate::soak::verdict::{Difference, Verdict};

/// How far lines are apart, in a run that is long enough.
const LINE: Duration = Duration::from_secs(10);
/// How far looks at the memory are apart.
const LOOK: Duration = Duration::from_secs(1);
/// A run has so many lines at least.
const LINES: u32 = 8;
/// How long after a fault what is written counts as disturbed, as a part of the time between two faults.
const WINDOW: f64 = 0.5;
/// Within this time after the last write all have to have what the server has.
const PATIENCE: Duration = Duration::from_secs(120);
const POLL: Duration = Duration::from_millis(500);

/// Runs a soak, and says whether it is good.
///
/// # Errors
/// What did not build, start or answer.
pub(crate) fn run(workspace: &Workspace, options: &Options) -> Result<bool> {
    let programs = Programs::build(workspace, &[Program::Soak], options.profile)?;
    let mut soak = Soak::start(workspace, &programs, options)?;
    let samples = soak.load(options)?;
    let verdict = soak.judge(options, &samples)?;
    println!("\n{}\n{}", verdict.text(options), machine());
    if let Some(file) = &options.json {
        document::write(file, options, &samples, (Some(&verdict), &machine()))?;
    }
    Ok(verdict.is_good())
}

struct Soak {
    // Clients end before the server.
    clients: Talk,
    server: Talk,
}

impl Soak {
    fn start(workspace: &Workspace, programs: &Programs, options: &Options) -> Result<Self> {
        let program = |part: &str| -> Result<Command> {
            let mut command = programs.command(Program::Soak).context("it was built")?;
            command.arg(part).args(["--informers", &options.informers.to_string()]);
            command.args(["--objects", &options.objects.to_string(), "--rate", &options.rate.to_string()]);
            Ok(command)
        };
        println!("filling the server with {} objects", options.objects);
        let mut server = Talk::start(&mut program("server")?)?;
        let ready = server.hear().context("the server")?;
        let kubeconfig = kubeconfig(workspace, &ready, "soak")?;
        let mut command = program("clients")?;
        command.args(["--waits", options.waits.name(), "--kubeconfig"]).arg(kubeconfig);
        let mut clients = Talk::start(&mut command)?;
        let synced = clients.hear_of("synced").context("the clients")?;
        println!("{} informers have synced after {} s", options.informers, synced["seconds"]);
        Ok(Self { clients, server })
    }

    /// Looks every few seconds until the time is over.
    fn load(&mut self, options: &Options) -> Result<Vec<Sample>> {
        let step = LINE.min(options.time / LINES);
        let begun = self.server.ask(&format!("begin {}", options.faults.as_secs_f64()))?;
        let began = Instant::now();
        let period = options.faults.as_nanos();
        let window = options.faults.mul_f64(WINDOW).as_nanos();
        self.clients.ask(&format!("begin {} {period} {window}", begun["at"]))?;
        println!("{}", Sample::head());
        let mut samples: Vec<Sample> = Vec::new();
        let mut next = began + step;
        while next <= began + options.time {
            let least = self.least_until(next)?;
            next += step;
            let (client, server) = (self.clients.ask("status")?, self.server.ask("status")?);
            let mut sample = Sample::of(&client, &server, began.elapsed().as_secs_f64(), samples.last())?;
            sample.at_best(least);
            println!("{}", sample.line());
            samples.push(sample);
            if let Some(file) = &options.json {
                document::write(file, options, &samples, (None, &machine()))?;
            }
        }
        Ok(samples)
    }

    /// The least that each has in use up to a moment, clients first.
    fn least_until(&mut self, end: Instant) -> Result<[f64; 2]> {
        let mut least = [f64::INFINITY; 2];
        loop {
            let left = end.saturating_duration_since(Instant::now());
            thread::sleep(left.min(LOOK));
            if left <= LOOK {
                return Ok(least);
            }
            for (least, talk) in least.iter_mut().zip([&mut self.clients, &mut self.server]) {
                *least = least.min(number(&talk.ask("memory")?, "in_use")?);
            }
        }
    }

    /// Ends the load, and waits until all have what the server has.
    fn judge(&mut self, options: &Options, samples: &[Sample]) -> Result<Verdict> {
        let last = self.server.ask("stop")?;
        self.clients.ask("let-go")?;
        let truth = self.server.ask("truth")?;
        let deadline = Instant::now() + PATIENCE;
        let difference = loop {
            let difference = Difference::between(&truth, &self.clients.ask("read")?);
            if difference.is_none() || Instant::now() > deadline {
                break difference;
            }
            thread::sleep(POLL);
        };
        let times = self.clients.ask("sum")?;
        Ok(Verdict::of(options, samples, difference, (times, last["faults"].clone())))
    }
}
