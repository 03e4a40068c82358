//! Everything at once, at random, from a seed: a minute of faults under five hundred writes a second.

use crate::world::{World, strategies};
use kube_devserver::{Fault, Verb, Versions};
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

#[tokio::test(start_paused = true)]
async fn a_minute_of_everything_ends_with_the_cache_equal_to_the_server() {
    for (seed, mut config) in strategies().into_iter().enumerate() {
        // With the usual backoff a wait that was begun under the faults may last a minute longer than they do.
        config.backoff.initial = Duration::from_millis(50);
        config.backoff.cap = Duration::from_secs(1);
        let world = World::new(config);
        let mut random = Random(seed as u64 + 1);
        let mut alive = [false; 100];
        for tick in 0..6000 {
            for _ in 0..5 {
                let number = random.below(100) as usize;
                let name = format!("m{number}");
                match (alive[number], random.below(4)) {
                    (false, _) => drop(world.create(&name).await),
                    (true, 0) => world.delete(&name).await,
                    (true, _) => world.change(&name, &tick.to_string()).await,
                }
                alive[number] = !alive[number] || world.maps.get_opt(&name).await.unwrap().is_some();
            }
            if random.below(50) == 0 {
                misbehave(&world, &mut random);
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        world.server.faults().clear();
        let calm = tokio::time::Instant::now();
        world.settled().await;
        assert!(calm.elapsed() < Duration::from_secs(5), "{:?} {:?}", calm.elapsed(), world.reports());
        let counts = world.status.borrow().counts;
        assert!(counts.errors >= 5 && counts.replaces > 1, "it was hard enough: {counts:?}");
        world.stop().await;
    }
}
