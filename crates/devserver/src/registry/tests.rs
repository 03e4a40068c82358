//! Tests of the registry.

use super::crd::from_crd;
use super::discovery::{self, Root};
use super::resource::{Resource, Scope};
use super::{Registry, establish};
use crate::corpus::Widgets;
use crate::testing;
use proptest::prelude::*;
use serde_json::{Value, json};
use std::collections::HashSet;

fn crd(versions: &[(&str, bool)]) -> Value {
    let version = |(place, (name, served)): (usize, &(&str, bool))| json!({"name": name, "served": served, "storage": place == 0});
    let versions: Vec<_> = versions.iter().enumerate().map(version).collect();
    json!({
        "metadata": {"name": "widgets.example.com"},
        "spec": {
            "group": "example.com", "scope": "Namespaced", "versions": versions,
            "names": {"plural": "widgets", "kind": "Widget"},
        },
    })
}

#[test]
fn built_in_resources_have_their_real_names() {
    let table = [
        ("", "v1", "pods", "Pod", "po", "v1", true, true, false),
        ("", "v1", "nodes", "Node", "no", "v1", false, true, false),
        ("", "v1", "endpoints", "Endpoints", "ep", "v1", true, false, false),
        ("apps", "v1", "deployments", "Deployment", "deploy", "apps/v1", true, true, true),
        (
            "autoscaling",
            "v1",
            "horizontalpodautoscalers",
            "HorizontalPodAutoscaler",
            "hpa",
            "autoscaling/v1",
            true,
            true,
            false,
        ),
        (
            "storage.k8s.io",
            "v1",
            "storageclasses",
            "StorageClass",
            "sc",
            "storage.k8s.io/v1",
            false,
            false,
            false,
        ),
        (
            "apiextensions.k8s.io",
            "v1",
            "customresourcedefinitions",
            "CustomResourceDefinition",
            "crd",
            "apiextensions.k8s.io/v1",
            false,
            true,
            false,
        ),
    ];
    let registry = Registry::new();
    for (group, version, plural, kind, short, api_version, is_namespaced, has_status, has_scale) in table {
        let found = registry.resource(group, version, plural).unwrap();
        assert_eq!((found.kind.as_str(), found.short_names[0].as_str()), (kind, short));
        assert_eq!(found.api_version(), api_version);
        assert_eq!(
            (found.is_namespaced(), found.has_status, found.scale.is_some()),
            (is_namespaced, has_status, has_scale),
            "{plural}"
        );
        assert_eq!(found.singular, kind.to_lowercase());
    }
    assert!(registry.resource("apps", "v1", "pods").is_none());
    assert!(registry.resource("apps", "v2", "deployments").is_none());
    assert_eq!(registry.resource("apps", "v1", "deployments").unwrap().group_resource(), "deployments.apps");
}

#[test]
fn no_two_resources_share_a_path() {
    let registry = Registry::new();
    let mut seen = HashSet::new();
    assert!(registry.resources().all(|one| seen.insert((one.api_version(), one.plural.clone()))));
    assert_eq!(seen.len(), registry.resources().count());
}

#[test]
fn versions_of_a_resource_share_their_objects() {
    let registry = Registry::new();
    let of = |version| registry.resource("autoscaling", version, "horizontalpodautoscalers").unwrap();
    assert_eq!(of("v1").storage(), of("v2").storage());
    assert_eq!(registry.preferred("autoscaling", "horizontalpodautoscalers").unwrap().version, "v2");
}

#[test]
fn a_definition_is_served_until_it_is_removed() {
    let mut registry = Registry::new();
    let before = registry.resources().count();
    registry.add_crd(&crd(&[("v1alpha1", true), ("v1", true), ("v0", false)])).unwrap();
    let group = registry.group("example.com").unwrap();
    let versions: Vec<_> = group.versions.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(versions, ["v1", "v1alpha1"]);
    registry.add_crd(&crd(&[("v2", true)])).unwrap();
    assert!(registry.resource("example.com", "v1", "widgets").is_none());
    assert_eq!(registry.resource("example.com", "v2", "widgets").unwrap().list_kind, "WidgetList");
    registry.remove_crd(&crd(&[]));
    assert!(registry.group("example.com").is_none());
    assert_eq!(registry.resources().count(), before);
}

