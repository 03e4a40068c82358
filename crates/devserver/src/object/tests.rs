//! Tests of the changes that the server makes to objects.

use super::deletion::{Decision, Mismatch, Policy, Preconditions, Terms, decide, is_finished};
use super::{
    NewObject, apply_status_update, check_fields, complete, field, generate_name, name::name_errors,
    prepare_update, scale, supported_fields, uid,
};
use crate::corpus::Widgets;
use crate::registry::Resource;
use crate::testing::{self, resource};
use kube_informer_wire::FieldSelector;
use proptest::prelude::*;
use serde_json::{Value, json};

fn at_once(object: &Value) -> Terms {
    Terms::at_once(object, Policy::Background)
}

const NOW: &str = "2026-07-01T00:00:00Z";

fn widgets() -> Resource {
    testing::widgets().as_ref().clone()
}

fn born(resource: &Resource, mut object: Value) -> Value {
    let new_object =
        NewObject { namespace: resource.is_namespaced().then_some("ns"), name: "a", uid: uid(7), now: NOW };
    complete(resource, &mut object, &new_object);
    object
}

#[test]
fn each_kind_has_its_rule_for_names() {
    let long = "a".repeat(64);
    let table = [
        ("", "pods", "a.b-c.1", None),
        ("", "pods", "A", Some("a lowercase RFC 1123 subdomain must consist of")),
        ("", "pods", "a..b", Some("a lowercase RFC 1123 subdomain must consist of")),
        ("", "pods", "-a", Some("a lowercase RFC 1123 subdomain must consist of")),
        ("", "pods", &long, None),
        ("", "namespaces", "1a", None),
        ("", "namespaces", "a.b", Some("must not contain dots")),
        ("", "namespaces", "a_b", Some("a lowercase RFC 1123 label must consist of")),
        ("", "namespaces", &long, Some("must be no more than 63 characters")),
        ("", "services", "a-1", None),
        ("", "services", "1a", None),
        ("", "services", "-a", Some("a lowercase RFC 1123 label must consist of")),
        ("apps", "statefulsets", "a.b", Some("must not contain dots")),
        ("rbac.authorization.k8s.io", "clusterroles", "system:Node", None),
        ("rbac.authorization.k8s.io", "roles", "a/b", Some("may not contain '/'")),
        ("rbac.authorization.k8s.io", "roles", "a%b", Some("may not contain '%'")),
        ("rbac.authorization.k8s.io", "roles", "..", Some("may not be '..'")),
        ("batch", "cronjobs", &long[..52], None),
        ("batch", "cronjobs", &long[..53], Some("must be no more than 52 characters")),
        ("apps", "deployments", "ä", Some("a lowercase RFC 1123 subdomain must consist of")),
    ];
    for (group, plural, name, detail) in table {
        let found = name_errors(&resource(group, plural), name);
        match detail {
            None => assert_eq!(found, [], "{name}"),
            Some(detail) => {
                let text = found[0].to_string();
                assert!(
                    text.starts_with(&format!("metadata.name: Invalid value: {name:?}: {detail}")),
                    "{text}"
                );
            }
        }
    }
}

#[test]
fn a_missing_or_invalid_name_gets_the_text_of_kube_apiserver() {
    let pods = resource("", "pods");
    assert_eq!(
        name_errors(&pods, "")[0].to_string(),
        "metadata.name: Required value: name or generateName is required"
    );
    let expected = "metadata.name: Invalid value: \"Foo_\": a lowercase RFC 1123 subdomain must consist of lower case \
        alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. \
        'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')";
    assert_eq!(name_errors(&pods, "Foo_")[0].to_string(), expected);
}

#[test]
fn generated_names_end_in_five_letters() {
    assert_eq!(generate_name("web-", 0), "web-bbbbb");
    assert_eq!(generate_name("web-", 26), "web-9bbbb");
    let long = generate_name(&"a".repeat(100), 1);
    assert_eq!((long.len(), &long[57..]), (63, "acbbbb"));
}

