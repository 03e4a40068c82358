//! The orders of the replay server that a real one can follow.

use super::{
    load::load,
    write::{Pod, touch},
};
use futures_util::{StreamExt, TryStreamExt, stream};
use k8s_openapi::api::core::v1;
use kube_client::{
    Api, Client, Config,
    api::ListParams,
    config::{KubeConfigOptions, Kubeconfig},
};
use kube_devserver::corpus::Pods;
use kube_informer_bench_client::{hash::Hash, session::say};
use serde_json::{Value, json};
use std::{
    io::{self, BufRead},
    time::Duration,
};
use tokio::time::{Instant, sleep_until};

/// So many changes are under way at most.
const AT_ONCE: usize = 32;
const PAGE: u32 = 500;

/// Loads a server, and follows orders until standard input ends.
pub(crate) fn run(arguments: impl Iterator<Item = String>) -> Result<(), String> {
    let words: Vec<_> = arguments.collect();
    let [_, kubeconfig, _, count] = words.as_slice() else {
        return Err("usage: kube-informer-bench load --kubeconfig FILE --n N".to_owned());
    };
    let count = count.parse().map_err(|_| format!("`{count}` is no number"))?;
    let runtime = tokio::runtime::Runtime::new().map_err(|error| error.to_string())?;
    let client = runtime.block_on(connect(kubeconfig)).map_err(|error| error.to_string())?;
    let pods = runtime.block_on(load(&client, count, 1))?;
    say(&json!({ "checksum": Pods::new(1).checksum(count).to_string() }));
    for line in io::stdin().lock().lines().map_while(Result::ok) {
        let words: Vec<_> = line.split_whitespace().collect();
        say(&runtime.block_on(obey(&client, &pods, &words))?);
    }
    Ok(())
}

async fn connect(kubeconfig: &str) -> Result<Client, Box<dyn std::error::Error>> {
    let kubeconfig = Kubeconfig::read_from(kubeconfig)?;
    let config = Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default()).await?;
    Ok(Client::try_from(config)?)
}

async fn obey(client: &Client, pods: &[Pod], words: &[&str]) -> Result<Value, String> {
    let wrong = || format!("a real server cannot follow `{}`", words.join(" "));
    let number = |word: &str| word.parse::<f64>().map_err(|_| wrong());
    match words {
        ["reset" | "watched"] => Ok(json!({})),
        // It is a process of others, whose time is not looked at here.
        ["load"] => Ok(json!({ "cpu_seconds": 0, "seconds": 1 })),
        ["truth"] => truth(client).await,
        ["storm", events, rate] => {
            let seconds = storm(client, pods, (number(events)? as usize, number(rate)?)).await?;
            Ok(json!({ "seconds": seconds }))
        }
        _ => Err(wrong()),
    }
}

/// What the server has, by its own lists.
async fn truth(client: &Client) -> Result<Value, String> {
    let (api, mut hash) = (Api::<v1::Pod>::all(client.clone()), Hash::default());
    let mut parameters = ListParams::default().limit(PAGE);
    let version = loop {
        let page = api.list(&parameters).await.map_err(|error| error.to_string())?;
        page.items.iter().for_each(|pod| hash.add(pod));
        match page.metadata.continue_.filter(|token| !token.is_empty()) {
            Some(token) => parameters = parameters.continue_token(&token),
            None => break page.metadata.resource_version.unwrap_or_default(),
        }
    };
    Ok(json!({
        "count": hash.count,
        "identity": format!("{:016x}", hash.identity),
        "address": format!("{:016x}", hash.address),
        "version": version.parse::<u64>().unwrap_or(0),
    }))
}

/// Changes pods at a rate, as far as the server keeps up with it.
async fn storm(client: &Client, pods: &[Pod], (events, rate): (usize, f64)) -> Result<f64, String> {
    let began = Instant::now();
    let change = |turn: usize| async move {
        sleep_until(began + Duration::from_secs_f64(turn as f64 / rate)).await;
        touch(client, &pods[turn % pods.len()]).await
    };
    stream::iter(0..events).map(change).buffered(AT_ONCE).try_collect::<Vec<()>>().await?;
    Ok(began.elapsed().as_secs_f64())
}