#[test]
fn added_groups_come_last_and_by_name() {
    let mut registry = Registry::new();
    let built_in = registry.groups().len();
    for group in ["m.example", "z.example", "a.example"] {
        let mut crd = crd(&[("v1", true)]);
        crd["spec"]["group"] = group.into();
        crd["metadata"]["name"] = format!("widgets.{group}").into();
        registry.add_crd(&crd).unwrap();
    }
    let names: Vec<_> = registry.groups()[built_in..].iter().map(|group| group.name.as_str()).collect();
    assert_eq!(names, ["a.example", "m.example", "z.example"]);
    assert_eq!(registry.groups()[0].name, "");
}

#[test]
fn a_definition_describes_its_resource() {
    let found = from_crd(&Widgets::definition()).unwrap();
    let [Resource { scope, scale, columns, selectable_fields, .. }] = &found[..] else { panic!("{found:?}") };
    assert_eq!(*scope, Scope::Namespaced);
    assert_eq!(scale.as_ref().unwrap().selector.as_deref(), Some(".status.selector"));
    assert_eq!(columns.len(), 4);
    assert_eq!(*selectable_fields, ["status.phase"]);
    assert!(found[0].has_status && found[0].is_custom() && found[0].has_generation);
}

#[test]
fn definitions_that_break_rules_are_refused() {
    let table: [(&str, Value, &str); 6] = [
        ("/spec/group", json!(""), "spec.group: Required value"),
        ("/spec/names/kind", Value::Null, "spec.names.kind: Required value"),
        (
            "/metadata/name",
            json!("gadgets.example.com"),
            "metadata.name: Invalid value: \"gadgets.example.com\": must be spec.names.plural+\".\"+spec.group",
        ),
        (
            "/spec/scope",
            json!("World"),
            "spec.scope: Unsupported value: \"World\": supported values: \"Cluster\", \"Namespaced\"",
        ),
        ("/spec/versions/0/name", json!(""), "spec.versions[0].name: Required value"),
        (
            "/spec/versions",
            json!([]),
            "spec.versions: Invalid value: []: must have exactly one version marked as storage version",
        ),
    ];
    for (pointer, value, message) in table {
        let mut crd = crd(&[("v1", true)]);
        *crd.pointer_mut(pointer).unwrap() = value;
        let error = from_crd(&crd).unwrap_err();
        assert_eq!(error.fields[0].to_string(), message);
    }
}

#[test]
fn a_built_in_resource_cannot_be_defined_again() {
    let mut crd = crd(&[("v1", true)]);
    crd["spec"]["group"] = "apps".into();
    crd["spec"]["names"]["plural"] = "deployments".into();
    crd["metadata"]["name"] = "deployments.apps".into();
    let error = Registry::new().add_crd(&crd).unwrap_err();
    assert_eq!(
        error.fields[0].to_string(),
        "spec.names.plural: Invalid value: \"deployments\": is already in use"
    );
}

#[test]
fn an_accepted_definition_has_conditions() {
    let mut crd = crd(&[("v1", true)]);
    establish(&mut crd, None, "2026-01-01T00:00:00Z");
    assert_eq!(crd["spec"]["names"]["singular"], "widget");
    assert_eq!(crd["status"]["storedVersions"], json!(["v1"]));
    assert_eq!(crd["status"]["acceptedNames"]["listKind"], "WidgetList");
    let established = &crd["status"]["conditions"][1];
    assert_eq!((&established["type"], &established["status"]), (&json!("Established"), &json!("True")));
}

