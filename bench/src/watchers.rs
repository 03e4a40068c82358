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
const TURNS: u64 = 6;
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

/// Watches and writes; the arguments are a kubeconfig, the number of events, and the process of the server.
pub(crate) fn run(arguments: impl Iterator<Item = String>) -> Result<(), String> {
    let words: Vec<_> = arguments.collect();
    let [_, kubeconfig, _, events, _, pid] = words.as_slice() else {
        return Err("usage: kube-informer-bench watchers --kubeconfig FILE --n EVENTS --pid PID".to_owned());
    };
    let number = |word: &str| word.parse::<u64>().map_err(|_| format!("`{word}` is no number"));
    let (events, pid) = (number(events)?, number(pid)?);
    let runtime = tokio::runtime::Runtime::new().map_err(|error| error.to_string())?;
    let report = runtime.block_on(measure(kubeconfig, events, pid)).map_err(|error| error.to_string())?;
    say(&report);
    runtime.shutdown_background();
    Ok(())
}

async fn measure(kubeconfig: &str, events: u64, pid: u64) -> Result<Value, Box<dyn std::error::Error>> {
    let kubeconfig = Kubeconfig::read_from(kubeconfig)?;
    let mut config = Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default()).await?;
    config.read_timeout = None;
    let client = Client::try_from(config.clone())?;
    for writer in 0..WRITERS {
        write(&client, (Method::POST, MAPS), writer, 0).await?;
    }
    let (mut per_core, mut rate) = (Vec::new(), Vec::new());
    for turn in 0..TURNS {
        let (watchers, seen) = watch(&client, &config).await?;
        let (before, began) = (Usage::of_server(pid), Instant::now());
        change(&client, turn, events / WRITERS).await?;
        let deliveries = events / WRITERS * WRITERS * WATCHERS;
        let (delivered, ended) = settled(&seen, deliveries).await;
        drop(watchers);
        // kube-apiserver ends watches that are slow for a moment, and these are not begun anew.
        if delivered * 2 < deliveries {
            return Err(format!("only {delivered} of {deliveries} were delivered").into());
        }
        let used = Usage::of_server(pid) - before;
        per_core.push(delivered as f64 / used.max(0.01));
        rate.push(delivered as f64 / (ended - began).as_secs_f64());
    }
    Ok(json!({ "per_core": per_core, "rate": rate }))
}

/// Watchers, who go with what is given, and how many events they have seen.
async fn watch(
    client: &Client,
    config: &Config,
) -> Result<(JoinSet<()>, Arc<AtomicU64>), Box<dyn std::error::Error>> {
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

/// Has every writer change its object so many times.
async fn change(client: &Client, turn: u64, times: u64) -> Result<(), Box<dyn std::error::Error>> {
    let writers = (0..WRITERS).map(|writer| {
        let client = client.clone();
        tokio::spawn(async move {
            let path = format!("{MAPS}/m{writer}");
            for time in 1..=times {
                write(&client, (Method::PUT, &path), writer, turn * times + time).await?;
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
