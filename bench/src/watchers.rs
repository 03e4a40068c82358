//! A server with a hundred watchers: how many events it delivers for a second of a processor.

use bytes::Bytes;
use http_body_util::BodyExt;
use hyper::{Method, Request, header::CONTENT_TYPE};
use kube_client::{
    Client, Config,
    client::Body,
    config::{KubeConfigOptions, Kubeconfig},
};
use kube_devserver::DevServer;
use kube_informer_bench_client::{session::say, usage::Usage};
use serde_json::{Value, json};
use std::{
    io,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};
use tokio::task::JoinSet;

const MAPS: &str = "/api/v1/namespaces/default/configmaps";
const WATCHERS: u64 = 100;
const WRITERS: u64 = 10;
/// A server is slower when it has just begun, and now and then.
const TURNS: u64 = 8;
/// A turn that does not count is tried again, so many times in all.
const TRIES: usize = 4;
const QUIET: Duration = Duration::from_secs(3);

/// Runs a devserver on one thread until standard input ends.
pub(crate) fn serve() -> Result<(), String> {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build();
    let runtime = runtime.map_err(|error| error.to_string())?;
    let server = DevServer::builder().listen("127.0.0.1:0").history(1 << 20);
    let server = runtime.block_on(server.start()).map_err(|error| error.to_string())?;
    say(&json!({ "url": server.url() }));
    // Whatever comes, the end of it is what is waited for.
    io::copy(&mut io::stdin(), &mut io::sink()).map_err(|error| error.to_string())?;
    Ok(())
}

/// Watches and writes; the arguments are a kubeconfig, the number of events, and the process of the server, of each server.
pub(crate) fn run(arguments: impl Iterator<Item = String>) -> Result<(), String> {
    let words: Vec<_> = arguments.collect();
    let number = |word: &str| word.parse::<u64>().map_err(|_| format!("`{word}` is no number"));
    let mut asked = Vec::new();
    for words in words.chunks(6) {
        let [_, kubeconfig, _, events, _, pid] = words else {
            let usage = "usage: kube-informer-bench watchers (--kubeconfig FILE --n EVENTS --pid PID)..";
            return Err(usage.to_owned());
        };
        asked.push((kubeconfig.clone(), number(events)?, number(pid)?));
    }
    let runtime = tokio::runtime::Runtime::new().map_err(|error| error.to_string())?;
    let report = runtime.block_on(measure(asked)).map_err(|error| error.to_string())?;
    say(&report);
    runtime.shutdown_background();
    Ok(())
}

/// Has every server its turns, one after the other, so that a moment in which the processors are slow is in all of them.
async fn measure(asked: Vec<(String, u64, u64)>) -> Result<Value, Box<dyn std::error::Error>> {
    let mut servers = Vec::new();
    for (kubeconfig, events, pid) in asked {
        servers.push(Server::new(&kubeconfig, events, pid).await?);
    }
    for _ in 0..TURNS {
        for server in &mut servers {
            server.turn().await?;
        }
    }
    let report = |server: &Server| json!({ "per_core": server.per_core, "rate": server.rate });
    Ok(json!({ "servers": servers.iter().map(report).collect::<Vec<_>>() }))
}

/// A server with watchers, and what it did in each turn.
struct Server {
    client: Client,
    config: Config,
    events: u64,
    pid: u64,
    /// Who watches, where nobody was lost.
    open: Option<Watching>,
    /// How often each writer has written.
    written: u64,
    per_core: Vec<f64>,
    rate: Vec<f64>,
}

/// Watchers, who go with it, and how many events they have seen.
type Watching = (JoinSet<()>, Arc<AtomicU64>);

