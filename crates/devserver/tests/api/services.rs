//! Services get addresses and node ports.

use crate::probe::{Probe, named};
use serde_json::{Value, json};

const SERVICES: &str = "/api/v1/namespaces/default/services";

fn service(name: &str, spec: &Value) -> Value {
    json!({ "metadata": { "name": name }, "spec": spec })
}

#[tokio::test(start_paused = true)]
async fn each_service_has_an_address_of_its_own() {
    let probe = Probe::new();
    let spec = json!({ "selector": { "app": "web" }, "ports": [{ "port": 80 }] });
    let first = probe.make(SERVICES, service("a", &spec)).await;
    let second = probe.make(SERVICES, service("b", &spec)).await;
    let address = |service: &Value| service["spec"]["clusterIP"].as_str().unwrap().to_owned();
    assert!(address(&first).starts_with("10.96."), "{first}");
    assert_ne!(address(&first), address(&second));
    assert_eq!(first["spec"]["clusterIPs"], json!([address(&first)]));
    // An update without the address retains it.
    let (code, updated) = probe.put(&format!("{SERVICES}/a"), service("a", &spec)).await;
    assert_eq!((code, address(&updated)), (200, address(&first)));
}

#[tokio::test(start_paused = true)]
async fn addresses_after_a_deletion_are_new() {
    let probe = Probe::new();
    let mut addresses = std::collections::HashSet::new();
    for _ in 0..20 {
        let made = probe.make(SERVICES, service("a", &json!({ "ports": [{ "port": 80 }] }))).await;
        probe.delete(&format!("{SERVICES}/a")).await;
        assert!(addresses.insert(made["spec"]["clusterIP"].clone()), "{made}");
    }
}

#[tokio::test(start_paused = true)]
async fn node_ports_of_services_differ() {
    let probe = Probe::new();
    let spec =
        json!({ "type": "NodePort", "ports": [{ "name": "a", "port": 80 }, { "name": "b", "port": 81 }] });
    let mut ports = std::collections::HashSet::new();
    for name in ["a", "b", "c"] {
        let made = probe.make(SERVICES, service(name, &spec)).await;
        for port in made["spec"]["ports"].as_array().unwrap() {
            let number = port["nodePort"].as_u64().unwrap();
            assert!((30_000..32_768).contains(&number) && ports.insert(number), "{made}");
        }
    }
    // A service that is not reachable from outside any more has none.
    let (_, patched) =
        probe.patch(&format!("{SERVICES}/a"), json!({ "spec": { "type": "ClusterIP" } })).await;
    assert_eq!(patched["spec"]["ports"][0].get("nodePort"), None, "{patched}");
}

#[tokio::test(start_paused = true)]
async fn headless_and_external_services_have_no_address() {
    let probe = Probe::new();
    let headless = json!({ "clusterIP": "None", "selector": { "app": "db" }, "ports": [{ "port": 80 }] });
    let made = probe.make(SERVICES, service("db", &headless)).await;
    assert_eq!(made["spec"]["clusterIPs"], json!(["None"]));
    let external = json!({ "type": "ExternalName", "externalName": "example.com" });
    let made = probe.make(SERVICES, service("other", &external)).await;
    assert_eq!(made["spec"].get("clusterIP"), None);
}

/// `kubectl debug` reads the details of a 404 without a check.
#[tokio::test(start_paused = true)]
async fn the_error_for_an_unknown_path_has_details() {
    let probe = Probe::new();
    probe.make("/api/v1/namespaces/default/pods", named("web")).await;
    let (code, status) = probe.get("/api/v1/namespaces/default/pods/web/ephemeralcontainers").await;
    assert_eq!((code, &status["details"]), (404, &json!({})));
}