#[test]
fn uids_are_of_version_four() {
    assert_eq!(uid(0), "00000000-0000-4000-8000-000000000000");
    assert_eq!(uid(u128::MAX), "ffffffff-ffff-4fff-bfff-ffffffffffff");
}

#[test]
fn a_new_object_has_the_metadata_of_the_server() {
    let sent = json!({
        "metadata": {
            "labels": {"a": "b"}, "uid": "mine", "resourceVersion": "5", "deletionTimestamp": NOW, "selfLink": "/x",
            "deletionGracePeriodSeconds": 3, "generation": 9, "creationTimestamp": null,
        },
        "spec": {"replicas": 2}, "status": {"replicas": 2},
    });
    let expected = json!({
        "apiVersion": "apps/v1", "kind": "Deployment",
        "metadata": {"name": "a", "namespace": "ns", "labels": {"a": "b"}, "uid": uid(7), "creationTimestamp": NOW, "generation": 1},
        "spec": {"replicas": 2}, "status": {},
    });
    let mut made = born(&resource("apps", "deployments"), sent);
    assert_eq!(made["spec"]["replicas"], 2);
    made["spec"] = json!({"replicas": 2});
    assert_eq!(made, expected);
    assert!(born(&resource("", "configmaps"), json!({}))["metadata"].get("generation").is_none());
}

#[test]
fn a_new_object_starts_with_the_status_of_its_kind() {
    let sent = || json!({"spec": {}, "status": {"phase": "Running"}});
    assert_eq!(born(&resource("", "pods"), sent())["status"], json!({"phase": "Pending"}));
    assert_eq!(born(&resource("", "nodes"), sent())["status"], json!({"phase": "Running"}));
    assert_eq!(born(&widgets(), sent()).get("status"), None);
    let namespace = born(&resource("", "namespaces"), json!({}));
    assert_eq!(namespace["status"], json!({"phase": "Active"}));
    assert_eq!(namespace["metadata"]["labels"], json!({"kubernetes.io/metadata.name": "a"}));
    assert_eq!(namespace["metadata"].get("namespace"), None);
    assert_eq!(born(&resource("", "pods"), sent())["spec"]["restartPolicy"], "Always");
    assert_eq!(born(&resource("apps", "deployments"), sent())["spec"]["replicas"], 1);
}

#[test]
fn plain_text_of_a_secret_joins_its_data() {
    let sent = json!({"data": {"a": "eA=="}, "stringData": {"b": "hello", "c": 3}});
    let secret = born(&resource("", "secrets"), sent);
    assert_eq!(secret["data"], json!({"a": "eA==", "b": "aGVsbG8="}));
    assert_eq!((secret.get("stringData"), &secret["type"]), (None, &json!("Opaque")));
}

fn updated(resource: &Resource, old: &Value, mut new: Value) -> Value {
    prepare_update(resource, old, &mut new).unwrap();
    new
}

#[test]
fn an_update_keeps_identity_and_status() {
    let deployments = resource("apps", "deployments");
    let mut old = born(&deployments, json!({"spec": {"replicas": 1}}));
    old["status"] = json!({"replicas": 1});
    let sent = json!({
        "metadata": {"name": "b", "namespace": "other", "creationTimestamp": "1999", "generation": 40, "labels": {"x": "y"}, "deletionTimestamp": NOW},
        "spec": {"replicas": 3}, "status": {"replicas": 99},
    });
    let new = updated(&deployments, &old, sent);
    let mut expected = old.clone();
    expected["metadata"]["labels"] = json!({"x": "y"});
    expected["metadata"]["generation"] = json!(2);
    expected["spec"]["replicas"] = json!(3);
    assert_eq!(new, expected);
}

