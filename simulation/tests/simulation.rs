//! The result of a run depends on its seed only, and planted bugs are found.

use kube_informer_simulation::{PlantedBug, Rule, Scenario, run};

#[test]
fn the_same_seed_gives_the_same_history_byte_for_byte() {
    // Each seed also runs in a thread that has run another one before.
    for seed in 0..12 {
        let (first, second) = (run(&Scenario::generate(seed)), run(&Scenario::generate(seed)));
        assert_eq!(first.lines, second.lines, "seed {seed}");
        assert_eq!((first.digest(), &first.statistics), (second.digest(), &second.statistics));
        let elsewhere = std::thread::spawn(move || run(&Scenario::generate(seed)).digest()).join().unwrap();
        assert_eq!(first.digest(), elsewhere, "seed {seed}");
    }
}

#[test]
fn another_seed_gives_another_history() {
    let digests: std::collections::BTreeSet<_> =
        (0..8).map(|seed| run(&Scenario::generate(seed)).digest()).collect();
    assert_eq!(digests.len(), 8);
}

/// Neither the seeds of hashes nor the environment have an effect.
#[test]
fn a_history_does_not_depend_on_the_process() {
    let digest = |seed: u64| {
        let program = env!("CARGO_BIN_EXE_simulate");
        let output =
            std::process::Command::new(program).args(["--replay", &seed.to_string()]).output().unwrap();
        String::from_utf8(output.stdout).unwrap().lines().last().unwrap().to_owned()
    };
    for seed in [1, 2, 3] {
        let outcome = run(&Scenario::generate(seed));
        let expected =
            format!("seed {seed}, {} lines, digest {:016x}", outcome.lines.len(), outcome.digest());
        assert_eq!(digest(seed), expected);
    }
}

#[test]
fn planted_bugs_are_found() {
    for (bug, rule, seeds) in [
        (PlantedBug::DeadWatchUnnoticed, Rule::DeadConnectionNoticed, 30),
        (PlantedBug::SameVersionChangeIgnored, Rule::ContentIsCurrent, 30),
        (PlantedBug::ObjectsReordered, Rule::WatchOrder, 30),
    ] {
        let is_found = |seed: &u64| {
            let broken = run(&Scenario::generate(*seed).with_planted(bug)).broken;
            broken.is_some_and(|broken| broken.rule == rule)
        };
        let found: Vec<u64> = (0..seeds).filter(is_found).collect();
        println!("{bug:?}: {} of {seeds} seeds, first {:?}", found.len(), found.first());
        assert!(found.len() > 1, "{bug:?} is found in {found:?} of {seeds} seeds only");
    }
}
