//! The queue under every schedule that shuttle finds: its sources, compiled against a modelled lock and clock.
//!
//! A lost wake-up shows as a deadlock, which shuttle reports.

#![cfg(feature = "__model")]
#![allow(
    dead_code,
    unreachable_pub,
    unused_imports,
    reason = "the library's sources are private modules here"
)]

#[path = "../../src/at_priority.rs"]
mod at_priority;
#[path = "../../src/backlog.rs"]
mod backlog;
#[path = "../../src/builder.rs"]
mod builder;
#[path = "../../src/delayed.rs"]
mod delayed;
#[path = "../../src/drain.rs"]
mod drain;
#[path = "../../src/entries.rs"]
mod entries;
#[path = "../../src/get.rs"]
mod get;
#[path = "../../src/limiter/mod.rs"]
mod limiter;
#[path = "../../src/metrics.rs"]
mod metrics;
#[path = "../../src/order.rs"]
mod order;
#[path = "../../src/processing.rs"]
mod processing;
#[path = "../../src/queue.rs"]
mod queue;
#[path = "../../src/hub.rs"]
mod hub;
#[path = "../../src/spare.rs"]
mod spare;
#[path = "../../src/state.rs"]
mod state;
mod sync;
#[path = "../../src/waiters.rs"]
mod waiters;

mod delays;
mod shutdown;
mod work;

use std::task::Poll;

use shuttle::future::{JoinHandle, block_on, spawn, yield_now};

type Queue = queue::Queue<usize>;

/// Runs a scenario under many random schedules, and under many with few changes of thread.
fn explore(scenario: impl Fn() + Copy + Send + Sync + 'static) {
    shuttle::check_random(scenario, 3_000);
    shuttle::check_pct(scenario, 3_000, 3);
}

/// Spawns a task that works on a handle of the queue.
fn task<R: Send + 'static, F: Future<Output = R> + Send + 'static>(
    queue: &Queue,
    work: impl FnOnce(Queue) -> F,
) -> JoinHandle<R> {
    spawn(work(queue.clone()))
}

/// Waits for all tasks.
fn join<R>(tasks: impl IntoIterator<Item = JoinHandle<R>>) -> Vec<R> {
    tasks.into_iter().map(|task| block_on(task).expect("no task fails")).collect()
}

/// Asks for an item, polls at most twice, and gives up; an item that came all the same goes back to the queue.
async fn give_up(queue: Queue) {
    let mut get = Box::pin(queue.get());
    for _ in 0..2 {
        let polled = std::future::poll_fn(|cx| Poll::Ready(get.as_mut().poll(cx))).await;
        if let Poll::Ready(item) = polled {
            return item.into_iter().for_each(|item| queue.add(*item));
        }
        yield_now().await;
    }
}
