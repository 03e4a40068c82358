//! Objects are validated by the rules of their kind.

use crate::probe::{Answer, PODS, Probe, named, refusal};
use serde_json::{Value, json};

const APPS: &str = "/apis/apps/v1/namespaces/default";
const BATCH: &str = "/apis/batch/v1/namespaces/default";
const CORE: &str = "/api/v1/namespaces/default";
const NETWORK: &str = "/apis/networking.k8s.io/v1/namespaces/default";

/// Returns the fields and the reasons of the causes of a response with code 422.
fn causes(answer: &Answer) -> Vec<(&str, &str)> {
    assert_eq!(refusal(answer), (422, "Invalid"), "{}", answer.1);
    let causes = answer.1["details"]["causes"].as_array().unwrap();
    causes.iter().map(|cause| (cause["field"].as_str().unwrap(), cause["reason"].as_str().unwrap())).collect()
}

fn container() -> Value {
    json!({ "name": "main", "image": "nginx" })
}

fn extend(object: &mut Value, fields: Value) {
    let Value::Object(fields) = fields else { panic!("{fields} is not an object") };
    object.as_object_mut().unwrap().extend(fields);
}

fn pod(spec: Value) -> Value {
    let mut pod = named("a");
    pod["spec"] = json!({ "containers": [container()] });
    extend(&mut pod["spec"], spec);
    pod
}

fn template() -> Value {
    json!({ "metadata": { "labels": { "app": "a" } }, "spec": { "containers": [container()] } })
}

fn controller(spec: Value) -> Value {
    let mut object = named("a");
    object["spec"] = json!({ "selector": { "matchLabels": { "app": "a" } }, "template": template() });
    extend(&mut object["spec"], spec);
    object
}

#[tokio::test(start_paused = true)]
async fn a_pod_is_validated() {
    let table = [
        (json!({ "containers": [] }), "spec.containers", "FieldValueRequired"),
        (
            json!({ "containers": [{ "name": "A", "image": "i" }] }),
            "spec.containers[0].name",
            "FieldValueInvalid",
        ),
        (json!({ "containers": [{ "name": "a" }] }), "spec.containers[0].image", "FieldValueRequired"),
        (
            json!({ "containers": [container(), container()] }),
            "spec.containers[1].name",
            "FieldValueDuplicate",
        ),
        (json!({ "restartPolicy": "Maybe" }), "spec.restartPolicy", "FieldValueNotSupported"),
        (
            json!({ "volumes": [{ "name": "v", "secret": {} }] }),
            "spec.volumes[0].secret.secretName",
            "FieldValueRequired",
        ),
        (
            json!({ "tolerations": [{ "key": "a", "operator": "Is" }] }),
            "spec.tolerations[0].operator",
            "FieldValueNotSupported",
        ),
        (json!({ "activeDeadlineSeconds": 0 }), "spec.activeDeadlineSeconds", "FieldValueInvalid"),
    ];
    let probe = Probe::new();
    for (spec, field, reason) in table {
        let answer = probe.post(PODS, pod(spec)).await;
        assert_eq!(causes(&answer), [(field, reason)]);
    }
    let mount =
        json!({ "name": "main", "image": "i", "volumeMounts": [{ "name": "none", "mountPath": "/a" }] });
    let answer = probe.post(PODS, pod(json!({ "containers": [mount] }))).await;
    assert_eq!(causes(&answer), [("spec.containers[0].volumeMounts[0].name", "FieldValueNotFound")]);
    assert_eq!(
        answer.1["message"],
        "Pod \"a\" is invalid: spec.containers[0].volumeMounts[0].name: Not found: \"none\""
    );
    let limits = json!({ "name": "main", "image": "i", "resources": { "limits": { "cpu": "1" }, "requests": { "cpu": "2" } } });
    let answer = probe.post(PODS, pod(json!({ "containers": [limits] }))).await;
    assert_eq!(causes(&answer).len(), 1, "{}", answer.1);
}

