//! Random operations on two servers.

use kube_conformance::{
    Server,
    comparison::{Comparison, PlantedBug, SEQUENCE},
};
use kube_devserver::DevServer;

async fn compared(sequences: u64, clients: [&kube::Client; 2]) -> Comparison {
    Comparison::prepare(clients).await;
    let mut comparison = Comparison::default();
    for seed in 1..=sequences {
        comparison.run(seed, clients).await;
    }
    comparison
}

#[tokio::test(flavor = "multi_thread")]
async fn two_devservers_respond_alike() {
    let servers = [Server::dev().await, Server::dev().await];
    let clients = [servers[0].client(), servers[1].client()];
    let comparison = compared(20, [&clients[0], &clients[1]]).await;
    let differences: Vec<_> = comparison.differences.iter().map(ToString::to_string).collect();
    assert!(differences.is_empty(), "{}", differences.join("\n"));
    assert_eq!(comparison.operations, 20 * SEQUENCE);
    let percent = comparison.refused * 100 / comparison.operations;
    assert!((20..=55).contains(&percent), "{percent} % of the operations are refused");
    for feature in [
        "create",
        "update",
        "merge patch",
        "strategic merge patch",
        "JSON patch",
        "apply",
        "apply with force",
        "apply without a manager",
        "delete",
        "malformed patch",
        "invalid update",
    ] {
        for kind in ["ConfigMap", "Pod", "Service", "Deployment", "Gadget"] {
            let name = format!("{feature} {kind}");
            assert!(
                comparison.counts.get(&name).is_some_and(|count| *count > 0),
                "{name} is missing: {:?}",
                comparison.counts
            );
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_difference_is_reported_with_its_seed() {
    let servers = [DevServer::start(), DevServer::start()];
    servers[1]
        .apply_yaml(
            "
apiVersion: admissionregistration.k8s.io/v1
kind: MutatingWebhookConfiguration
metadata: {name: label}
webhooks:
- name: label.hooks.example.com
  admissionReviewVersions: [v1]
  sideEffects: None
  clientConfig: {service: {namespace: ops, name: missing}}
  rules: [{operations: [DELETE], apiGroups: ['*'], apiVersions: ['*'], resources: ['*']}]
",
        )
        .await
        .unwrap();
    let clients = [servers[0].client(), servers[1].client()];
    let comparison = compared(20, [&clients[0], &clients[1]]).await;
    let mut differences = comparison.differences.iter().map(ToString::to_string);
    let is_expected = |text: &String| {
        text.starts_with("seed ") && text.contains("delete: DELETE") && text.contains("/code: 200 and 500")
    };
    assert!(differences.any(|text| is_expected(&text)), "{:?}", comparison.differences);
}

/// The number of sequences in which each planted bug has to be found.
const SEQUENCES: u64 = 60;

#[tokio::test(flavor = "multi_thread")]
async fn every_planted_bug_is_found() {
    let mut missed = Vec::new();
    for bug in PlantedBug::ALL {
        let servers = [DevServer::start(), DevServer::start()];
        let clients = [servers[0].client(), servers[1].client()];
        let clients = [&clients[0], &clients[1]];
        Comparison::prepare(clients).await;
        let mut comparison = Comparison { planted: Some(bug), ..Comparison::default() };
        for seed in 1..=SEQUENCES {
            comparison.run(seed, clients).await;
            if !comparison.differences.is_empty() {
                break;
            }
        }
        match comparison.differences.first() {
            Some(difference) => {
                println!("{bug:?} after {} operations: {difference}", comparison.operations)
            }
            None => missed.push(bug),
        }
    }
    assert!(missed.is_empty(), "{missed:?} are not found in {SEQUENCES} sequences");
}

/// Runs a short comparison with a kube-apiserver. `cargo xtask compare` runs the long one.
#[cfg(feature = "__cluster")]
mod real {
    use super::*;

    #[tokio::test(flavor = "multi_thread")]
    async fn a_kube_apiserver_responds_as_the_devserver_does() {
        let servers = [Server::dev().await, Server::real().await];
        let clients = [servers[0].client(), servers[1].client()];
        let comparison = compared(20, [&clients[0], &clients[1]]).await;
        let differences: Vec<_> = comparison.differences.iter().map(ToString::to_string).collect();
        assert!(differences.is_empty(), "{}", differences.join("\n"));
        assert_eq!(comparison.operations, 20 * SEQUENCE);
    }
}
