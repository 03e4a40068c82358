//! The API server of a run: the devserver, or kube-apiserver behind the plain endpoint of the program in `cluster/`.

use kube_client::{Client, Config};
use kube_devserver::{DevServer, Fault, Versions};
use serde_json::Value;
use std::{
    ffi::OsStr,
    io::{BufRead, BufReader, Lines, Write},
    process::{Child, ChildStdin, ChildStdout, Command, Stdio},
    sync::{Arc, Mutex},
    time::Duration,
};
use tokio::time::timeout;

/// The API server.
#[derive(Clone)]
pub(crate) enum Server {
    Dev(Arc<DevServer>),
    Real(Arc<Cluster>),
}

impl Server {
    /// Starts kube-apiserver if `LEASES_SOAK_CLUSTER` is the path of the program, otherwise the devserver.
    pub(crate) async fn start() -> Self {
        match std::env::var_os("LEASES_SOAK_CLUSTER") {
            Some(program) => Self::Real(Arc::new(Cluster::start(&program))),
            None => {
                let server = DevServer::builder().listen("127.0.0.1:0").start().await.unwrap();
                Self::Dev(Arc::new(server))
            }
        }
    }

    pub(crate) fn name(&self) -> String {
        match self {
            Self::Dev(_) => "devserver".to_owned(),
            Self::Real(cluster) => format!("kube-apiserver {}", cluster.version),
        }
    }

    pub(crate) fn url(&self) -> String {
        match self {
            Self::Dev(server) => server.url().unwrap(),
            Self::Real(cluster) => cluster.url.clone(),
        }
    }

    pub(crate) fn client(&self) -> Client {
        Client::try_from(Config::new(self.url().parse().unwrap())).unwrap()
    }

    /// Kills the server, and starts it again with the same data.
    pub(crate) fn restart(&self) {
        match self {
            Self::Dev(server) => server.restart(Versions::Kept),
            Self::Real(cluster) => {
                let cluster = Arc::clone(cluster);
                // It takes some seconds, in which faults and changes continue.
                tokio::task::spawn_blocking(move || cluster.execute("restart kube-apiserver"));
            }
        }
    }

    /// Rejects all requests for Leases with 503 for this time.
    pub(crate) fn refuse_leases(&self, time: Duration) {
        let server = self.clone();
        tokio::spawn(async move {
            let over = timeout(time, std::future::pending::<()>());
            match &server {
                Self::Dev(server) => {
                    let fault = server.faults().inject(Fault::answer(503).of("leases").times(u32::MAX));
                    let _ = over.await;
                    fault.withdraw();
                }
                Self::Real(cluster) => {
                    cluster.execute_in_background("refuse leases").await;
                    let _ = over.await;
                    cluster.execute_in_background("serve").await;
                }
            }
        });
    }

    pub(crate) fn cut_connections(&self) {
        match self {
            Self::Dev(server) => server.cut_watches(),
            Self::Real(cluster) => {
                let cluster = Arc::clone(cluster);
                tokio::task::spawn_blocking(move || cluster.execute("cut"));
            }
        }
    }

    /// Ends all faults, and waits until the server is ready.
    pub(crate) async fn heal(&self) {
        match self {
            Self::Dev(server) => server.faults().clear(),
            // A restart that is under way ends first.
            Self::Real(cluster) => cluster.execute_in_background("serve").await,
        }
    }
}

/// A running program of `cluster/`. It stops when its standard input is closed.
pub(crate) struct Cluster {
    url: String,
    version: String,
    dialog: Mutex<Dialog>,
    child: Mutex<Child>,
}

struct Dialog {
    /// `None` after the end.
    input: Option<ChildStdin>,
    output: Lines<BufReader<ChildStdout>>,
}

impl Cluster {
    fn start(program: &OsStr) -> Self {
        let mut command = Command::new(program);
        command.arg("-plain").arg("-within").arg(env!("CARGO_TARGET_TMPDIR"));
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let output = BufReader::new(child.stdout.take().unwrap()).lines();
        let mut dialog = Dialog { input: child.stdin.take(), output };
        let ready = dialog.answer();
        let text = |field: &str| ready[field].as_str().unwrap().to_owned();
        let (url, version) = (text("plain"), text("version"));
        Self { url, version, dialog: Mutex::new(dialog), child: Mutex::new(child) }
    }

    /// Executes a command, and blocks the thread until its response.
    fn execute(&self, command: &str) {
        let mut dialog = self.dialog.lock().unwrap();
        writeln!(dialog.input.as_mut().unwrap(), "{command}").unwrap();
        let answer = dialog.answer();
        assert_eq!(answer.get("error"), None, "{command}");
    }

    async fn execute_in_background(self: &Arc<Self>, command: &'static str) {
        let cluster = Arc::clone(self);
        tokio::task::spawn_blocking(move || cluster.execute(command)).await.unwrap();
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        self.dialog.get_mut().unwrap().input.take();
        let _ = self.child.get_mut().unwrap().wait();
    }
}

impl Dialog {
    fn answer(&mut self) -> Value {
        let line = self.output.next().expect("the program prints its error on standard error").unwrap();
        serde_json::from_str(&line).unwrap()
    }
}
