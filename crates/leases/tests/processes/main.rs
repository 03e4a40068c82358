//! Real processes share shards, and are killed, suspended, stopped and started.
//!
//! This program starts itself as each replica. A replica appends a line to a log for each poll of its work. Afterwards the log is checked:
//! no two replicas have worked on a shard at the same time.

#![expect(clippy::unwrap_used, reason = "a failure fails the test")]

mod replica;
mod log;

use kube_devserver::DevServer;
use kube_leases::{Clock, SystemClock};
use log::Log;
use replica::{SHARDS, Settings};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitCode, Stdio};
use std::time::{Duration, Instant};

const LIMIT: Duration = Duration::from_secs(60);

/// A replica in a process of its own. Dropping it kills the process.
struct Replica {
    child: Child,
    name: String,
}

impl Replica {
    fn start(settings: &Settings, name: &str) -> Self {
        let mut command = Command::new(std::env::current_exe().unwrap());
        settings.pass_to(&mut command, name);
        let child = command.stdin(Stdio::piped()).spawn().unwrap();
        Self { child, name: name.to_owned() }
    }

    fn signal(&self, signal: &str) {
        let status = Command::new("kill").args([signal, &self.child.id().to_string()]).status().unwrap();
        assert!(status.success());
    }
}

impl Drop for Replica {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn main() -> ExitCode {
    if let Some(settings) = Settings::of_replica() {
        replica::run(&settings);
        return ExitCode::SUCCESS;
    }
    println!("\nrunning 1 test");
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("processes-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    test(&folder);
    std::fs::remove_dir_all(&folder).unwrap();
    println!("test replicas_never_work_on_the_same_shard_at_the_same_time ... ok\n");
    println!(
        "test result: ok. 1 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.00s\n"
    );
    ExitCode::SUCCESS
}

fn test(folder: &Path) {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
    let server = runtime.block_on(DevServer::builder().listen("127.0.0.1:0").start()).unwrap();
    let settings = Settings::new(&server.url().unwrap(), folder.join("log"));
    let mut log = Log::new(settings.log());

    let mut replicas: Vec<_> = ["a", "b", "c"].map(|name| Replica::start(&settings, name)).into();
    wait(&mut log, "three replicas work on all shards", |log| {
        log.shards().len() == SHARDS && log.replicas().len() == 3
    });

    let killed = replicas.remove(0);
    killed.signal("-KILL");
    let at = SystemClock.now();
    wait(&mut log, "all shards after kill -9", |log| log.shards_since(at, &killed.name).len() == SHARDS);
    println!("kill -9: all shards within {:?}", SystemClock.now().saturating_since(at));

    let suspended = &replicas[0];
    suspended.signal("-STOP");
    let at = SystemClock.now();
    wait(&mut log, "all shards after SIGSTOP", |log| log.shards_since(at, &suspended.name).len() == SHARDS);
    suspended.signal("-CONT");
    let at = SystemClock.now();
    wait(&mut log, "the resumed replica works again", |log| log.replicas_since(at).contains(&suspended.name));

    replicas.push(Replica::start(&settings, "d"));
    wait(&mut log, "a new replica gets shards", |log| log.replicas().contains("d"));

    let mut stopped = replicas.remove(0);
    // A replica stops when its standard input ends.
    drop(stopped.child.stdin.take());
    let at = SystemClock.now();
    assert!(stopped.child.wait().unwrap().success());
    wait(&mut log, "all shards after a graceful stop", |log| {
        log.shards_since(at, &stopped.name).len() == SHARDS
    });
    println!("graceful stop: all shards within {:?}", SystemClock.now().saturating_since(at));

    drop(replicas);
    log.read();
    let overlaps = log.overlaps();
    assert!(overlaps.is_empty(), "{overlaps:#?}");
    println!("{} polls of {} reconciles by {} replicas", log.len(), log.reconciles(), log.replicas().len());
}

/// Reads the log until a condition holds.
fn wait(log: &mut Log, what: &str, condition: impl Fn(&Log) -> bool) {
    let start = Instant::now();
    loop {
        log.read();
        if condition(log) {
            return;
        }
        assert!(start.elapsed() < LIMIT, "not within {LIMIT:?}: {what}");
        std::thread::yield_now();
        std::thread::park_timeout(Duration::from_millis(10));
    }
}
