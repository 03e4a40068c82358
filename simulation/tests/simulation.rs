//! A seed tells the whole story, whoever asks and how often.

use kube_informer_simulation::{Scenario, run};

#[test]
fn the_same_seed_gives_the_same_history_byte_for_byte() {
    // Seeds of every kind of setup, each also on a thread that has run something else before.
    for seed in 0..12 {
        let (first, second) = (run(&Scenario::draw(seed)), run(&Scenario::draw(seed)));
        assert_eq!(first.lines, second.lines, "seed {seed}");
        assert_eq!((first.digest(), &first.tally), (second.digest(), &second.tally));
        let elsewhere = std::thread::spawn(move || run(&Scenario::draw(seed)).digest()).join().unwrap();
        assert_eq!(first.digest(), elsewhere, "seed {seed}");
    }
}

#[test]
fn another_seed_gives_another_history() {
    let digests: std::collections::BTreeSet<_> =
        (0..8).map(|seed| run(&Scenario::draw(seed)).digest()).collect();
    assert_eq!(digests.len(), 8);
}

/// What this process draws is what any other does: not the seeds of hashes, nor what stands in the environment.
#[test]
fn a_history_does_not_depend_on_the_process() {
    let digest = |seed: u64| {
        let program = env!("CARGO_BIN_EXE_simulate");
        let output =
            std::process::Command::new(program).args(["--replay", &seed.to_string()]).output().unwrap();
        String::from_utf8(output.stdout).unwrap().lines().last().unwrap().to_owned()
    };
    for seed in [1, 2, 3] {
        let outcome = run(&Scenario::draw(seed));
        let expected =
            format!("seed {seed}, {} lines, digest {:016x}", outcome.lines.len(), outcome.digest());
        assert_eq!(digest(seed), expected);
    }
}
