//! Checks the queue with random thread schedules.

use k8s_openapi::api::core::v1::Pod;
use kube_informer::delta_fifo::{DeltaFifo, Entry};
use shuttle::{future, scheduler::RandomScheduler, thread};
use std::{
    num::NonZeroUsize,
    pin::pin,
    task::{Context, Waker},
};

fn pod(name: &str) -> Pod {
    let mut pod = Pod::default();
    pod.metadata.name = Some(name.into());
    pod
}

fn check(model: impl Fn() + Send + Sync + 'static) {
    let mut config = shuttle::Config::new();
    // Frames of unoptimized code with pods do not fit into the default stack.
    config.stack_size = 1 << 20;
    shuttle::Runner::new(RandomScheduler::new(5_000), config).run(model);
}

/// Pops until the queue is closed. Returns the number of deltas.
fn drain(fifo: &DeltaFifo<Pod>) -> usize {
    future::block_on(async {
        let mut count = 0;
        while let Some(batch) = fifo.pop().await {
            for entry in &batch.entries {
                if let Entry::Deltas(deltas) = entry {
                    count += deltas.len();
                }
            }
        }
        count
    })
}

fn produce(fifo: &DeltaFifo<Pod>, names: &[&str]) -> thread::JoinHandle<()> {
    let fifo = fifo.clone();
    let names: Vec<String> = names.iter().map(ToString::to_string).collect();
    thread::spawn(move || {
        future::block_on(async {
            for name in &names {
                fifo.add(pod(name)).await.expect("open while producers run");
            }
        });
    })
}

/// Closes the queue after the producers have ended.
fn close_after(fifo: &DeltaFifo<Pod>, producers: [thread::JoinHandle<()>; 2]) -> thread::JoinHandle<()> {
    let fifo = fifo.clone();
    thread::spawn(move || {
        for producer in producers {
            producer.join().expect("a producer");
        }
        fifo.close();
    })
}

// R82, R83
#[test]
fn no_wake_up_is_lost_with_two_producers_and_two_consumers() {
    check(|| {
        let fifo = DeltaFifo::builder().build();
        let producers = [produce(&fifo, &["a", "b", "a"]), produce(&fifo, &["c", "a"])];
        let consumer = thread::spawn({
            let fifo = fifo.clone();
            move || drain(&fifo)
        });
        let closer = close_after(&fifo, producers);
        let here = drain(&fifo);
        assert_eq!(here + consumer.join().expect("a consumer"), 5);
        closer.join().expect("the closer");
    });
}

// R85
#[test]
fn a_full_queue_and_its_consumer_wake_each_other() {
    check(|| {
        let fifo = DeltaFifo::builder().capacity(NonZeroUsize::MIN).build();
        let producers = [produce(&fifo, &["a", "a"]), produce(&fifo, &["b"])];
        let closer = close_after(&fifo, producers);
        assert_eq!(drain(&fifo), 3);
        closer.join().expect("the closer");
    });
}

#[test]
fn a_cancelled_pop_loses_no_entry() {
    check(|| {
        let fifo = DeltaFifo::builder().build();
        let producer = produce(&fifo, &["a"]);
        let other = thread::spawn({
            let fifo = fifo.clone();
            move || future::block_on(async { fifo.pop().await.is_some() })
        });
        let taken = {
            let mut cancelled = pin!(fifo.pop());
            cancelled.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_ready()
        };
        producer.join().expect("a producer");
        fifo.close();
        assert_ne!(other.join().expect("a consumer"), taken);
    });
}
