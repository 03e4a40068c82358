//! Many informers of different kinds in one process: start, idle processor time, threads and memory.

use anyhow::{Context, Result};
use clap::Args;
use hyper::{Method, Request, header::CONTENT_TYPE};
use kube_client::{
    Client,
    client::Body,
    core::{ApiResource, DynamicObject, GroupVersionKind},
};
use kube_informer::Informer;
use kube_informer_bench_client::{
    session::{ProcessStart, print_line},
    usage::Usage,
};
use serde_json::{Value, json};
use std::{fs, io, path::PathBuf, time::Duration};
use tokio::runtime::Runtime;

use crate::kube_apiserver::connect;

const GROUP: &str = "bench.kube-informer.dev";

/// The options of `many-kinds`.
#[derive(Args, Debug)]
pub(crate) struct ManyKindsOptions {
    /// The kubeconfig file of the server.
    #[arg(long)]
    kubeconfig: PathBuf,
    /// The number of kinds.
    #[arg(long)]
    kinds: u64,
    /// The number of objects of each kind.
    #[arg(long)]
    objects: usize,
    /// The seconds without changes, in which the processor time is measured.
    #[arg(long)]
    idle: u64,
}

/// Creates the kinds and their objects on a server.
pub(crate) async fn create(client: &Client, kinds: u64, objects: usize) -> Result<()> {
    for number in 0..kinds {
        let (kind, plural) = names(number);
        let definition = json!({
            "apiVersion": "apiextensions.k8s.io/v1",
            "kind": "CustomResourceDefinition",
            "metadata": { "name": format!("{plural}.{GROUP}") },
            "spec": {
                "group": GROUP,
                "scope": "Namespaced",
                "names": { "kind": kind, "plural": plural },
                "versions": [{
                    "name": "v1", "served": true, "storage": true,
                    "schema": { "openAPIV3Schema": {
                        "type": "object", "x-kubernetes-preserve-unknown-fields": true
                    } },
                }],
            },
        });
        post(client, "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", &definition).await?;
        let path = format!("/apis/{GROUP}/v1/namespaces/default/{plural}");
        for object in 0..objects {
            let object = json!({
                "apiVersion": format!("{GROUP}/v1"), "kind": kind,
                "metadata": { "name": format!("object-{object}") },
                "spec": { "text": "x".repeat(500) },
            });
            post(client, &path, &object).await?;
        }
    }
    Ok(())
}

fn names(number: u64) -> (String, String) {
    (format!("Kind{number}"), format!("kind{number}s"))
}

async fn post(client: &Client, path: &str, object: &Value) -> Result<()> {
    let request = Request::builder().method(Method::POST).uri(path).header(CONTENT_TYPE, "application/json");
    let response = client.send(request.body(Body::from(object.to_string().into_bytes()))?).await?;
    anyhow::ensure!(response.status().is_success(), "POST {path} was answered with {}", response.status());
    Ok(())
}

/// Starts an informer for each kind, and measures them until standard input is closed.
pub(crate) fn run(start: ProcessStart, options: &ManyKindsOptions) -> Result<()> {
    let runtime = Runtime::new().context("cannot start the runtime")?;
    let informers = runtime.block_on(sync(options))?;
    let seconds = start.at.elapsed().as_secs_f64();
    let mut report = report("synced", start.usage.cpu_seconds);
    report["sync_seconds"] = seconds.into();
    report["base_rss"] = start.usage.rss.into();
    print_line(&report);
    let before = Usage::now().cpu_seconds;
    std::thread::sleep(Duration::from_secs(options.idle));
    print_line(&self::report("idle", before));
    io::copy(&mut io::stdin(), &mut io::sink()).context("cannot read standard input")?;
    drop(informers);
    runtime.shutdown_background();
    Ok(())
}

async fn sync(options: &ManyKindsOptions) -> Result<Vec<Informer<DynamicObject>>> {
    let client = connect(&options.kubeconfig).await?;
    let mut informers = Vec::new();
    for number in 0..options.kinds {
        let (kind, plural) = names(number);
        let resource = ApiResource::from_gvk_with_plural(&GroupVersionKind::gvk(GROUP, "v1", &kind), &plural);
        informers.push(Informer::dynamic(client.clone(), resource).start()?);
    }
    for informer in &informers {
        informer.synced().await?;
        anyhow::ensure!(informer.len() == options.objects, "{} objects in a cache", informer.len());
    }
    Ok(informers)
}

/// Returns the current usage, with the processor time since `before`.
fn report(event: &str, before: f64) -> Value {
    let Usage { rss, cpu_seconds, .. } = Usage::now();
    json!({ "event": event, "rss": rss, "cpu_seconds": cpu_seconds - before, "threads": threads() })
}

/// Returns the number of threads of this process; 0 if the system does not report it.
fn threads() -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("Threads:"));
    line.and_then(|number| number.trim().parse().ok()).unwrap_or(0)
}
