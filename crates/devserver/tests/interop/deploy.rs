//! The manifests in `deploy/` are safe.
//!
//! The conformance tests create them on both servers.

const RECORD: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../deploy/record.yaml");

#[test]
fn the_role_of_the_recorder_does_not_allow_secrets_or_writes() {
    let text = std::fs::read_to_string(RECORD).unwrap();
    let documents: Vec<serde_json::Value> = serde_saphyr::from_multiple(&text).unwrap();
    let role = documents.iter().find(|one| one["kind"] == "ClusterRole").unwrap();
    for rule in role["rules"].as_array().unwrap() {
        assert_eq!(rule["verbs"], serde_json::json!(["get", "list", "watch"]));
        let resources = rule["resources"].as_array().unwrap();
        assert!(resources.iter().all(|resource| resource != "secrets" && resource != "*"), "{rule}");
    }
    let deployment = documents.iter().find(|one| one["kind"] == "Deployment").unwrap();
    assert_eq!(deployment["spec"]["strategy"]["type"], "Recreate");
    let arguments = deployment["spec"]["template"]["spec"]["containers"][0]["args"].as_array().unwrap();
    assert_eq!(arguments[0], "record");
    assert!(arguments.iter().all(|argument| argument != "--secrets"));
}
