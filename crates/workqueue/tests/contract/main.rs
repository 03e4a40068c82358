//! The contract of the queue, with one topic per file.

mod dedup;
mod delay;
mod idle;
mod metrics;
mod priority;
mod rate_limit;
mod reference;
mod shutdown;

use std::pin::pin;
use std::task::{Context, Poll, Waker};

use kube_workqueue::{Order, Processing, Queue};

/// Polls a future once.
fn poll_once<F: Future>(future: F) -> Poll<F::Output> {
    pin!(future).poll(&mut Context::from_waker(Waker::noop()))
}

/// Takes the next item, which must be ready.
fn take<T: Clone + Eq + std::hash::Hash, O: Order>(queue: &Queue<T, O>) -> Processing<T, O> {
    match poll_once(queue.get()) {
        Poll::Ready(Some(item)) => item,
        Poll::Ready(None) => panic!("the queue is shut down"),
        Poll::Pending => panic!("no item is ready"),
    }
}

/// Takes and finishes every ready item.
fn take_all<T: Clone + Eq + std::hash::Hash, O: Order>(queue: &Queue<T, O>) -> Vec<T> {
    (0..queue.len()).map(|_| take(queue).clone()).collect()
}
