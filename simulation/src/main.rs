//! `cargo xtask simulate`: runs seeds, and prints those that violate a rule.

use kube_informer_simulation::{
    CampaignResult, Command, HELP, Scenario, Seeds, campaign, parse, run, shrink,
};
use std::{
    process::ExitCode,
    time::{Duration, Instant},
};

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

const USAGE: u8 = 2;

/// The maximum number of seeds that are shrunk and explained.
const MAX_EXPLAINED: usize = 3;

/// The number of seeds from which every kind of fault must have happened.
const MIN_SEEDS_FOR_ALL_FAULTS: u64 = 300;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match parse(&arguments) {
        Err(message) => {
            eprintln!("error: {message}\n\nTry `cargo xtask simulate --help`.");
            ExitCode::from(USAGE)
        }
        Ok(Command::Help) => {
            println!("{HELP}");
            ExitCode::SUCCESS
        }
        Ok(Command::Replay(seed)) => replay(seed),
        Ok(Command::Run(seeds)) => run_all(seeds),
    }
}

fn replay(seed: u64) -> ExitCode {
    let scenario = Scenario::generate(seed);
    println!("{scenario}");
    let outcome = run(&scenario);
    outcome.lines.iter().for_each(|line| println!("{line}"));
    println!("\nseed {seed}, {} lines, digest {:016x}", outcome.lines.len(), outcome.digest());
    if outcome.broken.is_some() { ExitCode::FAILURE } else { ExitCode::SUCCESS }
}

fn run_all(seeds: Seeds) -> ExitCode {
    let started_at = Instant::now();
    let found = campaign(seeds, |done, broken| {
        println!("  {done} of {} seeds, {broken} failed, {}", seeds.count, pace(done, started_at.elapsed()));
    });
    let took = started_at.elapsed();
    for (index, (seed, broken)) in found.broken.iter().enumerate() {
        println!("\nseed {seed} violates the rule \"{}\":\n  {}", broken.rule, broken.detail);
        if index < MAX_EXPLAINED {
            explain(*seed);
        }
    }
    println!("\n{}", found.statistics);
    println!(
        "{} seeds from {} in {:.1} s on {} threads, {}; {} failed",
        found.seeds,
        seeds.from,
        took.as_secs_f64(),
        seeds.jobs,
        pace(found.seeds, took),
        found.failures
    );
    verdict(&found)
}

fn verdict(found: &CampaignResult) -> ExitCode {
    let missing = if found.seeds >= MIN_SEEDS_FOR_ALL_FAULTS { found.missing() } else { Vec::new() };
    if !missing.is_empty() {
        println!("error: expected faults and checks did not happen: {}", missing.join("; "));
    }
    if found.failures == 0 && missing.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// Prints the shortest list of actions that violates the rule, and the log around the violation.
fn explain(seed: u64) {
    let complete = Scenario::generate(seed);
    let Some(broken) = run(&complete).broken else {
        println!("  the violation does not happen again: the run does not depend on the seed only");
        return;
    };
    let small = shrink(&complete, broken.rule);
    println!("\n{} of its {} actions are enough:\n{small}", small.len(), complete.len());
    let outcome = run(&small);
    outcome.excerpt(40, 5).iter().for_each(|line| println!("{line}"));
    println!("\nComplete log: cargo xtask simulate --replay {seed}");
}

fn pace(seeds: u64, took: Duration) -> String {
    format!("{:.1} seeds/s", seeds as f64 / took.as_secs_f64().max(f64::EPSILON))
}
