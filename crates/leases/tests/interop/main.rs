//! Candidates of client-go and of this crate take turns on one Lease.
//!
//! `cargo xtask test interop` builds the program `elect` and sets `INTEROP_ELECT` to its path.

#![expect(clippy::unwrap_used, reason = "helpers of tests fail the test")]

use kube_client::{Client, Config};
use kube_devserver::DevServer;
use kube_leases::{Leases, Shard, Status};
use std::fs::{File, OpenOptions};
use std::path::PathBuf;
use std::process::Stdio;
use std::time::Duration;
use tokio::io::{AsyncBufReadExt, BufReader, Lines};
use tokio::process::{Child, ChildStdout, Command};
use tokio::runtime::{Builder, Runtime};
use tokio::time::timeout;

const LIMIT: Duration = Duration::from_secs(60);

/// Returns the number of changes of the leader, half of which are from each implementation.
fn rounds() -> usize {
    std::env::var("INTEROP_ROUNDS").map_or(12, |rounds| rounds.parse().unwrap())
}

/// The files and the server of a test.
struct ScriptedWatch {
    server: DevServer,
    folder: PathBuf,
    started: usize,
}

impl ScriptedWatch {
    async fn new() -> Self {
        let server = DevServer::builder().listen("127.0.0.1:0").start().await.unwrap();
        let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("elect-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        std::fs::write(folder.join("kubeconfig"), server.kubeconfig().unwrap()).unwrap();
        Self { server, folder, started: 0 }
    }

    fn identity(&mut self, kind: &str) -> String {
        self.started += 1;
        format!("{kind}-{}", self.started)
    }

    fn start_go(&mut self) -> GoCandidate {
        let program = std::env::var_os("INTEROP_ELECT").expect("`cargo xtask test interop` sets the path");
        let identity = self.identity("go");
        let mut child = Command::new(program)
            .arg("-kubeconfig")
            .arg(self.folder.join("kubeconfig"))
            .arg("-lock")
            .arg(self.folder.join("lock"))
            .args(["-name", "web", "-identity", &identity])
            .args(["-lease-duration", "1s", "-renew-deadline", "700ms", "-retry-period", "100ms"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        GoCandidate { identity, child, lines }
    }

    /// Starts a candidate of this crate on a runtime of its own, which can be killed.
    fn start_rust(&mut self) -> RustCandidate {
        let url = self.server.url().unwrap().parse().unwrap();
        let runtime = Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
        let entered = runtime.enter();
        let leases = Leases::leader("web")
            .namespace("default")
            .identity(self.identity("rust"))
            .lease_duration(Duration::from_secs(1))
            .renew_deadline(Duration::from_millis(700))
            .retry_period(Duration::from_millis(100))
            .start(Client::try_from(Config::new(url)).unwrap())
            .unwrap();
        drop(entered);
        RustCandidate { leases, runtime }
    }

    /// Locks the file that a leader locks. Fails if the other candidate also leads.
    fn lock(&self) -> File {
        let file = OpenOptions::new()
            .create(true)
            .truncate(false)
            .write(true)
            .open(self.folder.join("lock"))
            .unwrap();
        file.try_lock().expect("no other leader");
        file
    }
}

struct GoCandidate {
    identity: String,
    child: Child,
    lines: Lines<BufReader<ChildStdout>>,
}

impl GoCandidate {
    async fn leading(&mut self) {
        self.line("leading").await;
    }

    /// Waits for a line. Lines are written by several threads, so that other lines can precede it.
    async fn line(&mut self, expected: &str) {
        loop {
            let line = timeout(LIMIT, self.lines.next_line()).await.expect("a line in time").unwrap();
            let line = line.unwrap_or_else(|| panic!("it ended before {expected:?}"));
            assert!(line != "violation" && !line.starts_with("error"), "{line}");
            if line == expected {
                return;
            }
        }
    }

    async fn release(mut self) {
        drop(self.child.stdin.take());
        assert!(timeout(LIMIT, self.child.wait()).await.unwrap().unwrap().success());
    }
}

struct RustCandidate {
    leases: Leases,
    runtime: Runtime,
}

impl RustCandidate {
    async fn leading(&self) -> Shard {
        timeout(LIMIT, self.leases.acquired()).await.expect("it leads in time").unwrap()
    }

    /// Waits until this candidate knows that another one leads.
    async fn observed(&self, identity: &str) {
        let is_holder =
            |status: &Status| status.shards.iter().any(|shard| shard.holder.as_deref() == Some(identity));
        timeout(LIMIT, self.leases.wait_for(is_holder)).await.expect("it watches the Lease").unwrap();
    }

    async fn release(self) {
        self.leases.stop();
        timeout(LIMIT, self.leases.stopped()).await.expect("it stops in time");
        self.runtime.shutdown_background();
    }

    /// Ends all tasks at once, so that the Lease is neither renewed nor released.
    fn kill(self) {
        self.runtime.shutdown_background();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn client_go_and_this_crate_take_turns_by_release_and_by_kill() {
    let mut watch = ScriptedWatch::new().await;
    let mut ours = watch.start_rust();
    let mut last_token = None;
    for round in 0..rounds() / 2 {
        let leadership = ours.leading().await;
        let lock = watch.lock();
        assert!(Some(leadership.token()) > last_token);
        last_token = Some(leadership.token());
        let mut go = watch.start_go();
        go.line(&format!("observed {}", ours.leases.identity())).await;
        // The lock of a leader is released when its work or its process ends.
        drop(lock);
        drop(leadership);
        match round % 2 {
            0 => ours.release().await,
            _ => ours.kill(),
        }
        go.leading().await;
        ours = watch.start_rust();
        ours.observed(&go.identity).await;
        match round % 2 {
            0 => go.child.kill().await.unwrap(),
            _ => go.release().await,
        }
    }
    let leadership = ours.leading().await;
    watch.lock();
    let expected = u64::try_from(rounds() / 2 * 2).unwrap();
    assert_eq!(leadership.token(), expected, "each hand-over is a transition");
    drop(leadership);
    ours.release().await;
    std::fs::remove_dir_all(&watch.folder).unwrap();
}
