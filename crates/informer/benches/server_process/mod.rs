//! Runs the server in a separate process, so that measurements cover the client only.

use k8s_openapi::api::core::v1::Pod;
use kube::{
    api::{Api, ListParams, Patch, PatchParams},
    core::PartialObjectMeta,
};
use kube_devserver::{Churn, DevServer, Fault, Verb};
use std::{
    env,
    io::{self, BufRead, BufReader, Write},
    process::{Child, ChildStdin, Command, Stdio},
};

/// A server in a separate process. It is stopped when this is dropped.
pub(crate) struct ServerProcess {
    child: Child,
    commands: Option<ChildStdin>,
    pub(crate) url: String,
}

impl ServerProcess {
    /// Starts a server with this number of pods of the corpus.
    #[allow(dead_code, reason = "not used by every benchmark")]
    pub(crate) fn with_pods(pods: u64) -> Self {
        Self::churning(pods, 0)
    }

    /// Starts a server whose pods change at this rate per second.
    #[allow(dead_code, reason = "not used by every benchmark")]
    pub(crate) fn churning(pods: u64, rate: u64) -> Self {
        let program = env::current_exe().expect("the executable has a path");
        let mut child = Command::new(program)
            .args(["serve", &pods.to_string(), &rate.to_string()])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("the process starts");
        let mut url = String::new();
        let stdout = child.stdout.take().expect("stdout is piped");
        BufReader::new(stdout).read_line(&mut url).expect("the server prints its URL");
        Self { commands: child.stdin.take(), child, url: url.trim().to_owned() }
    }

    /// Closes all watches, and lets the next one fail as expired.
    #[allow(dead_code, reason = "not used by every benchmark")]
    pub(crate) fn expire(&mut self) {
        self.send("expire");
    }

    /// Does the same, and changes this number of pods in between.
    #[allow(dead_code, reason = "not used by every benchmark")]
    pub(crate) fn expire_and_change(&mut self, pods: u64) {
        self.send(&format!("expire and change {pods}"));
    }

    #[allow(dead_code, reason = "not used by every benchmark")]
    fn send(&mut self, command: &str) {
        let commands = self.commands.as_mut().expect("stdin is open until the drop");
        writeln!(commands, "{command}").expect("the server reads commands");
    }
}

impl Drop for ServerProcess {
    fn drop(&mut self) {
        self.commands = None;
        self.child.wait().expect("the server ends when its stdin is closed");
    }
}

/// Runs the server if the arguments of this process request it. Returns `false` otherwise.
pub(crate) fn serve_if_requested() -> bool {
    let arguments: Vec<_> = env::args().collect();
    let Some(position) = arguments.iter().position(|argument| argument == "serve") else { return false };
    let pods = arguments[position + 1].parse().expect("a number of pods");
    let rate = arguments[position + 2].parse().expect("a number of changes");
    let runtime = tokio::runtime::Runtime::new().expect("a runtime");
    runtime.block_on(async {
        let server = DevServer::builder().listen("127.0.0.1:0").start().await.expect("a free port");
        let churning = server.churn(Churn::pods(pods).rate(rate));
        println!("{}", server.url().expect("the server listens"));
        let (sender, mut commands) = tokio::sync::mpsc::channel(1);
        let reader = std::thread::spawn(move || {
            io::stdin().lines().map_while(Result::ok).for_each(|command| {
                sender.blocking_send(command).expect("the receiver is open");
            });
        });
        while let Some(command) = commands.recv().await {
            let away = server.faults().inject(Fault::answer(503).on(Verb::Watch));
            server.cut_watches();
            if let Some(count) = command.strip_prefix("expire and change ") {
                change(server.client(), count.parse().expect("a number of pods")).await;
            }
            server.faults().inject(Fault::answer(410).on(Verb::Watch).times(1));
            away.withdraw();
        }
        reader.join().expect("the reader does not panic");
        drop(churning);
        server.stop().await;
    });
    true
}

/// Changes this number of pods.
async fn change(client: kube::Client, count: u32) {
    let pods = Api::<PartialObjectMeta<Pod>>::all(client.clone());
    let some = pods.list_metadata(&ListParams::default().limit(count)).await.expect("pods can be listed");
    for pod in some {
        let metadata = pod.metadata;
        let pods = Api::<Pod>::namespaced(client.clone(), metadata.namespace.as_deref().unwrap_or_default());
        let version = metadata.resource_version;
        let patch = Patch::Merge(serde_json::json!({ "metadata": { "labels": { "changed-at": version } } }));
        let name = metadata.name.unwrap_or_default();
        pods.patch(&name, &PatchParams::default(), &patch).await.expect("a pod can be patched");
    }
}

/// Returns a client that does not retry.
pub(crate) fn client(url: &str) -> kube::Client {
    let mut config = kube::Config::new(url.parse().expect("a URL"));
    config.default_retry = false;
    kube::Client::try_from(config).expect("a valid configuration")
}
