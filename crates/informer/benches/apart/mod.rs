//! A server in a process of its own, so that figures of this one are of the client alone.

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

/// A server in another process, which ends with this value.
pub(crate) struct Apart {
    child: Child,
    orders: Option<ChildStdin>,
    pub(crate) url: String,
}

impl Apart {
    /// Starts this program again as a server with so many pods of the corpus.
    #[allow(dead_code, reason = "each benchmark compiles this file for itself, and some want changes")]
    pub(crate) fn with_pods(pods: u64) -> Self {
        Self::churning(pods, 0)
    }

    /// The same, and so many of them change each second.
    #[allow(dead_code, reason = "each benchmark compiles this file for itself, and not all want changes")]
    pub(crate) fn churning(pods: u64, rate: u64) -> Self {
        let program = env::current_exe().expect("a program has a path");
        let mut child = Command::new(program)
            .args(["serve", &pods.to_string(), &rate.to_string()])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("this program starts again");
        let mut url = String::new();
        let stdout = child.stdout.take().expect("it is piped");
        BufReader::new(stdout).read_line(&mut url).expect("the server says where it is");
        Self { orders: child.stdin.take(), child, url: url.trim().to_owned() }
    }

    /// Cuts all watches, and says of the next one that its version has expired.
    #[allow(dead_code, reason = "each benchmark compiles this file for itself, and not all relist")]
    pub(crate) fn expire(&mut self) {
        self.order("expire");
    }

    /// The same, and changes so many pods meanwhile.
    #[allow(dead_code, reason = "each benchmark compiles this file for itself, and not all change something")]
    pub(crate) fn expire_and_change(&mut self, pods: u64) {
        self.order(&format!("expire and change {pods}"));
    }

    #[allow(dead_code, reason = "each benchmark compiles this file for itself, and not all give orders")]
    fn order(&mut self, order: &str) {
        let orders = self.orders.as_mut().expect("it is open until the end");
        writeln!(orders, "{order}").expect("the server listens");
    }
}

impl Drop for Apart {
    fn drop(&mut self) {
        self.orders = None;
        self.child.wait().expect("the server ends when nobody can give it orders");
    }
}

/// Serves if that is what this process was started for.
pub(crate) fn served() -> bool {
    let arguments: Vec<_> = env::args().collect();
    let Some(place) = arguments.iter().position(|argument| argument == "serve") else { return false };
    let pods = arguments[place + 1].parse().expect("a number of pods");
    let rate = arguments[place + 2].parse().expect("a number of changes");
    let runtime = tokio::runtime::Runtime::new().expect("a runtime");
    runtime.block_on(async {
        let server = DevServer::builder().listen("127.0.0.1:0").start().await.expect("a free port");
        let churning = server.churn(Churn::pods(pods).rate(rate));
        println!("{}", server.url().expect("it listens"));
        let (sender, mut orders) = tokio::sync::mpsc::channel(1);
        let reader = std::thread::spawn(move || {
            io::stdin().lines().map_while(Result::ok).for_each(|order| {
                sender.blocking_send(order).expect("the server reads until the end");
            });
        });
        while let Some(order) = orders.recv().await {
            let away = server.faults().inject(Fault::answer(503).on(Verb::Watch));
            server.cut_watches();
            if let Some(count) = order.strip_prefix("expire and change ") {
                change(server.client(), count.parse().expect("a number of pods")).await;
            }
            server.faults().inject(Fault::answer(410).on(Verb::Watch).times(1));
            away.withdraw();
        }
        reader.join().expect("it only reads");
        drop(churning);
        server.stop().await;
    });
    true
}

/// Changes so many pods.
async fn change(client: kube::Client, count: u32) {
    let pods = Api::<PartialObjectMeta<Pod>>::all(client.clone());
    let some = pods.list_metadata(&ListParams::default().limit(count)).await.expect("there are pods");
    for pod in some {
        let metadata = pod.metadata;
        let pods = Api::<Pod>::namespaced(client.clone(), metadata.namespace.as_deref().unwrap_or_default());
        let version = metadata.resource_version;
        let patch = Patch::Merge(serde_json::json!({ "metadata": { "labels": { "changed-at": version } } }));
        let name = metadata.name.unwrap_or_default();
        pods.patch(&name, &PatchParams::default(), &patch).await.expect("a pod has labels");
    }
}

/// A client that does not hide failures by retrying by itself.
pub(crate) fn client(url: &str) -> kube::Client {
    let mut config = kube::Config::new(url.parse().expect("a URL"));
    config.default_retry = false;
    kube::Client::try_from(config).expect("nothing is asked yet")
}
