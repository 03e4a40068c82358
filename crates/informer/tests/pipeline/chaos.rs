//! Everything at once, at random, from a seed: a minute of faults under five hundred writes a second.

use crate::world::{World, strategies};
use kube_devserver::{DevServer, Fault, Verb, Versions};
use kube_informer::{Storage, reflector::Config};
use std::time::Duration;

/// A small generator, so that a seed tells the whole story.
struct Random(u64);

impl Random {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % limit
    }
}

fn misbehave(world: &World, random: &mut Random) {
    let faults = world.server.faults();
    let watch = |fault: Fault| fault.on(Verb::Watch).of("configmaps").times(1);
    match random.below(8) {
        0 => world.server.cut_watches(),
        1 => world.server.restart(Versions::Kept),
        2 => world.server.compact(),
        3 => drop(faults.inject(watch(Fault::answer(429)))),
        4 => drop(faults.inject(watch(Fault::answer(500)))),
        5 => drop(faults.inject(watch(Fault::cut_after_events(random.below(5))))),
        6 => drop(faults.inject(watch(Fault::cut_after_events(random.below(5)).abruptly()))),
        _ => drop(faults.inject(watch(Fault::pieces(1 + random.below(40) as usize)))),
    }
    if random.below(3) == 0 {
        world.server.cut_watches();
    }
}

/// With the usual backoff a wait that was begun under the faults may last a minute longer than they do.
fn impatient(mut config: Config) -> Config {
    config.backoff.initial = Duration::from_millis(50);
    config.backoff.cap = Duration::from_secs(1);
    config
}

/// So many hundredths of a second of everything, then calm.
async fn endure(world: World, mut random: Random, ticks: u32) {
    let mut pace = tokio::time::interval(Duration::from_millis(10));
    let mut alive = [false; 100];
    for tick in 0..ticks {
        for _ in 0..5 {
            let number = random.below(100) as usize;
            let name = format!("m{number}");
            match (alive[number], random.below(4)) {
                (false, _) => drop(world.create(&name).await),
                (true, 0) => world.delete(&name).await,
                (true, _) => drop(world.change(&name, &tick.to_string()).await),
            }
            alive[number] = !alive[number] || world.maps.get_opt(&name).await.unwrap().is_some();
        }
        if random.below(50) == 0 {
            misbehave(&world, &mut random);
        }
        pace.tick().await;
    }
    world.server.faults().clear();
    let calm = tokio::time::Instant::now();
    world.settled().await;
    assert!(calm.elapsed() < Duration::from_secs(5), "{:?} {:?}", calm.elapsed(), world.reports());
    let counts = world.status.borrow().counts;
    assert!(
        counts.errors >= u64::from(ticks) / 1200 && counts.replaces > 1,
        "it was hard enough: {counts:?}"
    );
    world.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_minute_of_everything_ends_with_the_cache_equal_to_the_server() {
    for (seed, config) in strategies().into_iter().enumerate() {
        endure(World::new(impatient(config)), Random(seed as u64 + 1), 6000).await;
    }
}

#[tokio::test(start_paused = true)]
async fn so_does_half_of_it_where_objects_are_kept_compact() {
    for (seed, config) in strategies().into_iter().enumerate() {
        endure(World::keeping(Storage::Compressed, impatient(config)), Random(seed as u64 + 1), 3000).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn so_do_some_seconds_of_it_over_a_socket() {
    for (seed, config) in strategies().into_iter().enumerate() {
        let server = DevServer::builder().listen("127.0.0.1:0").start().await.unwrap();
        let mut address = kube::Config::new(server.url().unwrap().parse().unwrap());
        address.default_retry = false;
        let world = World::through(
            kube::Client::try_from(address).unwrap(),
            server,
            (Storage::Decoded, impatient(config)),
        );
        endure(world, Random(seed as u64 + 7), 400).await;
    }
}
