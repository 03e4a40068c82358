//! The command `informer` compared with kubectl, on the same server.

use crate::programs::{Home, INFORMER, KUBECTL};
use kube::api::{Api, ApiResource, DynamicObject, GroupVersionKind, PostParams};
use kube_conformance::{Server, on_both};
use serde_json::{Value, json};

on_both! {
    shared: [],
    // Objects of other tests could be printed by one program only.
    alone: [
        names_are_those_of_kubectl,
        tables_and_templates_are_those_of_kubectl,
    ],
}

/// Kinds of several groups, namespaced and cluster-scoped, that exist or can be created on each server.
const KINDS: [&str; 12] = [
    "pods",
    "configmaps",
    "secrets",
    "services",
    "serviceaccounts",
    "namespaces",
    "nodes",
    "deployments.apps",
    "jobs.batch",
    "roles.rbac.authorization.k8s.io",
    "clusterroles.rbac.authorization.k8s.io",
    "customresourcedefinitions.apiextensions.k8s.io",
];

/// The options for the initial list and for the storage.
const WAYS: [&[&str]; 3] =
    [&["--strategy", "stream"], &["--strategy", "list", "--page-size", "3"], &["--storage", "decoded"]];

async fn names_are_those_of_kubectl(server: &Server) {
    let namespaces = [server.namespace().await, server.namespace().await];
    for object in namespaces.iter().flat_map(|namespace| objects(namespace)) {
        create(server, object).await;
    }
    let home = Home::new(server, "command");
    for kind in KINDS {
        let expected = home.said(KUBECTL, &["get", kind, "-A", "-o", "name"]).await;
        assert!(expected.lines().count() >= 2, "{kind}: {expected:?}");
        for way in WAYS {
            let asked = [&["watch", kind, "-A", "--once", "-q", "-o", "name"], way].concat();
            assert_eq!(home.said(INFORMER, &asked).await, expected, "{kind} {way:?}");
        }
    }
}

/// Formats and columns that both programs have.
const FORMATS: [&[&str]; 9] = [
    &[],
    &["-o", "wide"],
    &["--show-labels"],
    &["-L", "app", "--no-headers"],
    &["--sort-by", ".metadata.uid"],
    &["-o", "custom-columns=NAME:.metadata.name,LABELS:.metadata.labels.app,KIND:.kind"],
    &["-o", "jsonpath={.items[*].metadata.name}"],
    &["-o", r#"jsonpath={range .items[*]}{.kind}{"\t"}{.metadata.name}{"\n"}{end}"#],
    &["-o", r#"jsonpath={.items[?(@.metadata.name!="default")].metadata.uid}"#],
];

async fn tables_and_templates_are_those_of_kubectl(server: &Server) {
    let namespaces = [server.namespace().await, server.namespace().await];
    for object in namespaces.iter().flat_map(|namespace| objects(namespace)) {
        create(server, object).await;
    }
    let home = Home::new(server, "tables");
    for kind in KINDS {
        for format in FORMATS {
            let expected = home.said(KUBECTL, &[&["get", kind, "-A"], format].concat()).await;
            let asked = [&["watch", kind, "-A", "--once", "-q"], format].concat();
            let found = home.said(INFORMER, &asked).await;
            assert_eq!(without_ages(&found), without_ages(&expected), "{kind} {format:?}");
        }
    }
}

/// Splits each line at spaces, and replaces ages, which depend on the moment.
fn without_ages(text: &str) -> Vec<Vec<&str>> {
    let is_age = |word: &str| {
        word.len() > 1
            && word.starts_with(|letter: char| letter.is_ascii_digit())
            && word.trim_end_matches(['s', 'm', 'h', 'd']).len() < word.len()
            && word.chars().all(|letter| letter.is_ascii_digit() || "smhd".contains(letter))
    };
    let words =
        |line| str::split_whitespace(line).map(|word| if is_age(word) { "AGE" } else { word }).collect();
    text.lines().map(words).collect()
}

/// Returns an object of each kind for this namespace.
fn objects(namespace: &str) -> Vec<Value> {
    let plural = format!("things{}", namespace.replace('-', ""));
    let template = json!({
        "metadata": {"labels": {"app": "a"}},
        "spec": {"restartPolicy": "Never", "containers": [{"name": "c", "image": "example/c:1"}]},
    });
    let mut always = template.clone();
    always["spec"]["restartPolicy"] = "Always".into();
    let selector = json!({"matchLabels": {"app": "a"}});
    let within = [
        // A pod needs a service account, which no controller creates.
        ("v1", "ServiceAccount", json!({"metadata": {"name": "default"}})),
        ("v1", "Pod", template.clone()),
        ("v1", "ConfigMap", json!({"data": {"a": "b"}})),
        ("v1", "Secret", json!({"stringData": {"a": "b"}})),
        ("v1", "Service", json!({"spec": {"ports": [{"port": 80}]}})),
        ("apps/v1", "Deployment", json!({"spec": {"selector": selector, "template": always}})),
        ("batch/v1", "Job", json!({"spec": {"template": template}})),
        ("rbac.authorization.k8s.io/v1", "Role", json!({"rules": []})),
    ];
    let schema = json!({"openAPIV3Schema": {"type": "object"}});
    let definition = json!({"metadata": {"name": format!("{plural}.example.com")}, "spec": {
        "group": "example.com", "scope": "Namespaced",
        "names": {"plural": plural, "kind": format!("Thing{}", namespace.replace('-', ""))},
        "versions": [{"name": "v1", "served": true, "storage": true, "schema": schema}],
    }});
    let without = [
        ("v1", "Node", json!({})),
        ("rbac.authorization.k8s.io/v1", "ClusterRole", json!({"rules": []})),
        ("apiextensions.k8s.io/v1", "CustomResourceDefinition", definition),
    ];
    let object = |(version, kind, mut object): (&str, &str, Value), place: Option<&str>| {
        (object["apiVersion"], object["kind"]) = (version.into(), kind.into());
        if object["metadata"]["name"].is_null() {
            object["metadata"]["name"] = format!("one-{namespace}").into();
        }
        object["metadata"]["namespace"] = place.into();
        object
    };
    let within = within.map(|described| object(described, Some(namespace)));
    within.into_iter().chain(without.map(|described| object(described, None))).collect()
}

async fn create(server: &Server, object: Value) {
    let object: DynamicObject = serde_json::from_value(object).unwrap();
    let kind = GroupVersionKind::try_from(object.types.as_ref().unwrap()).unwrap();
    let resource = ApiResource::from_gvk(&kind);
    let api: Api<DynamicObject> = match &object.metadata.namespace {
        Some(namespace) => Api::namespaced_with(server.client(), namespace, &resource),
        None => Api::all_with(server.client(), &resource),
    };
    match api.create(&PostParams::default(), &object).await {
        Ok(_) => {}
        // The devserver creates the service account of a namespace.
        Err(kube::Error::Api(status)) if status.is_already_exists() => {}
        Err(error) => panic!("{kind:?}: {error}"),
    }
}
