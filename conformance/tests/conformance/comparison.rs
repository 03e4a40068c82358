//! The comparison finds differences between two servers.

use kube_conformance::comparison::{Comparison, PlantedBug};
use kube_devserver::DevServer;

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
    let comparison = Comparison::of_sequences(20, [&clients[0], &clients[1]]).await;
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
