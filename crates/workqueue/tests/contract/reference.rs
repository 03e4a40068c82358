//! Compares random operations on the queue with a reference model of plain lists.

use std::task::Poll;
use std::time::Duration;

use kube_workqueue::{Fifo, Order, Priority, Processing, Queue};
use proptest::prelude::*;
use tokio::time::advance;

use crate::poll_once;

#[derive(Clone, Copy, Debug)]
enum Op {
    Add(Item),
    AddAfter(Item, u8),
    Take,
    /// Finishes the n-th item that is being processed.
    Done(u8),
    Advance(u8),
    ShutDown,
}

#[derive(Clone, Copy, Debug)]
struct Item {
    key: u8,
    priority: i32,
}

/// The three collections of client-go's queue, and the delayed items.
#[derive(Debug, Default)]
struct Reference {
    /// In order of arrival.
    queue: Vec<Item>,
    /// Added again while being processed.
    dirty: Vec<Item>,
    processing: Vec<u8>,
    /// With the due time, in order of arrival.
    waiting: Vec<(u64, Item)>,
    clock: u64,
    is_shut_down: bool,
}

impl Reference {
    fn add(&mut self, item: Item) {
        let known = if self.processing.contains(&item.key) { &mut self.dirty } else { &mut self.queue };
        match known.iter_mut().find(|known| known.key == item.key) {
            Some(known) => known.priority = known.priority.max(item.priority),
            None => known.push(item),
        }
    }

    fn add_after(&mut self, item: Item, delay: u64) {
        let due = self.clock + delay;
        if delay == 0 {
            return self.add(item);
        }
        match self.waiting.iter_mut().find(|(_, known)| known.key == item.key) {
            Some((known, waiting)) => {
                *known = due.min(*known);
                waiting.priority = waiting.priority.max(item.priority);
            }
            None => self.waiting.push((due, item)),
        }
    }

    fn advance(&mut self, time: u64) {
        self.clock += time;
        while let Some(next) = (0..self.waiting.len()).min_by_key(|i| self.waiting[*i].0)
            && self.waiting[next].0 <= self.clock
        {
            let (_, item) = self.waiting.remove(next);
            self.add(item);
        }
    }

    fn take(&mut self) -> Option<u8> {
        let best = self.queue.iter().map(|item| item.priority).max()?;
        let at = self.queue.iter().position(|item| item.priority == best)?;
        let key = self.queue.remove(at).key;
        self.processing.push(key);
        Some(key)
    }

    fn done(&mut self, at: usize) {
        let key = self.processing.remove(at);
        if let Some(at) = self.dirty.iter().position(|item| item.key == key) {
            let item = self.dirty.remove(at);
            self.queue.push(item);
        }
    }

    fn apply(&mut self, op: Op) {
        match op {
            Op::Add(item) if !self.is_shut_down => self.add(item),
            Op::AddAfter(item, delay) if !self.is_shut_down => self.add_after(item, delay.into()),
            Op::Advance(time) => self.advance(time.into()),
            Op::ShutDown => {
                self.is_shut_down = true;
                self.waiting.clear();
            }
            Op::Add(_) | Op::AddAfter(..) | Op::Take | Op::Done(_) => {}
        }
    }

    fn has_ended(&self) -> bool {
        self.is_shut_down && self.queue.is_empty() && self.dirty.is_empty()
    }
}

/// Adds to a queue of either order.
trait Adds: Order + Default {
    fn add(queue: &Queue<u8, Self>, item: Item, delay: Option<Duration>);
}

impl Adds for Fifo {
    fn add(queue: &Queue<u8, Self>, item: Item, delay: Option<Duration>) {
        match delay {
            None => queue.add(item.key),
            Some(delay) => queue.add_after(item.key, delay),
        }
    }
}

impl Adds for Priority {
    fn add(queue: &Queue<u8, Self>, item: Item, delay: Option<Duration>) {
        match delay {
            None => queue.at_priority(item.priority).add(item.key),
            Some(delay) => queue.at_priority(item.priority).add_after(item.key, delay),
        }
    }
}

async fn check<O: Adds>(ops: Vec<Op>) {
    let queue = Queue::<u8, O>::default();
    let mut reference = Reference::default();
    let mut processing: Vec<Processing<u8, O>> = Vec::new();
    for op in ops {
        match op {
            Op::Add(item) => O::add(&queue, item, None),
            Op::AddAfter(item, delay) => O::add(&queue, item, Some(Duration::from_millis(delay.into()))),
            Op::Advance(time) => advance(Duration::from_millis(time.into())).await,
            Op::ShutDown => queue.shut_down(),
            Op::Done(_) if processing.is_empty() => {}
            Op::Done(n) => {
                let at = usize::from(n) % processing.len();
                processing.remove(at).done();
                reference.done(at);
            }
            Op::Take => match poll_once(queue.get()) {
                Poll::Ready(Some(item)) => {
                    assert_eq!(Some(*item), reference.take());
                    processing.push(item);
                }
                Poll::Ready(None) => assert!(reference.has_ended()),
                Poll::Pending => assert!(reference.queue.is_empty() && !reference.has_ended()),
            },
        }
        reference.apply(op);
        assert_eq!(queue.len(), reference.queue.len());
    }
}

/// Uses few keys and small numbers, so that operations interact.
fn ops(priorities: std::ops::Range<i32>) -> impl Strategy<Value = Vec<Op>> {
    let item = (0..5_u8, priorities).prop_map(|(key, priority)| Item { key, priority });
    let op = prop_oneof![
        8 => item.clone().prop_map(Op::Add),
        6 => (item, 0..6_u8).prop_map(|(item, delay)| Op::AddAfter(item, delay)),
        8 => Just(Op::Take),
        6 => any::<u8>().prop_map(Op::Done),
        4 => (0..4_u8).prop_map(Op::Advance),
        1 => prop::bool::weighted(0.2).prop_map(|ends| if ends { Op::ShutDown } else { Op::Take }),
    ];
    prop::collection::vec(op, 0..120)
}

fn with_paused_time(check: impl Future<Output = ()>) {
    tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .start_paused(true)
        .build()
        .expect("a runtime without I/O can be created")
        .block_on(check);
}

proptest! {
    #[test]
    fn fifo_matches_the_reference(ops in ops(0..1)) {
        with_paused_time(check::<Fifo>(ops));
    }

    #[test]
    fn priority_matches_the_reference(ops in ops(-1..3)) {
        with_paused_time(check::<Priority>(ops));
    }
}
