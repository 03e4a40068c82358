//! Notices that a run is busy and virtual time does not pass, whatever it is busy with.

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

/// A thread that asks a run from time to time whether time has passed in it.
///
/// A run takes milliseconds, so that none is asked at all in which nothing is wrong, and what it does follows from its seed alone.
#[derive(Debug)]
pub(crate) struct Pulse {
    /// Dropped when it is over.
    is_over: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

/// How often it asks, in the time of the machine.
const PERIOD: Duration = Duration::from_secs(30);

impl Pulse {
    pub(crate) fn take(runtime: &Runtime, history: &History) -> Self {
        let beat = Arc::new(Notify::new());
        runtime.spawn(listen(Arc::clone(&beat), history.clone()));
        let (is_over, over) = channel();
        let thread = std::thread::spawn(move || {
            while over.recv_timeout(PERIOD) == Err(RecvTimeoutError::Timeout) {
                beat.notify_one();
            }
        });
        Self { is_over: Some(is_over), thread: Some(thread) }
    }
}

/// Between two beats, time passes.
async fn listen(beat: Arc<Notify>, history: History) {
    let mut last = None;
    loop {
        beat.notified().await;
        let now = Some(Instant::now());
        if now == last {
            return history.stands_still();
        }
        last = now;
    }
}

impl Drop for Pulse {
    fn drop(&mut self) {
        drop(self.is_over.take());
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::history::Rule;

    #[tokio::test(start_paused = true)]
    async fn two_beats_in_one_moment_are_one_too_many() {
        let (beat, history) = (Arc::new(Notify::new()), History::new());
        let listening = tokio::spawn(listen(Arc::clone(&beat), history.clone()));
        for _ in 0..3 {
            beat.notify_one();
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        assert!(!history.is_broken());
        beat.notify_one();
        tokio::task::yield_now().await;
        beat.notify_one();
        listening.await.unwrap();
        assert_eq!(history.outcome().broken.map(|broken| broken.rule), Some(Rule::TimePasses));
    }
}