#[tokio::test(start_paused = true)]
async fn a_quantity_that_is_not_one_is_a_bad_request() {
    let probe = Probe::new();
    let limits = json!({ "name": "main", "image": "i", "resources": { "limits": { "cpu": "much" } } });
    let answer = probe.post(PODS, pod(json!({ "containers": [limits] }))).await;
    assert_eq!(refusal(&answer), (400, "BadRequest"));
    assert!(answer.1["message"].as_str().unwrap().contains("quantities must match the regular expression"));
}

#[tokio::test(start_paused = true)]
async fn only_some_fields_of_a_pod_change() {
    let probe = Probe::new();
    probe.make(PODS, pod(json!({ "activeDeadlineSeconds": 60 }))).await;
    let path = format!("{PODS}/a");
    let accepted = [
        json!([{ "op": "replace", "path": "/spec/containers/0/image", "value": "other" }]),
        json!([{ "op": "replace", "path": "/spec/activeDeadlineSeconds", "value": 30 }]),
        json!([{ "op": "add", "path": "/spec/tolerations", "value": [{ "operator": "Exists" }] }]),
    ];
    for patch in accepted {
        let answer =
            probe.ask_as("application/json-patch+json", http::Method::PATCH, &path, Some(&patch)).await;
        assert_eq!(answer.0, 200, "{}", answer.1);
    }
    let refused = [
        (json!([{ "op": "replace", "path": "/spec/containers/0/name", "value": "other" }]), "spec"),
        (json!([{ "op": "add", "path": "/spec/nodeSelector", "value": { "a": "b" } }]), "spec"),
        (
            json!([{ "op": "replace", "path": "/spec/activeDeadlineSeconds", "value": 90 }]),
            "spec.activeDeadlineSeconds",
        ),
        (json!([{ "op": "remove", "path": "/spec/tolerations" }]), "spec.tolerations"),
        (
            json!([{ "op": "add", "path": "/spec/containers/-", "value": { "name": "b", "image": "i" } }]),
            "spec.containers",
        ),
    ];
    for (patch, field) in refused {
        let answer =
            probe.ask_as("application/json-patch+json", http::Method::PATCH, &path, Some(&patch)).await;
        assert_eq!(causes(&answer)[0].0, field);
    }
}

#[tokio::test(start_paused = true)]
async fn controllers_of_pods_are_validated() {
    let mut other = template();
    other["metadata"]["labels"] = json!({ "app": "b" });
    let mut once = template();
    once["spec"]["restartPolicy"] = "Never".into();
    let zero = json!({ "type": "RollingUpdate", "rollingUpdate": { "maxSurge": 0, "maxUnavailable": "0%" } });
    let table = [
        ("deployments", json!({ "template": other }), "spec.template.metadata.labels"),
        ("deployments", json!({ "selector": {} }), "spec.selector"),
        ("deployments", json!({ "replicas": -1 }), "spec.replicas"),
        ("deployments", json!({ "strategy": zero }), "spec.strategy.rollingUpdate.maxUnavailable"),
        ("deployments", json!({ "template": once }), "spec.template.spec.restartPolicy"),
        ("replicasets", json!({ "template": other }), "spec.template.metadata.labels"),
        ("statefulsets", json!({ "podManagementPolicy": "Any" }), "spec.podManagementPolicy"),
        ("daemonsets", json!({ "updateStrategy": { "type": "Any" } }), "spec.updateStrategy.type"),
    ];
    let probe = Probe::new();
    for (plural, spec, field) in table {
        let answer = probe.post(&format!("{APPS}/{plural}"), controller(spec)).await;
        assert_eq!(causes(&answer)[0].0, field, "{plural}");
    }
    let mut job = named("a");
    job["spec"] = json!({ "template": { "spec": { "containers": [container()] } } });
    let answer = probe.post(&format!("{BATCH}/jobs"), job.clone()).await;
    assert_eq!(causes(&answer), [("spec.template.spec.restartPolicy", "FieldValueRequired")]);
    job["spec"]["template"]["spec"]["restartPolicy"] = "Never".into();
    let mut cron = named("a");
    cron["spec"] = json!({ "schedule": "each hour", "jobTemplate": { "spec": job["spec"] } });
    let answer = probe.post(&format!("{BATCH}/cronjobs"), cron).await;
    assert_eq!(causes(&answer), [("spec.schedule", "FieldValueInvalid")]);
    probe.make(&format!("{BATCH}/jobs"), job).await;
    let patch = json!({ "spec": { "template": { "metadata": { "labels": { "new": "one" } } } } });
    let answer = probe.patch(&format!("{BATCH}/jobs/a"), patch).await;
    assert_eq!(causes(&answer), [("spec.template", "FieldValueInvalid")]);
}

