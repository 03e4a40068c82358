//! Runs informers behind a proxy with network faults for a long time, against a kube-apiserver; `cargo xtask proxy-faults` starts it.

use clap::Parser;
use kube_conformance::{Direction, FaultRound, NetworkFault, Reaction, Server};
use kube_informer::reflector::Strategy;
use std::{process::ExitCode, sync::Arc, time::Duration};
use tokio::{task::JoinSet, time::Instant};

/// Runs network faults between informers and a kube-apiserver, and prints a table of the reactions
#[derive(Parser)]
#[command(name = "cargo xtask proxy-faults")]
struct Arguments {
    /// The number of minutes in which rounds are started
    #[arg(long, default_value_t = 60)]
    minutes: u64,
}

/// The default of an informer.
const DEFAULT_IDLE_TIMEOUT: Duration = Duration::from_secs(90);

/// A fault is noticed within the idle timeout and this time for a busy machine.
const TOLERANCE: Duration = Duration::from_secs(15);

/// The minimum time of writes in a round, so that fast recoveries do not cause more rounds than the machine can run.
const WRITES_FOR: Duration = Duration::from_secs(40);

/// The rounds of one fault, one after the other.
struct Lane {
    fault: NetworkFault,
    strategy: Strategy,
    idle_timeout: Duration,
    reactions: Vec<Reaction>,
    failures: Vec<String>,
}

#[tokio::main]
async fn main() -> ExitCode {
    let minutes = Arguments::parse().minutes;
    let started_at = Instant::now();
    let deadline = started_at + Duration::from_secs(minutes * 60);
    let server = Arc::new(Server::real().await);
    println!("kube-apiserver {}, rounds start for {minutes} minutes", server.version());
    let mut tasks = JoinSet::new();
    for (number, lane) in (0..).zip(lanes()) {
        tasks.spawn(lane.run(Arc::clone(&server), deadline, number));
    }
    let mut lanes = tasks.join_all().await;
    lanes.sort_by_key(|lane| (lane.fault.to_string(), lane.idle_timeout, format!("{:?}", lane.strategy)));
    print_table(&lanes);
    let rounds: usize = lanes.iter().map(|lane| lane.reactions.len()).sum();
    let writes: u64 = lanes.iter().flat_map(|lane| &lane.reactions).map(|reaction| reaction.writes).sum();
    let failures: Vec<&String> = lanes.iter().flat_map(|lane| &lane.failures).collect();
    failures.iter().for_each(|failure| println!("error: {failure}"));
    let minutes = started_at.elapsed().as_secs() / 60;
    println!("{rounds} rounds and {writes} writes in {minutes} minutes, {} failures", failures.len());
    if failures.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn lanes() -> Vec<Lane> {
    let (short, default) = (Duration::from_secs(20), DEFAULT_IDLE_TIMEOUT);
    let for_both = [
        (NetworkFault::StopForwarding, short),
        (NetworkFault::StopForwarding, default),
        (NetworkFault::StopDuringInitialList, default),
        (NetworkFault::StopIdleConnections, short),
        (NetworkFault::Outage(Duration::from_secs(30)), short),
        (NetworkFault::Outage(Duration::from_secs(120)), default),
        (NetworkFault::Delay(Duration::from_secs(5)), default),
        (NetworkFault::Bandwidth(50_000), default),
        (NetworkFault::SingleBytes, default),
        (NetworkFault::HalfClose(Direction::ToClient), default),
        (NetworkFault::HalfClose(Direction::ToServer), default),
    ];
    let lane = |strategy, fault, idle_timeout| Lane {
        fault,
        strategy,
        idle_timeout,
        reactions: Vec::new(),
        failures: Vec::new(),
    };
    let mut lanes = Vec::new();
    for (fault, idle_timeout) in for_both {
        lanes.push(lane(Strategy::Stream, fault, idle_timeout));
        lanes.push(lane(Strategy::List, fault, idle_timeout));
    }
    // A streaming list ends with a bookmark, so that only the watch after a LIST can die before the first one.
    for idle_timeout in [short, default] {
        lanes.push(lane(Strategy::List, NetworkFault::StopBeforeFirstBookmark, idle_timeout));
    }
    lanes
}

impl Lane {
    async fn run(mut self, server: Arc<Server>, deadline: Instant, number: u64) -> Self {
        let mut seed = number * 1_000_000;
        while Instant::now() < deadline {
            let round = FaultRound {
                fault: self.fault,
                strategy: self.strategy,
                idle_timeout: self.idle_timeout,
                writes_for: WRITES_FOR,
                seed,
            };
            match round.run(&server).await {
                Ok(reaction) => self.record(reaction),
                Err(error) => self.fail(&error),
            }
            seed += 1;
        }
        self
    }

    fn record(&mut self, reaction: Reaction) {
        println!(
            "{}, {:?}: noticed after {:.1} s, recovered after {:.1} s, {:?}",
            self.fault,
            self.strategy,
            reaction.noticed_after.as_secs_f64(),
            reaction.recovered_after.as_secs_f64(),
            reaction.requests
        );
        if !reaction.differences.is_empty() {
            self.fail(&format!("{:#?}", reaction.differences));
        }
        let limit = if self.fault.is_silent() { self.idle_timeout + TOLERANCE } else { TOLERANCE };
        if reaction.noticed_after > limit {
            self.fail(&format!("noticed after {:?}, limit {limit:?}", reaction.noticed_after));
        }
        self.reactions.push(reaction);
    }

    fn fail(&mut self, detail: &str) {
        let failure = format!("{}, {:?}: {detail}", self.fault, self.strategy);
        println!("error: {failure}");
        self.failures.push(failure);
    }

    fn row(&self) -> [String; 8] {
        let seconds = |time: fn(&Reaction) -> Duration| {
            let mut times: Vec<Duration> = self.reactions.iter().map(time).collect();
            times.sort();
            let median = times.get(times.len() / 2).copied().unwrap_or_default();
            let max = times.last().copied().unwrap_or_default();
            format!("{:.1} / {:.1}", median.as_secs_f64(), max.as_secs_f64())
        };
        let most = |count: fn(&Reaction) -> u64| self.reactions.iter().map(count).max().unwrap_or_default();
        let lists = most(|reaction| reaction.requests.lists + reaction.requests.streams);
        let watches = most(|reaction| reaction.requests.watches);
        let initial_list = match self.strategy {
            Strategy::List => "LIST",
            Strategy::Stream | Strategy::StreamOnly => "streamed",
        };
        [
            self.fault.to_string(),
            initial_list.to_owned(),
            format!("{} s", self.idle_timeout.as_secs()),
            self.reactions.len().to_string(),
            seconds(|reaction| reaction.noticed_after),
            seconds(|reaction| reaction.recovered_after),
            format!("{lists} + {watches}"),
            self.failures.len().to_string(),
        ]
    }
}

fn print_table(lanes: &[Lane]) {
    println!(
        "\nseconds are the median and the maximum, requests the maximum of lists and watches per round\n"
    );
    let head = ["fault", "list", "idle timeout", "rounds", "noticed", "recovered", "requests", "failures"];
    println!("| {} |\n|{}", head.join(" | "), "---|".repeat(head.len()));
    for lane in lanes {
        println!("| {} |", lane.row().join(" | "));
    }
    println!();
}
