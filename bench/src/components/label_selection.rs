//! Selection of compressed pods by label, with and without cached labels.

use k8s_openapi::api::core::v1::Pod;
use kube_devserver::{Churn, DevServer};
use kube_informer::{
    Informer, Storage,
    wire::{LabelSelector, ManagedFields},
};
use kube_informer_bench_client::usage::Usage;
use serde_json::{Value, json};
use std::{collections::BTreeMap, hint::black_box, time::Instant};

/// The number of repetitions, of which the fastest counts.
const TURNS: usize = 5;

/// Selects about one in a hundred pods; `cached` is `all`, `none` or the name of the cached label.
pub(super) async fn measure(pods: u64, cached: &str) -> Result<Value, String> {
    let server = DevServer::start();
    server.churn(Churn::pods(pods));
    let before = Usage::now().rss;
    let builder = Informer::<Pod>::builder(server.client())
        .managed_fields(ManagedFields::Keep)
        .storage(Storage::Compressed);
    let builder = match cached {
        "all" => builder.cache_labels(),
        "none" => builder,
        name => builder.cache_labels_named([name]),
    };
    let informer = builder.start().map_err(|error| error.to_string())?;
    informer.synced().await.map_err(|error| error.to_string())?;
    let rss = Usage::now().rss - before;
    let selector = one_in_a_hundred(&informer, cached)?;
    let time = |work: &dyn Fn() -> usize| {
        let turns = (0..TURNS).map(|_| {
            let began = Instant::now();
            (black_box(work()), began.elapsed().as_secs_f64() * 1e6)
        });
        turns.min_by(|one, other| one.1.total_cmp(&other.1)).unwrap_or_default()
    };
    let (matches, objects) = time(&|| informer.store().matching(&selector).len());
    let (_, keys) = time(&|| informer.store().matching_keys(&selector).len());
    informer.stop();
    informer.stopped().await;
    Ok(json!({
        "selector": selector.to_string(), "matches": matches, "matching_microseconds": objects,
        "keys_microseconds": keys, "rss": rss,
    }))
}

/// Returns a selector of a label that about one in a hundred pods has; of the cached label if only one is cached.
fn one_in_a_hundred(informer: &Informer<Pod>, cached: &str) -> Result<LabelSelector, String> {
    let mut counts = BTreeMap::<_, usize>::new();
    for pod in informer.snapshot().iter() {
        for (name, value) in pod.object().metadata.labels.iter().flatten() {
            if matches!(cached, "all" | "none") || name == cached {
                *counts.entry(format!("{name}={value}")).or_default() += 1;
            }
        }
    }
    let wanted = informer.len() / 100;
    let best = counts.into_iter().min_by_key(|(_, count)| count.abs_diff(wanted));
    let (label, _) = best.ok_or("no pod has a label")?;
    label.parse().map_err(|error| format!("`{label}` is not a selector: {error}"))
}
