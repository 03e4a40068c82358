//! `cargo xtask simulate`: runs seeds, and tells which of them break a rule.

use kube_informer_simulation::{Command, Found, HELP, Scenario, Seeds, campaign, parse, run, shrink};
use std::{
    process::ExitCode,
    time::{Duration, Instant},
};

const USAGE: u8 = 2;

/// So many broken seeds are told in full.
const IN_FULL: usize = 3;

/// From so many seeds on every kind of fault must have struck.
const ENOUGH: u64 = 300;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match parse(&arguments) {
        Err(wrong) => {
            eprintln!("error: {wrong}\n\nTry `cargo xtask simulate --help`.");
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
    let scenario = Scenario::draw(seed);
    println!("{scenario}");
    let outcome = run(&scenario);
    outcome.lines.iter().for_each(|line| println!("{line}"));
    println!("\nseed {seed}, {} lines, digest {:016x}", outcome.lines.len(), outcome.digest());
    if outcome.broken.is_some() { ExitCode::FAILURE } else { ExitCode::SUCCESS }
}

fn run_all(seeds: Seeds) -> ExitCode {
    let began = Instant::now();
    let found = campaign(seeds, |done, broken| {
        println!("  {done} of {} seeds, {broken} broken, {}", seeds.count, pace(done, began.elapsed()));
    });
    let took = began.elapsed();
    for (index, (seed, broken)) in found.broken.iter().enumerate() {
        println!("\nseed {seed} breaks the rule that {}:\n  {}", broken.rule, broken.detail);
        if index < IN_FULL {
            explain(*seed);
        }
    }
    println!("\n{}", found.tally);
    println!(
        "{} seeds from {} in {:.1} s on {} threads, {}; {} broken",
        found.seeds,
        seeds.from,
        took.as_secs_f64(),
        seeds.jobs,
        pace(found.seeds, took),
        found.failures
    );
    verdict(&found)
}

fn verdict(found: &Found) -> ExitCode {
    let missing = if found.seeds >= ENOUGH { found.missing() } else { Vec::new() };
    if !missing.is_empty() {
        println!("error: some of what is to be survived never happened: {}", missing.join("; "));
    }
    if found.failures == 0 && missing.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// Prints the least that breaks the rule, and what happens around the break.
fn explain(seed: u64) {
    let whole = Scenario::draw(seed);
    let Some(broken) = run(&whole).broken else {
        println!("  and does not when it is run again: something here does not follow from the seed");
        return;
    };
    let small = shrink(&whole, broken.rule);
    println!("\n{} of its {} acts are enough:\n{small}", small.len(), whole.len());
    let outcome = run(&small);
    outcome.excerpt(40, 5).iter().for_each(|line| println!("{line}"));
    println!("\nTo see all of it: cargo xtask simulate --replay {seed}");
}

fn pace(seeds: u64, took: Duration) -> String {
    format!("{:.1} seeds/s", seeds as f64 / took.as_secs_f64().max(f64::EPSILON))
}