#[test]
fn the_generation_increases_with_changes_of_the_spec() {
    let check = |resource: &Resource, pointer: &str, moves: bool| {
        let object = json!({"metadata": {"labels": {}, "annotations": {"a": "1"}}, "spec": {"replicas": 1, "x": 1}, "status": {"x": 1}, "data": {"x": 1}});
        let old = born(resource, object);
        let mut new = old.clone();
        if let Some(place) = new.pointer_mut(pointer) {
            *place = json!({"changed": "2"});
        }
        let generation = updated(resource, &old, new)["metadata"]["generation"].as_i64();
        assert_eq!(
            generation,
            resource.has_generation.then_some(if moves { 2 } else { 1 }),
            "{} {pointer}",
            resource.kind
        );
    };
    let without_status = Resource { has_status: false, ..widgets() };
    check(&resource("apps", "deployments"), "/spec/x", true);
    check(&resource("apps", "deployments"), "/metadata/labels", false);
    check(&resource("apps", "deployments"), "/metadata/annotations", true);
    check(&resource("apps", "replicasets"), "/metadata/annotations", false);
    check(&resource("apps", "replicasets"), "/status", false);
    check(&resource("", "configmaps"), "/data", false);
    check(&widgets(), "/status", false);
    check(&widgets(), "/data", true);
    check(&without_status, "/status", true);
    check(&without_status, "/metadata/labels", false);
}

#[test]
fn changes_of_immutable_fields_are_refused() {
    let pods = resource("", "pods");
    let mut old = born(&pods, json!({"metadata": {"finalizers": ["a"]}}));
    let refused =
        |old: &Value, mut new: Value| prepare_update(&pods, old, &mut new).unwrap_err().remove(0).to_string();
    assert_eq!(
        refused(&old, json!({"metadata": {"uid": "x"}})),
        "metadata.uid: Invalid value: \"x\": field is immutable"
    );
    old["metadata"]["deletionTimestamp"] = NOW.into();
    let text = refused(&old, json!({"metadata": {"finalizers": ["a", "b"]}}));
    assert_eq!(
        text,
        "metadata.finalizers: Forbidden: no new finalizers can be added if the object is being deleted, found new finalizers []string{\"b\"}"
    );
}

#[test]
fn a_status_update_changes_the_status() {
    let table: [(Resource, bool, bool); 4] = [
        (resource("", "pods").as_ref().clone(), true, true),
        (resource("apps", "deployments").as_ref().clone(), false, true),
        (resource("apiextensions.k8s.io", "customresourcedefinitions").as_ref().clone(), false, false),
        (widgets(), false, false),
    ];
    for (resource, takes_labels, takes_annotations) in table {
        let old = born(&resource, json!({"spec": {"x": 1}}));
        let mut new = json!({
            "metadata": {"labels": {"l": "1"}, "annotations": {"a": "1"}, "generation": 8, "name": "z"},
            "spec": {"x": 2}, "status": {"phase": "Done"},
        });
        apply_status_update(&resource, &old, &mut new).unwrap();
        assert_eq!((&new["spec"], &new["status"]), (&old["spec"], &json!({"phase": "Done"})));
        assert_eq!((&new["metadata"]["name"], &new["metadata"]["generation"]), (&json!("a"), &json!(1)));
        assert_eq!(new["metadata"].get("labels").is_some(), takes_labels, "{}", resource.kind);
        assert_eq!(new["metadata"].get("annotations").is_some(), takes_annotations, "{}", resource.kind);
    }
}

#[test]
fn finalizers_keep_an_object() {
    let none = Preconditions::default();
    let free = json!({"metadata": {"uid": "u", "generation": 1}});
    assert_eq!(decide(&free, &none, &at_once(&free), NOW), Ok(Decision::Remove));
    let held = json!({"metadata": {"uid": "u", "generation": 1, "finalizers": ["a"]}});
    let marked = json!({"metadata": {
        "uid": "u", "generation": 2, "finalizers": ["a"], "deletionTimestamp": NOW, "deletionGracePeriodSeconds": 0,
    }});
    assert_eq!(decide(&held, &none, &at_once(&held), NOW), Ok(Decision::MarkDeleting(marked.clone())));
    assert_eq!(decide(&marked, &none, &at_once(&marked), NOW), Ok(Decision::AlreadyDeleting));
    assert!(!is_finished(&marked) && !is_finished(&free));
    assert!(is_finished(&json!({"metadata": {"deletionTimestamp": NOW, "finalizers": []}})));
}

