//! Random faults from a seed during five hundred writes per second.

use crate::harness::{Harness, strategies};
use kube_devserver::{DevServer, Fault, Verb, Versions};
use kube_informer::{Storage, reflector::Config};
use std::time::Duration;

/// A small random number generator: a seed determines the whole test.
struct Random(u64);

impl Random {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % limit
    }
}

fn inject_random_fault(harness: &Harness, random: &mut Random) {
    let faults = harness.server.faults();
    let watch = |fault: Fault| fault.on(Verb::Watch).of("configmaps").times(1);
    match random.below(8) {
        0 => harness.server.cut_watches(),
        1 => harness.server.restart(Versions::Kept),
        2 => harness.server.compact(),
        3 => drop(faults.inject(watch(Fault::answer(429)))),
        4 => drop(faults.inject(watch(Fault::answer(500)))),
        5 => drop(faults.inject(watch(Fault::cut_after_events(random.below(5))))),
        6 => drop(faults.inject(watch(Fault::cut_after_events(random.below(5)).abruptly()))),
        _ => drop(faults.inject(watch(Fault::pieces(1 + random.below(40) as usize)))),
    }
    if random.below(3) == 0 {
        harness.server.cut_watches();
    }
}

/// Shortens the backoff, which otherwise lasts up to a minute longer than the faults.
fn with_short_backoff(mut config: Config) -> Config {
    config.backoff.initial = Duration::from_millis(50);
    config.backoff.cap = Duration::from_secs(1);
    config
}

/// Injects faults for this number of ticks of 10 ms, then checks that the cache converges.
async fn check_recovery(harness: Harness, mut random: Random, ticks: u32) {
    let mut pace = tokio::time::interval(Duration::from_millis(10));
    let mut alive = [false; 100];
    for tick in 0..ticks {
        for _ in 0..5 {
            let number = random.below(100) as usize;
            let name = format!("m{number}");
            match (alive[number], random.below(4)) {
                (false, _) => drop(harness.create(&name).await),
                (true, 0) => harness.delete(&name).await,
                (true, _) => drop(harness.change(&name, &tick.to_string()).await),
            }
            alive[number] = !alive[number] || harness.maps.get_opt(&name).await.unwrap().is_some();
        }
        if random.below(50) == 0 {
            inject_random_fault(&harness, &mut random);
        }
        pace.tick().await;
    }
    harness.server.faults().clear();
    let faults_ended = tokio::time::Instant::now();
    harness.check_converged().await;
    // At most five watches are opened in ten seconds.
    assert!(
        faults_ended.elapsed() < Duration::from_secs(15),
        "{:?} {:?}",
        faults_ended.elapsed(),
        harness.reports()
    );
    let counts = harness.status.borrow().counts;
    assert!(
        counts.errors >= u64::from(ticks) / 1200 && counts.replaces > 1,
        "enough faults had an effect: {counts:?}"
    );
    harness.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_decoded_cache_converges_after_random_faults() {
    for (seed, config) in strategies().into_iter().enumerate() {
        check_recovery(Harness::new(with_short_backoff(config)), Random(seed as u64 + 1), 1500).await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_compressed_cache_converges_after_random_faults() {
    for (seed, config) in strategies().into_iter().enumerate() {
        check_recovery(
            Harness::with_storage(Storage::Compressed, with_short_backoff(config)),
            Random(seed as u64 + 1),
            1200,
        )
        .await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_cache_converges_after_random_faults_over_a_socket() {
    for (seed, config) in strategies().into_iter().enumerate() {
        let server = DevServer::builder().listen("127.0.0.1:0").start().await.unwrap();
        let address = kube::Config::new(server.url().unwrap().parse().unwrap());
        let harness = Harness::through(
            kube::Client::try_from(address).unwrap(),
            server,
            Storage::Decoded,
            with_short_backoff(config),
        );
        check_recovery(harness, Random(seed as u64 + 7), 400).await;
    }
}
