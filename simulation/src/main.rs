//! Runs seeds.
use kube_informer_simulation::{Scenario, Tally, run};
fn main() {
    let args: Vec<u64> = std::env::args().skip(1).map(|a| a.parse().unwrap()).collect();
    let began = std::time::Instant::now();
    let mut tally = Tally::default();
    let mut bad = 0;
    for seed in args[0]..args[0] + args[1] {
        let outcome = run(&Scenario::draw(seed));
        tally.merge(&outcome.tally);
        if let Some(broken) = &outcome.broken {
            bad += 1;
            println!("seed {seed}: {} {}", broken.rule, broken.detail);
            if args.len() > 2 { println!("{}", Scenario::draw(seed)); for line in &outcome.lines { println!("{line}"); } }
        }
    }
    println!("{tally}\n{bad} bad, {:?}", began.elapsed());
}
