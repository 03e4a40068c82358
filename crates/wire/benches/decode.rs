//! Measures the time to decode a pod from JSON and protobuf: all of it, without managed fields, or in part.
//!
//! Each figure is for eight pods. Run it with `cargo bench -p kube-informer-wire --bench decode`.

#![expect(clippy::unwrap_used, reason = "the input is valid")]

use divan::{Bencher, counter::ItemsCount};
use k8s_openapi::api::core::v1::{Container, Pod};
use kube_informer_wire::{Format, ManagedFields, Raw, Schema};
use serde::{Deserialize, de::DeserializeOwned};
use serde_json::Value;
use std::{collections::BTreeMap, hint::black_box};

fn main() {
    divan::main();
}

const BOTH: [&str; 2] = ["json", "protobuf"];

fn pods(encoding: &str) -> Vec<Raw> {
    let schema = Schema::of("v1", "Pod").unwrap();
    let lines = include_str!("pods.jsonl").lines();
    let encode = |line: &str| match encoding {
        "json" => Raw::new(Format::Json, line.to_owned().into()),
        _ => {
            let pod: Value = serde_json::from_str(line).unwrap();
            Raw::new(Format::ProtobufItem(schema), schema.encode(&pod).unwrap().into())
        }
    };
    lines.map(encode).collect()
}

fn decode<K: DeserializeOwned>(bencher: Bencher, raws: &[Raw], managed_fields: ManagedFields) {
    bencher.counter(ItemsCount::new(raws.len())).bench_local(|| {
        for raw in raws {
            black_box(black_box(raw).decode::<K>(managed_fields).unwrap());
        }
    });
}

fn decode_lazily(bencher: Bencher, raws: &[Raw], managed_fields: ManagedFields) {
    bencher.counter(ItemsCount::new(raws.len())).bench_local(|| {
        for raw in raws {
            black_box(black_box(raw).lazy::<Pod>(managed_fields).unwrap());
        }
    });
}

#[divan::bench(args = BOTH)]
fn pod(bencher: Bencher, encoding: &str) {
    decode::<Pod>(bencher, &pods(encoding), ManagedFields::Keep);
}

#[divan::bench(args = BOTH)]
fn pod_without_managed_fields(bencher: Bencher, encoding: &str) {
    decode::<Pod>(bencher, &pods(encoding), ManagedFields::Drop);
}

#[divan::bench(args = BOTH)]
fn pod_that_came_without_managed_fields(bencher: Bencher, encoding: &str) {
    let stripped: Vec<_> = pods(encoding).iter().map(Raw::without_managed_fields).collect();
    decode::<Pod>(bencher, &stripped, ManagedFields::Keep);
}

#[divan::bench(args = BOTH)]
fn lazy(bencher: Bencher, encoding: &str) {
    decode_lazily(bencher, &pods(encoding), ManagedFields::Keep);
}

#[divan::bench(args = BOTH)]
fn lazy_without_managed_fields(bencher: Bencher, encoding: &str) {
    decode_lazily(bencher, &pods(encoding), ManagedFields::Drop);
}

#[divan::bench(args = BOTH)]
fn read_one_field(bencher: Bencher, encoding: &str) {
    read(bencher, encoding, |raw| raw.read::<&str>("/status/podIP").unwrap());
}

#[divan::bench(args = BOTH)]
fn read_a_container(bencher: Bencher, encoding: &str) {
    read(bencher, encoding, |raw| raw.read::<Container>("/spec/containers/0").unwrap());
}

fn read<'r, T>(bencher: Bencher, encoding: &str, read: impl Fn(&'r Raw) -> Option<T>) {
    let raws: &'r [Raw] = Vec::leak(pods(encoding));
    bencher.counter(ItemsCount::new(raws.len())).bench_local(|| {
        for raw in raws {
            black_box(read(black_box(raw)).unwrap());
        }
    });
}

#[divan::bench(args = BOTH)]
fn value(bencher: Bencher, encoding: &str) {
    decode::<Value>(bencher, &pods(encoding), ManagedFields::Keep);
}

#[derive(Deserialize)]
#[expect(dead_code, reason = "only decoding is measured")]
struct Slim {
    metadata: SlimMetadata,
    spec: SlimSpec,
    status: SlimStatus,
}

#[derive(Deserialize)]
#[expect(dead_code, reason = "only decoding is measured")]
struct SlimMetadata {
    name: String,
    labels: Option<BTreeMap<String, String>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
#[expect(dead_code, reason = "only decoding is measured")]
struct SlimSpec {
    node_name: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
#[expect(dead_code, reason = "only decoding is measured")]
struct SlimStatus {
    phase: Option<String>,
    pod_ip: Option<String>,
}

#[divan::bench(args = BOTH)]
fn struct_of_five_fields(bencher: Bencher, encoding: &str) {
    decode::<Slim>(bencher, &pods(encoding), ManagedFields::Keep);
}

#[divan::bench(args = BOTH)]
fn identity(bencher: Bencher, encoding: &str) {
    let raws = pods(encoding);
    bencher.counter(ItemsCount::new(raws.len())).bench_local(|| {
        for raw in &raws {
            black_box(black_box(raw).identity().unwrap());
        }
    });
}

#[divan::bench(args = BOTH)]
fn cutting_managed_fields_out(bencher: Bencher, encoding: &str) {
    let raws = pods(encoding);
    bencher.counter(ItemsCount::new(raws.len())).bench_local(|| {
        for raw in &raws {
            black_box(black_box(raw).without_managed_fields());
        }
    });
}

#[divan::bench]
fn encode_json(bencher: Bencher) {
    let (schema, lines) =
        (Schema::of("v1", "Pod").unwrap(), include_str!("pods.jsonl").lines().collect::<Vec<_>>());
    bencher.counter(ItemsCount::new(lines.len())).bench_local(|| {
        for line in &lines {
            black_box(schema.encode_json(black_box(line)).unwrap());
        }
    });
}

#[divan::bench]
fn encode_a_value_that_is_read_first(bencher: Bencher) {
    let (schema, lines) =
        (Schema::of("v1", "Pod").unwrap(), include_str!("pods.jsonl").lines().collect::<Vec<_>>());
    bencher.counter(ItemsCount::new(lines.len())).bench_local(|| {
        for line in &lines {
            let value: Value = serde_json::from_str(black_box(line)).unwrap();
            black_box(schema.encode(&value).unwrap());
        }
    });
}

#[divan::bench]
fn clone_without_managed_fields(bencher: Bencher) {
    let pods: Vec<Pod> = pods("json").iter().map(|raw| raw.decode(ManagedFields::Drop).unwrap()).collect();
    bencher.counter(ItemsCount::new(pods.len())).bench_local(|| {
        for pod in &pods {
            black_box(black_box(pod).clone());
        }
    });
}
