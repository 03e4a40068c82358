//! Starts server and clients, samples them during the load, and compares them at the end.

use std::process::Command;
use std::time::{Duration, Instant};
use std::{fs, thread};

use anyhow::{Context, Result};
use kube_informer_bench_client::child::{ChildProcess, machine, number, write_kubeconfig};
use serde_json::json;

use crate::options::RunOptions;
use crate::sample::Sample;
use crate::verdict::{Differences, FinalReports, Verdict};

/// The time between two samples of a long run.
const SAMPLE_PERIOD: Duration = Duration::from_secs(10);
/// The minimum number of samples.
const MINIMUM_SAMPLES: u32 = 8;
/// The time between two measurements of memory.
const MEMORY_PERIOD: Duration = Duration::from_secs(1);
/// The share of a period in which writes are affected by a fault.
const FAULT_WINDOW: f64 = 0.5;
/// The time after the last write in which all clients must receive it.
const CATCH_UP_TIMEOUT: Duration = Duration::from_secs(120);
const POLL: Duration = Duration::from_millis(500);

/// Runs the load test, and returns whether it has passed.
pub(crate) fn run(options: &RunOptions) -> Result<bool> {
    let mut soak = Soak::start(options)?;
    let samples = soak.load(options)?;
    let verdict = soak.finish(options, &samples)?;
    println!("\n{}\n{}", machine(), verdict.text(options));
    if let Some(file) = &options.json {
        let samples: Vec<_> = samples.iter().map(Sample::document).collect();
        let document = json!({ "machine": machine(), "verdict": verdict.document(), "samples": samples });
        fs::write(file, format!("{document:#}\n"))
            .with_context(|| format!("cannot write {}", file.display()))?;
    }
    Ok(verdict.has_passed())
}

struct Soak {
    // Dropped before the server.
    clients: ChildProcess,
    server: ChildProcess,
}

impl Soak {
    fn start(options: &RunOptions) -> Result<Self> {
        let command = |part: &str| -> Result<Command> {
            let mut command = Command::new(std::env::current_exe().context("no own executable")?);
            command.arg(part).args(["--informers", &options.load.informers.to_string()]);
            command.args(["--objects", &options.load.objects.to_string()]);
            command.args(["--rate", &options.load.rate.to_string()]);
            Ok(command)
        };
        println!("creating {} objects", options.load.objects);
        let mut server = ChildProcess::start(&mut command("server")?)?;
        let ready = server.receive().context("the server")?;
        let kubeconfig = write_kubeconfig(&options.work_dir, "soak", &ready["url"])?;
        let mut command = command("clients")?;
        command.args(["--backoff", options.backoff.name(), "--kubeconfig"]).arg(kubeconfig);
        let mut clients = ChildProcess::start(&mut command)?;
        let synced = clients.receive_event("synced").context("the clients")?;
        println!("{} informers synced after {:.1} s", options.load.informers, number(&synced, "seconds")?);
        Ok(Self { clients, server })
    }

    /// Samples both processes until the time is over.
    fn load(&mut self, options: &RunOptions) -> Result<Vec<Sample>> {
        let period = SAMPLE_PERIOD.min(options.duration() / MINIMUM_SAMPLES);
        let started = self.server.request(&format!("start {}", options.faults.as_secs_f64()))?;
        let start = Instant::now();
        let fault_period = options.faults.as_nanos();
        let window = options.faults.mul_f64(FAULT_WINDOW).as_nanos();
        self.clients.request(&format!("start {} {fault_period} {window}", started["at"]))?;
        println!("{}", Sample::head());
        let mut samples: Vec<Sample> = Vec::new();
        let mut next = start + period;
        while next <= start + options.duration() {
            let minimum = self.minimum_until(next)?;
            next += period;
            let (client, server) = (self.clients.request("status")?, self.server.request("status")?);
            let mut sample = Sample::of(&client, &server, start.elapsed().as_secs_f64(), samples.last())?;
            sample.lower_in_use(minimum);
            println!("{}", sample.line());
            samples.push(sample);
        }
        Ok(samples)
    }

    /// Returns the minimum of the memory in use until a time, clients first.
    fn minimum_until(&mut self, end: Instant) -> Result<[f64; 2]> {
        let mut minimum = [f64::INFINITY; 2];
        loop {
            let remaining = end.saturating_duration_since(Instant::now());
            thread::sleep(remaining.min(MEMORY_PERIOD));
            if remaining <= MEMORY_PERIOD {
                return Ok(minimum);
            }
            for (minimum, process) in minimum.iter_mut().zip([&mut self.clients, &mut self.server]) {
                *minimum = minimum.min(number(&process.request("memory")?, "in_use")?);
            }
        }
    }

    /// Ends the load, and waits until all clients agree with the server.
    fn finish(&mut self, options: &RunOptions, samples: &[Sample]) -> Result<Verdict> {
        let status = self.server.request("stop")?;
        self.clients.request("release")?;
        let expected = self.server.request("expected")?;
        let deadline = Instant::now() + CATCH_UP_TIMEOUT;
        let differences = loop {
            let differences = Differences::between(&expected, &self.clients.request("read")?);
            if differences.is_none() || Instant::now() > deadline {
                break differences;
            }
            thread::sleep(POLL);
        };
        let reports =
            FinalReports { times: self.clients.request("times")?, faults: status["faults"].clone() };
        Ok(Verdict::of(options, samples, differences, reports))
    }
}
