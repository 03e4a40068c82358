//! Creates the pods of the benchmarks on a real API server, and executes the commands of the replay server that it supports.

use anyhow::Result as AnyResult;
use clap::Args;
use futures_util::{StreamExt, TryStreamExt, stream};
use hyper::{Method, Request, header::CONTENT_TYPE};
use k8s_openapi::api::core::v1;
use kube_client::{
    Api, Client, Config,
    api::ListParams,
    config::{KubeConfigOptions, Kubeconfig},
};
use kube_devserver::corpus::Pods;
use kube_informer_bench_client::{
    fingerprint::Fingerprint,
    recorder::{SENT, now},
    session::{fingerprint_report, print_line},
};
use serde_json::{Value, json};
use std::{
    io::{self, BufRead},
    path::{Path, PathBuf},
    time::Duration,
};
use tokio::time::{Instant, sleep_until};

/// The maximum number of concurrent requests.
const CONCURRENT_REQUESTS: usize = 32;
const PAGE_SIZE: u32 = 500;
const SEED: u64 = 1;

/// The options of `load`.
#[derive(Args, Debug)]
pub(crate) struct LoadOptions {
    /// The kubeconfig file of the server.
    #[arg(long)]
    kubeconfig: PathBuf,
    /// The number of pods.
    #[arg(long)]
    objects: u64,
}

/// Creates the pods, and executes commands until standard input is closed.
pub(crate) fn run(options: &LoadOptions) -> Result<(), String> {
    let runtime = tokio::runtime::Runtime::new().map_err(|error| error.to_string())?;
    let client = runtime.block_on(connect(&options.kubeconfig)).map_err(|error| error.to_string())?;
    let paths = runtime.block_on(create_pods(&client, options.objects))?;
    print_line(&json!({ "checksum": Pods::new(SEED).checksum(options.objects).to_string() }));
    for line in io::stdin().lock().lines().map_while(Result::ok) {
        let words: Vec<_> = line.split_whitespace().collect();
        print_line(&runtime.block_on(execute(&client, &paths, &words))?);
    }
    Ok(())
}

/// Returns a client of the kubeconfig without a read timeout, because a watch may be idle.
pub(crate) async fn connect(kubeconfig: &Path) -> AnyResult<Client> {
    Ok(Client::try_from(client_config(kubeconfig).await?)?)
}

pub(crate) async fn client_config(kubeconfig: &Path) -> AnyResult<Config> {
    let kubeconfig = Kubeconfig::read_from(kubeconfig)?;
    let mut config = Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default()).await?;
    config.read_timeout = None;
    Ok(config)
}

/// Creates namespaces and pods, and returns the path of each pod.
async fn create_pods(client: &Client, count: u64) -> Result<Vec<String>, String> {
    for namespace in Pods::namespaces() {
        let object = json!({ "apiVersion": "v1", "kind": "Namespace", "metadata": { "name": namespace } });
        send(client, Method::POST, "/api/v1/namespaces", &object).await?;
    }
    let pods = Pods::new(SEED);
    let create = |index: u64| create_pod(client, pods.pod(index));
    stream::iter(0..count).map(create).buffered(CONCURRENT_REQUESTS).try_collect().await
}

async fn create_pod(client: &Client, mut object: Value) -> Result<String, String> {
    let text = |path: &str| object.pointer(path).and_then(Value::as_str).unwrap_or_default().to_owned();
    let pods = format!("/api/v1/namespaces/{}/pods", text("/metadata/namespace"));
    let path = format!("{pods}/{}", text("/metadata/name"));
    let status = json!({ "status": object["status"].take() });
    if let Some(metadata) = object["metadata"].as_object_mut() {
        for name in ["uid", "resourceVersion", "managedFields", "creationTimestamp", "generation"] {
            metadata.remove(name);
        }
        let annotations = metadata.entry("annotations").or_insert_with(|| json!({}));
        annotations[SENT] = "00000000000000000000".into();
    }
    if let Some(spec) = object["spec"].as_object_mut() {
        // An empty cluster has no priority classes.
        for name in ["priorityClassName", "priority", "preemptionPolicy"] {
            spec.remove(name);
        }
    }
    send(client, Method::POST, &format!("{pods}?fieldManager=kube-controller-manager"), &object).await?;
    // The server ignores the status of a created pod.
    send(client, Method::PATCH, &format!("{path}/status?fieldManager=kubelet"), &status).await?;
    Ok(path)
}

async fn execute(client: &Client, pods: &[String], words: &[&str]) -> Result<Value, String> {
    let unsupported = || format!("kube-apiserver does not support `{}`", words.join(" "));
    let number = |word: &str| word.parse::<f64>().map_err(|_| unsupported());
    match words {
        ["reset" | "wait-for-watch"] => Ok(json!({})),
        ["expected"] => expected(client).await,
        ["update", events, rate] => {
            let seconds = send_updates(client, pods, number(events)? as usize, number(rate)?).await?;
            Ok(json!({ "seconds": seconds }))
        }
        _ => Err(unsupported()),
    }
}

/// Returns the fingerprint of a list.
async fn expected(client: &Client) -> Result<Value, String> {
    let api = Api::<v1::Pod>::all(client.clone());
    let mut fingerprint = Fingerprint::default();
    let mut parameters = ListParams::default().limit(PAGE_SIZE);
    loop {
        let page = api.list(&parameters).await.map_err(|error| error.to_string())?;
        page.items.iter().for_each(|pod| fingerprint.add(pod));
        match page.metadata.continue_.filter(|token| !token.is_empty()) {
            Some(token) => parameters = parameters.continue_token(&token),
            None => return Ok(fingerprint_report(&fingerprint)),
        }
    }
}

/// Updates pods at a rate, or slower if the server does not reach it, and returns the duration in seconds.
async fn send_updates(client: &Client, pods: &[String], events: usize, rate: f64) -> Result<f64, String> {
    let start = Instant::now();
    let update = |turn: usize| async move {
        sleep_until(start + Duration::from_secs_f64(turn as f64 / rate)).await;
        let patch = json!({ "metadata": { "annotations": { SENT: now().to_string() } } });
        send(client, Method::PATCH, &pods[turn % pods.len()], &patch).await
    };
    stream::iter(0..events).map(update).buffered(CONCURRENT_REQUESTS).try_collect::<Vec<()>>().await?;
    Ok(start.elapsed().as_secs_f64())
}

/// Sends an object; an existing one is not an error.
async fn send(client: &Client, method: Method, path: &str, object: &Value) -> Result<(), String> {
    let content = match method {
        Method::PATCH => "application/merge-patch+json",
        _ => "application/json",
    };
    let request = Request::builder().method(method).uri(path).header(CONTENT_TYPE, content);
    let request = request.body(object.to_string().into_bytes()).map_err(|error| error.to_string())?;
    match client.request::<Value>(request).await {
        Ok(_) => Ok(()),
        Err(kube_client::Error::Api(status)) if status.code == 409 => Ok(()),
        Err(error) => Err(format!("{path}: {error}")),
    }
}
