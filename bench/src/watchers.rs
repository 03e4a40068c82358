//! A server with 100 watches: deliveries per second of processor time.

use anyhow::{Result as AnyResult, bail};
use bytes::Bytes;
use clap::Args;
use http_body_util::BodyExt;
use hyper::{Method, Request, header::CONTENT_TYPE};
use kube_client::{Client, Config, client::Body};
use kube_devserver::DevServer;
use kube_informer_bench_client::{session::print_line, usage::Usage};
use serde_json::{Value, json};
use std::{
    io,
    path::PathBuf,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};
use tokio::task::JoinSet;

use crate::{kube_apiserver::client_config, many_kinds};

const CONFIG_MAPS: &str = "/api/v1/namespaces/default/configmaps";
const WATCHERS: u64 = 100;
const WRITERS: u64 = 10;
/// The number of measurements, of which the median counts.
const TURNS: usize = 5;
/// The number of attempts of a measurement in which watches are lost.
const ATTEMPTS: usize = 4;
/// A turn ends if nothing is delivered for this time.
const QUIET: Duration = Duration::from_secs(3);

/// The options of `watchers`.
#[derive(Args, Debug)]
pub(crate) struct WatcherOptions {
    /// The kubeconfig file of the server.
    #[arg(long)]
    kubeconfig: PathBuf,
    /// The number of events per turn.
    #[arg(long)]
    events: u64,
    /// The process of the server, whose processor time is measured.
    #[arg(long)]
    pid: u64,
}

/// The options of `devserver`.
#[derive(Args, Debug)]
pub(crate) struct DevserverOptions {
    /// The number of custom resources to create.
    #[arg(long, default_value = "0")]
    kinds: u64,
    /// The number of objects of each custom resource.
    #[arg(long, default_value = "0")]
    objects: usize,
}

/// Runs a devserver on one thread until standard input is closed.
pub(crate) fn serve(options: &DevserverOptions) -> AnyResult<()> {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build()?;
    let server = DevServer::builder().listen("127.0.0.1:0").history(1 << 20);
    let server = runtime.block_on(server.start())?;
    runtime.block_on(async { many_kinds::create(&server.client(), options.kinds, options.objects).await })?;
    print_line(&json!({ "url": server.url() }));
    io::copy(&mut io::stdin(), &mut io::sink())?;
    Ok(())
}

/// Opens watches, writes, and prints deliveries per second and per second of processor time.
pub(crate) fn run(options: &WatcherOptions) -> Result<(), String> {
    let runtime = tokio::runtime::Runtime::new().map_err(|error| error.to_string())?;
    let report = runtime.block_on(measure(options)).map_err(|error| format!("{error:#}"))?;
    print_line(&report);
    runtime.shutdown_background();
    Ok(())
}

async fn measure(options: &WatcherOptions) -> AnyResult<Value> {
    let mut server = Server::new(options).await?;
    for _ in 0..TURNS {
        server.turn().await?;
    }
    let median = |values: &mut Vec<f64>| {
        values.sort_by(f64::total_cmp);
        values[values.len() / 2]
    };
    Ok(json!({ "per_core": median(&mut server.per_core), "rate": median(&mut server.rate) }))
}

/// A server with watches, and the results of the turns.
struct Server {
    client: Client,
    config: Config,
    events: u64,
    pid: u64,
    /// The open watches; `None` if some were lost.
    watches: Option<Watches>,
    /// The number of writes of each writer.
    written: u64,
    per_core: Vec<f64>,
    rate: Vec<f64>,
}

/// Open watches, and the number of events that they have received.
struct Watches {
    tasks: JoinSet<()>,
    received: Arc<AtomicU64>,
}

/// The result of a turn.
struct Deliveries {
    delivered: u64,
    expected: u64,
}

impl Server {
    async fn new(options: &WatcherOptions) -> AnyResult<Self> {
        let config = client_config(&options.kubeconfig).await?;
        let client = Client::try_from(config.clone())?;
        for writer in 0..WRITERS {
            write(&client, Method::POST, writer, 0).await?;
        }
        let (events, pid) = (options.events, options.pid);
        Ok(Self { client, config, events, pid, watches: None, written: 0, per_core: vec![], rate: vec![] })
    }

