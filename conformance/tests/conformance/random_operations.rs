//! Random operations have the same results on the server under test and on a devserver.

use kube_conformance::{
    Server, claims,
    comparison::{Comparison, SEQUENCE},
};

claims! {
    shared: [random_operations_have_the_same_results_as_on_a_devserver],
    alone: [],
}

/// `cargo xtask compare` runs more sequences.
async fn random_operations_have_the_same_results_as_on_a_devserver(server: &Server) {
    let devserver = Server::dev().await;
    let clients = [devserver.client(), server.client()];
    let comparison = Comparison::of_sequences(20, [&clients[0], &clients[1]]).await;
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
