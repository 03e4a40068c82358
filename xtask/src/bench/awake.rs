//! Processors that do not fall asleep, where two latencies of one program are held against each other.

use std::fs;
use std::hint;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};

/// Keeps every processor busy with nothing, for as long as it lives, and gives way at once to whoever wants one.
///
/// Where a machine is a guest, a processor with nothing to do goes back to the host, and comes again when the host has time: that
/// takes as long as an event is on its way, and has nothing to do with who sends or takes it. Where this cannot be had, latencies
/// are taken all the same.
#[derive(Debug)]
pub(crate) struct Awake {
    is_over: Arc<AtomicBool>,
    threads: Vec<JoinHandle<()>>,
}

impl Awake {
    pub(crate) fn keep() -> Self {
        let is_over = Arc::new(AtomicBool::new(false));
        let processors = thread::available_parallelism().map_or(1, usize::from);
        let busy = |_| {
            let is_over = Arc::clone(&is_over);
            thread::spawn(move || {
                let gives_way = gives_way();
                while gives_way && !is_over.load(Ordering::Relaxed) {
                    hint::spin_loop();
                }
            })
        };
        Self { threads: (0..processors).map(busy).collect(), is_over }
    }
}

impl Drop for Awake {
    fn drop(&mut self) {
        self.is_over.store(true, Ordering::Relaxed);
        for thread in self.threads.drain(..) {
            // One that panicked keeps nothing awake, and that is all.
            drop(thread.join());
        }
    }
}

/// Makes this thread one that runs only where nobody else wants to. Says whether it is; one that is not would be in the way.
fn gives_way() -> bool {
    let Ok(thread) = fs::read_link("/proc/thread-self") else { return false };
    let Some(number) = thread.file_name() else { return false };
    let mut command = Command::new("chrt");
    command.args(["--idle", "--pid", "0"]).arg(number).stdout(Stdio::null()).stderr(Stdio::null());
    command.status().is_ok_and(|status| status.success())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The policy of this thread, by the kernel: 5 is for those who give way.
    fn policy() -> Option<String> {
        let stat = fs::read_to_string("/proc/thread-self/stat").ok()?;
        // Behind the name, which stands in parentheses, the first field is the third.
        stat.rsplit_once(')')?.1.split_whitespace().nth(38).map(str::to_owned)
    }

    #[test]
    fn who_gives_way_runs_where_nobody_wants_to() {
        let seen = thread::spawn(|| (policy(), gives_way(), policy())).join().unwrap();
        let (before, gives_way, after) = seen;
        // Elsewhere than on Linux there is nothing to see, and nobody spins.
        assert_eq!(gives_way, after.as_deref() == Some("5"), "{before:?} {after:?}");
    }

    #[test]
    fn it_ends_when_it_is_dropped() {
        let awake = Awake::keep();
        let is_over = Arc::clone(&awake.is_over);
        drop(awake);
        assert!(is_over.load(Ordering::Relaxed));
        assert_eq!(Arc::strong_count(&is_over), 1, "a thread would hold it");
    }
}