#[test]
fn an_object_with_another_uid_or_version_is_not_deleted() {
    let object = json!({"metadata": {"uid": "u", "resourceVersion": "5"}});
    let demands = |uid: &str, version: &str| Preconditions {
        uid: Some(uid.to_owned()),
        resource_version: Some(version.to_owned()),
    };
    assert_eq!(decide(&object, &demands("u", "5"), &at_once(&object), NOW), Ok(Decision::Remove));
    let error = decide(&object, &demands("v", "5"), &at_once(&object), NOW).unwrap_err();
    assert_eq!(error.to_string(), "the UID in the precondition (v) does not match the UID in record (u)");
    let error = decide(&object, &demands("u", "4"), &at_once(&object), NOW).unwrap_err();
    assert_eq!(error, Mismatch::Version { wanted: "4".to_owned(), found: "5".to_owned() });
}

#[test]
fn a_scale_is_read_and_written_where_the_kind_has_it() {
    let selector = json!({"matchLabels": {"b": "2", "a": "1"}, "matchExpressions": [
        {"key": "x", "operator": "In", "values": ["q", "p"]}, {"key": "y", "operator": "DoesNotExist"},
    ]});
    let mut deployment = json!({
        "metadata": {"name": "d", "namespace": "n", "uid": "u", "resourceVersion": "9", "labels": {}},
        "spec": {"replicas": 2, "selector": selector}, "status": {"replicas": 1},
    });
    let deployments = resource("apps", "deployments");
    let found = scale::read(&deployments, &deployment).unwrap();
    let expected = json!({
        "kind": "Scale", "apiVersion": "autoscaling/v1",
        "metadata": {"name": "d", "namespace": "n", "uid": "u", "resourceVersion": "9"},
        "spec": {"replicas": 2}, "status": {"replicas": 1, "selector": "!y,a=1,b=2,x in (p,q)"},
    });
    assert_eq!(found, expected);
    scale::write(&deployments, &mut deployment, &json!({"spec": {"replicas": 5}})).unwrap();
    assert_eq!(deployment["spec"]["replicas"], 5);
    let error = scale::write(&deployments, &mut deployment, &json!({"spec": {"replicas": -1}})).unwrap_err();
    assert_eq!(error.to_string(), "spec.replicas: Invalid value: -1: must be greater than or equal to 0");

    let controller = json!({"spec": {"replicas": 2, "selector": {"a": "1"}}});
    assert_eq!(
        scale::read(&resource("", "replicationcontrollers"), &controller).unwrap()["status"]["selector"],
        "a=1"
    );
    let widget = Widgets::new(1).widget(0);
    let found = scale::read(&widgets(), &widget).unwrap();
    assert_eq!(
        (&found["spec"]["replicas"], &found["status"]["selector"]),
        (&json!(3), &widget["status"]["selector"])
    );
    assert_eq!(scale::read(&resource("", "pods"), &widget), None);
}