impl Server {
    async fn new(kubeconfig: &str, events: u64, pid: u64) -> Result<Self, Box<dyn std::error::Error>> {
        let kubeconfig = Kubeconfig::read_from(kubeconfig)?;
        let mut config = Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default()).await?;
        config.read_timeout = None;
        let client = Client::try_from(config.clone())?;
        for writer in 0..WRITERS {
            write(&client, (Method::POST, MAPS), writer, 0).await?;
        }
        let (per_core, rate) = (Vec::new(), Vec::new());
        Ok(Self { client, config, events, pid, open: None, written: 0, per_core, rate })
    }

    /// Has its turn. kube-apiserver ends watches that are slow for a moment: where it ended many, the turn is not counted.
    async fn turn(&mut self) -> Result<(), Box<dyn std::error::Error>> {
        let (mut delivered, mut deliveries) = (0, 0);
        for _ in 0..TRIES {
            (delivered, deliveries) = self.attempt().await?;
            if delivered * 2 >= deliveries {
                return Ok(());
            }
        }
        Err(format!("only {delivered} of {deliveries} were delivered, the {TRIES}th time in a row").into())
    }

    /// Says how much was delivered, of how much.
    async fn attempt(&mut self) -> Result<(u64, u64), Box<dyn std::error::Error>> {
        let (watchers, seen) = match self.open.take() {
            Some(watching) => watching,
            None => watch(&self.client, &self.config).await?,
        };
        let (before, began, told) =
            (Usage::of_server(self.pid), Instant::now(), seen.load(Ordering::Relaxed));
        let times = self.events / WRITERS;
        change(&self.client, self.written, times).await?;
        self.written += times;
        let deliveries = times * WRITERS * WATCHERS;
        let (reached, ended) = settled(&seen, told + deliveries).await;
        let delivered = reached - told;
        self.open = (delivered == deliveries).then_some((watchers, seen));
        if delivered * 2 >= deliveries {
            let used = Usage::of_server(self.pid) - before;
            self.per_core.push(delivered as f64 / used.max(0.01));
            self.rate.push(delivered as f64 / (ended - began).as_secs_f64());
        }
        Ok((delivered, deliveries))
    }
}

/// Has a hundred watch.
async fn watch(client: &Client, config: &Config) -> Result<Watching, Box<dyn std::error::Error>> {
    let list: Value = client.request(Request::get(MAPS).body(Vec::new())?).await?;
    let version = list["metadata"]["resourceVersion"].as_str().unwrap_or_default();
    let (mut watchers, seen) = (JoinSet::new(), Arc::new(AtomicU64::new(0)));
    for _ in 0..WATCHERS {
        let path = format!("{MAPS}?watch=1&resourceVersion={version}");
        // Each on a connection of its own: one connection takes a hundred requests at a time and no more.
        let watcher = Client::try_from(config.clone())?;
        let answer = watcher.send(Request::get(path).body(Body::empty())?).await?;
        watchers.spawn(count(answer.into_body(), Arc::clone(&seen)));
    }
    Ok((watchers, seen))
}

/// Has every writer change its object so many times more.
async fn change(client: &Client, written: u64, times: u64) -> Result<(), Box<dyn std::error::Error>> {
    let writers = (0..WRITERS).map(|writer| {
        let client = client.clone();
        tokio::spawn(async move {
            let path = format!("{MAPS}/m{writer}");
            for time in 1..=times {
                write(&client, (Method::PUT, &path), writer, written + time).await?;
            }
            Ok::<_, kube_client::Error>(())
        })
    });
    for writer in writers.collect::<Vec<_>>() {
        writer.await??;
    }
    Ok(())
}

/// Waits until so many were delivered, or no more come; says how many, and when the last came.
async fn settled(seen: &AtomicU64, wanted: u64) -> (u64, Instant) {
    let (mut last, mut at) = (0, Instant::now());
    loop {
        let now = seen.load(Ordering::Relaxed);
        if now > last {
            (last, at) = (now, Instant::now());
        }
        if last >= wanted || at.elapsed() > QUIET {
            return (last, at);
        }
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
}

/// Counts events: each is a line.
async fn count(mut body: Body, seen: Arc<AtomicU64>) {
    while let Some(Ok(frame)) = body.frame().await {
        let lines = frame.into_data().map_or(0, |data: Bytes| memchr::memchr_iter(b'\n', &data).count());
        seen.fetch_add(lines as u64, Ordering::Relaxed);
    }
}

async fn write(
    client: &Client,
    (method, path): (Method, &str),
    writer: u64,
    turn: u64,
) -> Result<(), kube_client::Error> {
    let object = json!({
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": { "name": format!("m{writer}") },
        "data": { "x": format!("{turn:0>800}") },
    });
    let request = Request::builder().method(method).uri(path).header(CONTENT_TYPE, "application/json");
    let request = request.body(object.to_string().into_bytes()).map_err(kube_client::Error::HttpError)?;
    client.request::<Value>(request).await.map(drop)
}