#[test]
fn the_core_group_has_documents_of_its_own() {
    let registry = Registry::new();
    assert_eq!(discovery::api_versions("127.0.0.1:1")["versions"], json!(["v1"]));
    assert!(discovery::api_group(&registry, "").is_none());
    let list = discovery::api_resource_list(&registry, "", "v1").unwrap();
    assert_eq!(list["groupVersion"], "v1");
    let pods = json!({
        "name": "pods", "singularName": "pod", "namespaced": true, "kind": "Pod", "shortNames": ["po"], "categories": ["all"],
        "verbs": ["create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"],
    });
    let found = list["resources"].as_array().unwrap();
    assert!(found.contains(&pods));
    let names: Vec<_> = found.iter().filter_map(|one| one["name"].as_str()).collect();
    assert!(
        names.is_sorted()
            && names.contains(&"pods/status")
            && names.contains(&"replicationcontrollers/scale")
    );
}

#[test]
fn groups_list_their_versions() {
    let registry = Registry::new();
    let group = discovery::api_group(&registry, "autoscaling").unwrap();
    assert_eq!(group["preferredVersion"], json!({"groupVersion": "autoscaling/v2", "version": "v2"}));
    assert_eq!(group["versions"].as_array().unwrap().len(), 2);
    let list = discovery::api_group_list(&registry);
    let names: Vec<_> =
        list["groups"].as_array().unwrap().iter().map(|group| group["name"].as_str().unwrap()).collect();
    assert_eq!(names[..3], ["apps", "events.k8s.io", "authentication.k8s.io"]);
    assert!(discovery::api_group(&registry, "none").is_none());
    assert!(discovery::api_resource_list(&registry, "apps", "v9").is_none());
}

#[test]
fn aggregated_discovery_equals_the_separate_documents() {
    let mut registry = Registry::new();
    registry.add_crd(&Widgets::definition()).unwrap();
    let mut told = 0;
    for root in [Root::Core, Root::Groups] {
        let document = discovery::aggregated(&registry, root);
        assert_eq!(
            (&document["kind"], &document["apiVersion"]),
            (&json!("APIGroupDiscoveryList"), &json!("apidiscovery.k8s.io/v2"))
        );
        for group in document["items"].as_array().unwrap() {
            let name = group["metadata"]["name"].as_str().unwrap_or_default();
            for version in group["versions"].as_array().unwrap() {
                let list =
                    discovery::api_resource_list(&registry, name, version["version"].as_str().unwrap())
                        .unwrap();
                let resources = version["resources"].as_array().unwrap();
                let subresources: usize =
                    resources.iter().map(|one| one["subresources"].as_array().map_or(0, Vec::len)).sum();
                assert_eq!(list["resources"].as_array().unwrap().len(), resources.len() + subresources);
                told += resources.len();
            }
        }
    }
    assert_eq!(told, registry.resources().count());
}

#[test]
fn the_version_is_one_that_clients_can_read() {
    let version = discovery::version();
    assert_eq!((&version["major"], &version["minor"]), (&json!("1"), &json!("36")));
    assert!(version["gitVersion"].as_str().unwrap().starts_with("v1.36."));
}

proptest! {
    #[test]
    fn no_definition_makes_it_panic(crd in testing::value(), base in Just(crd(&[("v1", true)])), pointer in 0..4_usize) {
        let _ = from_crd(&crd);
        let mut base = base;
        let pointers = ["/spec/names", "/spec/versions", "/spec/versions/0", "/spec"];
        *base.pointer_mut(pointers[pointer]).unwrap() = crd;
        let mut registry = Registry::new();
        if registry.add_crd(&base).is_ok() {
            establish(&mut base, None, "now");
            discovery::aggregated(&registry, Root::Groups);
            registry.remove_crd(&base);
        }
        prop_assert_eq!(registry.resources().count(), Registry::new().resources().count());
    }
}