    /// Runs one turn. kube-apiserver closes slow watches: a turn in which it closed many is repeated.
    async fn turn(&mut self) -> AnyResult<()> {
        for _ in 0..ATTEMPTS {
            let Deliveries { delivered, expected } = self.attempt().await?;
            if delivered * 2 >= expected {
                return Ok(());
            }
        }
        bail!("less than half of the events were delivered in {ATTEMPTS} attempts")
    }

    async fn attempt(&mut self) -> AnyResult<Deliveries> {
        let watches = match self.watches.take() {
            Some(watches) => watches,
            None => watch(&self.client, &self.config).await?,
        };
        let (cpu_before, start) = (Usage::of_server(self.pid), Instant::now());
        let before = watches.received.load(Ordering::Relaxed);
        let times = (self.events / WRITERS).max(1);
        update(&self.client, self.written, times).await?;
        self.written += times;
        let expected = times * WRITERS * WATCHERS;
        let (received, last) = wait_for_deliveries(&watches.received, before + expected).await;
        let delivered = received - before;
        if delivered * 2 >= expected {
            let used = Usage::of_server(self.pid) - cpu_before;
            self.per_core.push(delivered as f64 / used.max(0.01));
            self.rate.push(delivered as f64 / (last - start).as_secs_f64());
        }
        self.watches = (delivered == expected).then_some(watches);
        Ok(Deliveries { delivered, expected })
    }
}

/// Opens 100 watches.
async fn watch(client: &Client, config: &Config) -> AnyResult<Watches> {
    let list: Value = client.request(Request::get(CONFIG_MAPS).body(Vec::new())?).await?;
    let version = list["metadata"]["resourceVersion"].as_str().unwrap_or_default();
    let mut watches = Watches { tasks: JoinSet::new(), received: Arc::new(AtomicU64::new(0)) };
    for _ in 0..WATCHERS {
        let path = format!("{CONFIG_MAPS}?watch=1&resourceVersion={version}");
        // Each watch has its own connection, because HTTP/2 limits the streams of a connection.
        let watcher = Client::try_from(config.clone())?;
        let response = watcher.send(Request::get(path).body(Body::empty())?).await?;
        watches.tasks.spawn(count_lines(response.into_body(), Arc::clone(&watches.received)));
    }
    Ok(watches)
}

/// Updates the object of every writer this number of times.
async fn update(client: &Client, written: u64, times: u64) -> AnyResult<()> {
    let writers = (0..WRITERS).map(|writer| {
        let client = client.clone();
        tokio::spawn(async move {
            for time in 1..=times {
                write(&client, Method::PUT, writer, written + time).await?;
            }
            Ok::<_, kube_client::Error>(())
        })
    });
    for writer in writers.collect::<Vec<_>>() {
        writer.await??;
    }
    Ok(())
}

/// Waits for a number of deliveries, or until there are no more; returns their number and the time of the last one.
async fn wait_for_deliveries(received: &AtomicU64, expected: u64) -> (u64, Instant) {
    let (mut last, mut at) = (0, Instant::now());
    loop {
        let now = received.load(Ordering::Relaxed);
        if now > last {
            (last, at) = (now, Instant::now());
        }
        if last >= expected || at.elapsed() > QUIET {
            return (last, at);
        }
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
}

/// Counts events: each is a line.
async fn count_lines(mut body: Body, received: Arc<AtomicU64>) {
    while let Some(Ok(frame)) = body.frame().await {
        let lines = frame.into_data().map_or(0, |data: Bytes| memchr::memchr_iter(b'\n', &data).count());
        received.fetch_add(lines as u64, Ordering::Relaxed);
    }
}

async fn write(client: &Client, method: Method, writer: u64, turn: u64) -> Result<(), kube_client::Error> {
    let object = json!({
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": { "name": format!("m{writer}") },
        "data": { "x": format!("{turn:0>800}") },
    });
    let path = match method {
        Method::POST => CONFIG_MAPS.to_owned(),
        _ => format!("{CONFIG_MAPS}/m{writer}"),
    };
    let request = Request::builder().method(method).uri(path).header(CONTENT_TYPE, "application/json");
    let request = request.body(object.to_string().into_bytes()).map_err(kube_client::Error::HttpError)?;
    client.request::<Value>(request).await.map(drop)
}
