//! Random objects, accepted or refused by the devserver and by the strategies of the registry of kube-apiserver.
//!
//! The samples are valid objects. Each case changes one of them at random fields, and creates the result, or updates the sample with
//! it. `ORACLE_SEED` selects other changes, and `ORACLE_KIND` one kind, whose differences are printed.

mod mutate;

use crate::apply::oracle::{Kind, program::Oracle, random::Random};
use crate::registry::{Registry, Resource};
use crate::server::DevServer;
use mutate::{NUMBERS, WORDS, mutate};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::fmt::Write as _;

/// The number of creations and of updates of each kind.
const CASES: usize = 250;
/// The minimum percentage of equal decisions.
const LEAST: usize = 95;

/// The counts of a kind.
#[derive(Debug, Default)]
struct Tally {
    equal: usize,
    refused: usize,
    all: usize,
    too_strict: usize,
    differences: BTreeMap<String, usize>,
}

impl Tally {
    fn add(&mut self, ours: &Result<Value, String>, theirs: &Value) {
        let accepts = theirs["accepted"] == true;
        self.all += 1;
        self.refused += usize::from(!accepts);
        if ours.is_ok() == accepts {
            self.equal += 1;
            return;
        }
        self.too_strict += usize::from(accepts);
        let text = match ours {
            Ok(_) => format!("only they: {}", theirs["error"].as_str().unwrap_or_default()),
            Err(error) => format!("only we: {error}"),
        };
        *self.differences.entry(text.chars().take(400).collect()).or_default() += 1;
    }

    fn percent(&self) -> usize {
        self.equal * 100 / self.all.max(1)
    }
}

fn samples() -> Vec<Value> {
    serde_json::from_str(include_str!("samples.json")).expect("the samples are JSON")
}

/// The path of the collection of a resource.
fn path(resource: &Resource) -> String {
    let prefix = if resource.group.is_empty() { "api" } else { "apis" };
    let namespace = if resource.is_namespaced() { "/namespaces/default" } else { "" };
    format!("/{prefix}/{}{namespace}/{}", resource.api_version(), resource.plural)
}

async fn send(server: &DevServer, method: &str, path: &str, body: &Value) -> Result<Value, String> {
    let request =
        http::Request::builder().method(method).uri(path).header("content-type", "application/json");
    let request = request.body(body.to_string().into_bytes()).expect("the path is valid");
    match server.client().request::<Value>(request).await {
        Ok(object) => Ok(object),
        // It was validated before its name was compared.
        Err(kube_client::Error::Api(status)) if status.reason == "AlreadyExists" => Ok(Value::Null),
        Err(error) => Err(error.to_string()),
    }
}

fn ask(oracle: &mut Oracle, resource: &Resource, live: Option<&Value>, new: &Value) -> Value {
    oracle.ask(&json!({"operation": "validate", "apiVersion": resource.api_version(), "kind": resource.kind,
        "live": live, "new": new}))
}

/// Returns the object with a change, as a client sends it.
fn changed(random: &mut Random, kind: &Kind, object: &Value) -> Value {
    let mut object = object.clone();
    if let Some(metadata) = object["metadata"].as_object_mut() {
        metadata.remove("managedFields");
    }
    mutate(random, kind, &mut object);
    object
}

async fn compare(oracle: &mut Oracle, resource: &Resource, samples: &[&Value], seed: u64) -> Tally {
    let kind = Kind::built_in(&resource.api_version(), &resource.kind);
    let mut random = Random::of(seed, WORDS, NUMBERS);
    let mut tally = Tally::default();
    let server = DevServer::start();
    let collection = path(resource);
    let dry_run = format!("{collection}?dryRun=All");
    let mut live = Vec::new();
    for (place, sample) in samples.iter().enumerate() {
        let theirs = ask(oracle, resource, None, sample);
        assert_eq!(theirs["accepted"], true, "{} {place}: {theirs}", resource.kind);
        let mut sample = (*sample).clone();
        sample["metadata"]["name"] = format!("sample-{place}").into();
        let stored = send(&server, "POST", &collection, &sample).await;
        live.push(stored.unwrap_or_else(|error| panic!("{} {place}: {error}", resource.kind)));
    }
    for case in 0..CASES {
        let place = case % samples.len();
        let new = changed(&mut random, &kind, samples[place]);
        let theirs = ask(oracle, resource, None, &new);
        let is_panic = theirs["error"].as_str().is_some_and(|error| error.starts_with("panic"));
        if !is_panic {
            tally.add(&send(&server, "POST", &dry_run, &new).await, &theirs);
        }
        let old = &live[place];
        let new = changed(&mut random, &kind, old);
        let theirs = ask(oracle, resource, Some(old), &new);
        let is_panic = theirs["error"].as_str().is_some_and(|error| error.starts_with("panic"));
        if !is_panic {
            let item = format!("{collection}/sample-{place}?dryRun=All");
            tally.add(&send(&server, "PUT", &item, &new).await, &theirs);
        }
    }
    tally
}

/// Creates and updates valid and invalid objects of built-in kinds.
pub async fn objects_are_accepted_as_by_kube_apiserver() {
    let mut oracle = Oracle::start();
    let seed = std::env::var("ORACLE_SEED").ok().and_then(|seed| seed.parse().ok()).unwrap_or(1);
    let only = std::env::var("ORACLE_KIND").ok();
    let samples = samples();
    let registry = Registry::new();
    let mut table = String::from("| kind | cases | refused | equal |\n|---|---|---|---|\n");
    let mut failures = Vec::new();
    for resource in registry.resources() {
        let of_kind: Vec<_> = samples
            .iter()
            .filter(|one| one["kind"] == resource.kind && one["apiVersion"] == resource.api_version())
            .collect();
        if of_kind.is_empty() || only.as_ref().is_some_and(|only| *only != resource.kind) {
            continue;
        }
        let tally = compare(&mut oracle, resource, &of_kind, seed).await;
        let refused = tally.refused * 100 / tally.all;
        let percent = tally.percent();
        writeln!(table, "| {} | {} | {refused} % | {percent} % |", resource.kind, tally.all)
            .expect("it is a text");
        for (difference, count) in &tally.differences {
            println!("{} {count}x {difference}", resource.kind);
        }
        if percent < LEAST {
            failures.push(format!("{}: {percent} %, {} of them too strict", resource.kind, tally.too_strict));
        }
    }
    println!("{table}");
    assert!(failures.is_empty(), "kinds that differ too often: {failures:#?}");
}
