//! Compares the devserver with a kube-apiserver by random operations; `cargo xtask compare` starts it.

use clap::Parser;
use kube_conformance::{
    Server,
    comparison::{Comparison, SEQUENCE},
};
use std::process::ExitCode;

/// Sends random operations to the devserver and to a kube-apiserver, and prints where the responses differ
#[derive(Parser)]
#[command(name = "cargo xtask compare")]
struct Arguments {
    /// The number of operations
    #[arg(long, default_value_t = 20_000)]
    operations: u64,
    /// The seed of the first sequence
    #[arg(long, default_value_t = 1)]
    seed: u64,
}

#[tokio::main]
async fn main() -> ExitCode {
    let Arguments { operations, seed } = Arguments::parse();
    let servers = [Server::dev().await, Server::real().await];
    println!("kube-apiserver {}", servers[1].version());
    let clients = [servers[0].client(), servers[1].client()];
    let clients = [&clients[0], &clients[1]];
    let mut comparison = Comparison::default();
    Comparison::prepare(clients).await;
    for seed in seed..seed + operations.div_ceil(SEQUENCE) {
        let known = comparison.differences.len();
        comparison.run(seed, clients).await;
        comparison.differences[known..].iter().for_each(|difference| println!("{difference}"));
    }
    for (feature, count) in &comparison.counts {
        println!("{count:>6} {feature}");
    }
    let Comparison { operations, refused, differences, .. } = &comparison;
    println!("{operations} operations, {refused} refused, {} sequences differ", differences.len());
    if differences.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
