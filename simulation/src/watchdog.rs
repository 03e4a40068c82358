//! Detects a run that is busy while virtual time does not advance.

use crate::history::History;
use std::{
    sync::{
        Arc,
        mpsc::{RecvTimeoutError, Sender, channel},
    },
    thread::JoinHandle,
    time::Duration,
};
use tokio::{runtime::Runtime, sync::Notify, time::Instant};

/// A thread that regularly checks that virtual time advances.
///
/// A run takes milliseconds, so that a correct run is never checked and depends on its seed only.
#[derive(Debug)]
pub(crate) struct Watchdog {
    /// Dropped at the end of the run.
    end: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

/// The interval of the checks in real time.
const PERIOD: Duration = Duration::from_secs(30);

impl Watchdog {
    pub(crate) fn start(runtime: &Runtime, history: &History) -> Self {
        let tick = Arc::new(Notify::new());
        runtime.spawn(watch(Arc::clone(&tick), history.clone()));
        let (end, ended) = channel();
        let thread = std::thread::spawn(move || {
            while ended.recv_timeout(PERIOD) == Err(RecvTimeoutError::Timeout) {
                tick.notify_one();
            }
        });
        Self { end: Some(end), thread: Some(thread) }
    }
}

/// Reports an error if two ticks arrive at the same virtual time.
async fn watch(tick: Arc<Notify>, history: History) {
    let mut last = None;
    loop {
        tick.notified().await;
        let now = Some(Instant::now());
        if now == last {
            return history.time_stopped();
        }
        last = now;
    }
}

impl Drop for Watchdog {
    fn drop(&mut self) {
        drop(self.end.take());
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::history::{Logging, Rule};

    #[tokio::test(start_paused = true)]
    async fn two_ticks_at_one_virtual_time_are_an_error() {
        let (tick, history) = (Arc::new(Notify::new()), History::new(Logging::Enabled));
        let watching = tokio::spawn(watch(Arc::clone(&tick), history.clone()));
        for _ in 0..3 {
            tick.notify_one();
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        assert!(!history.is_broken());
        tick.notify_one();
        tokio::task::yield_now().await;
        tick.notify_one();
        watching.await.unwrap();
        assert_eq!(history.outcome().broken.map(|broken| broken.rule), Some(Rule::TimeAdvances));
    }
}