#[tokio::test(start_paused = true)]
async fn other_kinds_are_validated() {
    let port = |name: &str| json!({ "name": name, "port": 80 });
    let rbac = "/apis/rbac.authorization.k8s.io/v1/namespaces/default";
    let role = json!({ "apiGroup": "rbac.authorization.k8s.io", "kind": "Group", "name": "a" });
    let target = json!({ "apiVersion": "apps/v1", "kind": "Deployment", "name": "a" });
    let range = json!([{ "from": [{ "ipBlock": { "cidr": "10.0.0.0" } }] }]);
    let budget = json!({ "minAvailable": 1, "maxUnavailable": 1 });
    let table = [
        (format!("{CORE}/services"), json!({ "spec": {} }), "spec.ports"),
        (format!("{CORE}/services"), json!({ "spec": { "ports": [port("a"), port("b")] } }), "spec.ports[1]"),
        (format!("{CORE}/configmaps"), json!({ "data": { "a/b": "" } }), "data[a/b]"),
        (format!("{CORE}/secrets"), json!({ "type": "kubernetes.io/tls" }), "data[tls.crt]"),
        (format!("{CORE}/persistentvolumeclaims"), json!({ "spec": {} }), "spec.accessModes"),
        (
            format!("{CORE}/resourcequotas"),
            json!({ "spec": { "hard": { "horses": "1" } } }),
            "spec.hard[horses]",
        ),
        (
            format!("{CORE}/limitranges"),
            json!({ "spec": { "limits": [{ "type": "Any" }] } }),
            "spec.limits[0].type",
        ),
        (format!("{NETWORK}/ingresses"), json!({ "spec": {} }), "spec"),
        (
            format!("{NETWORK}/networkpolicies"),
            json!({ "spec": { "podSelector": {}, "ingress": range } }),
            "spec.ingress[0].from[0].ipBlock.cidr",
        ),
        (format!("{rbac}/roles"), json!({ "rules": [{ "verbs": ["get"] }] }), "rules[0].apiGroups"),
        (format!("{rbac}/rolebindings"), json!({ "roleRef": role }), "roleRef.kind"),
        ("/apis/policy/v1/namespaces/default/poddisruptionbudgets".into(), json!({ "spec": budget }), "spec"),
        (
            "/apis/coordination.k8s.io/v1/namespaces/default/leases".into(),
            json!({ "spec": { "leaseDurationSeconds": 0 } }),
            "spec.leaseDurationSeconds",
        ),
        (
            "/apis/autoscaling/v2/namespaces/default/horizontalpodautoscalers".into(),
            json!({ "spec": { "maxReplicas": 0, "scaleTargetRef": target } }),
            "spec.maxReplicas",
        ),
    ];
    let probe = Probe::new();
    for (path, mut body, field) in table {
        body["metadata"] = json!({ "name": "a" });
        let answer = probe.post(&path, body).await;
        assert_eq!(causes(&answer)[0].0, field, "{path}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_claim_keeps_its_spec() {
    let probe = Probe::new();
    let path = format!("{CORE}/persistentvolumeclaims");
    let mut claim = named("a");
    let requests = json!({ "requests": { "storage": "1Gi" } });
    claim["spec"] = json!({ "accessModes": ["ReadWriteOnce"], "resources": requests });
    probe.make(&path, claim).await;
    let path = format!("{path}/a");
    let larger = json!({ "spec": { "resources": { "requests": { "storage": "2Gi" } } } });
    assert_eq!(causes(&probe.patch(&path, larger.clone()).await), [("spec", "FieldValueForbidden")]);
    let bound = json!({ "status": { "phase": "Bound", "capacity": { "storage": "1Gi" } } });
    probe.patch(&format!("{path}/status"), bound).await;
    assert_eq!(probe.patch(&path, larger).await.0, 200, "a bound claim can grow");
}
