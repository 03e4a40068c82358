//! Runs the queue under many schedules of shuttle: its sources are compiled with a lock and a clock of the model.
//!
//! Shuttle reports a lost wake-up as a deadlock.

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
#[path = "../../src/idle.rs"]
mod idle;
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
#[path = "../../src/locked_state.rs"]
mod locked_state;
#[path = "../../src/capacity.rs"]
mod capacity;
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

/// Runs a scenario under random schedules, and under schedules with few context switches.
fn explore(scenario: impl Fn() + Copy + Send + Sync + 'static) {
    shuttle::check_random(scenario, 3_000);
    shuttle::check_pct(scenario, 3_000, 3);
}

/// Spawns a task with a handle of the queue.
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

/// Waits for an item, but cancels after two polls. An item that is received is added again.
async fn cancel_get(queue: Queue) {
    let mut get = Box::pin(queue.get());
    for _ in 0..2 {
        let polled = std::future::poll_fn(|cx| Poll::Ready(get.as_mut().poll(cx))).await;
        if let Poll::Ready(item) = polled {
            if let Some(item) = item {
                queue.add(*item);
            }
            return;
        }
        yield_now().await;
    }
}