#[test]
fn selectors_read_the_fields_that_the_kind_supports() {
    let pod = json!({
        "metadata": {"name": "p", "namespace": "n"}, "spec": {"nodeName": "x"},
        "status": {"phase": "Running", "podIP": "old", "podIPs": [{"ip": "10.0.0.1"}]},
    });
    let event = json!({"involvedObject": {"kind": "Pod"}, "reportingComponent": "kubelet", "count": 3});
    let table = [
        ("", "pods", &pod, "metadata.name", "p"),
        ("", "pods", &pod, "metadata.namespace", "n"),
        ("", "pods", &pod, "spec.nodeName", "x"),
        ("", "pods", &pod, "spec.hostNetwork", "false"),
        ("", "pods", &pod, "spec.serviceAccountName", ""),
        ("", "pods", &pod, "status.podIP", "10.0.0.1"),
        ("", "nodes", &pod, "spec.unschedulable", "false"),
        ("", "events", &event, "involvedObject.kind", "Pod"),
        ("", "events", &event, "source", "kubelet"),
        ("apps", "replicasets", &json!({"status": {"replicas": 3}}), "status.replicas", "3"),
        ("apps", "replicasets", &pod, "status.replicas", "0"),
        ("batch", "jobs", &json!({"status": {"succeeded": 2}}), "status.successful", "2"),
        ("batch", "jobs", &pod, "status.successful", "0"),
        ("", "secrets", &json!({"type": "Opaque"}), "type", "Opaque"),
    ];
    for (group, plural, object, name, expected) in table {
        let resource = resource(group, plural);
        assert!(supported_fields(&resource).any(|known| known == name), "{name}");
        assert_eq!(field(&resource, object, name), expected, "{name}");
    }
    assert_eq!(field(&widgets(), &json!({"status": {"phase": "Ready"}}), "status.phase"), "Ready");
}

#[test]
fn fields_that_the_kind_does_not_support_are_refused() {
    let check = |resource: &Resource, selector: &str| {
        let selector: FieldSelector = selector.parse().unwrap();
        check_fields(resource, &selector).map_err(|error| error.to_string())
    };
    assert_eq!(check(&resource("", "pods"), "spec.nodeName=x,status.phase!=Failed"), Ok(()));
    assert_eq!(
        check(&resource("", "pods"), "spec.image=x"),
        Err("field label not supported: spec.image".to_owned())
    );
    let plain = "\"spec.x\" is not a known field selector: only \"metadata.name\", \"metadata.namespace\"";
    assert_eq!(check(&resource("apps", "deployments"), "spec.x=1"), Err(plain.to_owned()));
    assert_eq!(check(&widgets(), "status.phase=Ready,metadata.namespace=a"), Ok(()));
    assert_eq!(check(&widgets(), "spec.x=1"), Err("field label not supported: spec.x".to_owned()));
}

proptest! {
    #[test]
    fn no_object_makes_it_panic(resource in testing::any_resource(), old in testing::object(), new in testing::object(), wild in testing::value()) {
        for resource in [resource.as_ref(), &widgets()] {
            for object in [&old, &wild] {
                let stamped = born(resource, object.clone());
                prop_assert_eq!(&stamped["metadata"]["uid"], &json!(uid(7)));
                let mut next = new.clone();
                if prepare_update(resource, object, &mut next).is_ok() {
                    prop_assert_eq!(next["metadata"].get("uid"), object.pointer("/metadata/uid"));
                }
                let _ = apply_status_update(resource, object, &mut new.clone());
                let _ = decide(object, &Preconditions::default(), &at_once(object), NOW);
                let read = scale::read(resource, object);
                prop_assert_eq!(read.is_some(), resource.scale.is_some());
                let _ = scale::write(resource, &mut object.clone(), &new);
                for name in supported_fields(resource) {
                    let _ = field(resource, object, name);
                }
            }
        }
    }

    #[test]
    fn an_update_without_a_change_keeps_the_version_too(resource in testing::any_resource(), object in testing::object()) {
        let old = born(&resource, object);
        prop_assert_eq!(updated(&resource, &old, old.clone()), old);
    }

    #[test]
    fn generated_names_are_names(start in "[a-z]([-a-z0-9]{0,80})", bits: u64) {
        let name = generate_name(&start, bits);
        prop_assert!(name.len() <= 63 && name_errors(&resource("", "services"), &name).is_empty(), "{}", name);
    }

    #[test]
    fn any_text_is_a_name_or_not(resource in testing::any_resource(), name in "\\PC{0,80}") {
        let _ = name_errors(&resource, &name);
        let _ = generate_name(&name, 3);
    }
}
