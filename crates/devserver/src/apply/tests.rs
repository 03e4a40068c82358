//! Applies of several managers, with their conflicts and managed fields.

use super::{element::Element, managers::Managers, *};
use serde_json::{Value, json};

const NOW: &str = "2026-01-01T00:00:00Z";

fn empty(kind: &str) -> Value {
    let spec = if kind == "ConfigMap" { json!({}) } else { json!({"spec": {}}) };
    let mut empty = spec;
    empty["metadata"] = json!({});
    empty
}

/// Writes objects of one kind for several managers.
struct Cluster {
    api_version: &'static str,
    kind: &'static str,
    empty: Value,
    schema: Option<Schema>,
}

impl Cluster {
    fn new(api_version: &'static str, kind: &'static str) -> Self {
        Self { api_version, kind, empty: empty(kind), schema: None }
    }

    fn custom(openapi: &Value) -> Self {
        let version = Version { api_version: "example.com/v1".to_owned(), openapi: Some(openapi) };
        let schema = Some(from_openapi("Widget", [version]));
        Self { api_version: "example.com/v1", kind: "Widget", empty: json!({"metadata": {}}), schema }
    }

    fn tracker<'a>(&'a self, manager: &'a str) -> Tracker<'a> {
        let writer = Writer { manager, subresource: "", now: NOW };
        let (api_version, kind, empty) = (self.api_version, self.kind, &self.empty);
        let schema = self.schema.as_ref().unwrap_or(built_in());
        Tracker { schema, api_version, kind, ignored: FieldSet::of(&[&["status"]]), empty, writer }
    }

    fn object(&self, mut fields: Value) -> Value {
        fields["apiVersion"] = self.api_version.into();
        fields["kind"] = self.kind.into();
        fields["metadata"]["name"] = "a".into();
        fields
    }

    fn create(&self, manager: &str, fields: Value) -> Value {
        let mut object = self.object(fields);
        self.tracker(manager).update(&self.empty, &mut object);
        object["metadata"]["uid"] = "u".into();
        object
    }

    fn update(&self, manager: &str, live: &Value, fields: Value) -> Value {
        let mut object = self.object(fields);
        object["metadata"]["uid"] = "u".into();
        self.tracker(manager).update(live, &mut object);
        object
    }

    fn apply(&self, manager: &str, live: &Value, fields: Value) -> Result<Value, ApplyError> {
        self.tracker(manager).apply(live, &self.object(fields), Force::No)
    }
}

fn owned(object: &Value, manager: &str) -> Value {
    let entries = object["metadata"]["managedFields"].as_array().unwrap();
    let entry = entries.iter().find(|entry| entry["manager"] == manager);
    entry.map_or(Value::Null, |entry| entry["fieldsV1"].clone())
}

#[test]
fn the_creator_owns_the_fields_that_it_sets() {
    let maps = Cluster::new("v1", "ConfigMap");
    let map = maps.create("one", json!({"metadata": {"labels": {"a": "b"}}, "data": {"x": "1"}}));
    let expected = json!({"f:metadata": {"f:labels": {".": {}, "f:a": {}}}, "f:data": {".": {}, "f:x": {}}});
    assert_eq!(owned(&map, "one"), expected);
    let entry = &map["metadata"]["managedFields"][0];
    assert_eq!(entry["operation"], "Update");
    assert_eq!((&entry["time"], &entry["fieldsType"]), (&json!(NOW), &json!("FieldsV1")));
}

#[test]
fn an_update_owns_the_fields_that_it_changes() {
    let maps = Cluster::new("v1", "ConfigMap");
    let map = maps.create("one", json!({"data": {"x": "1", "y": "1", "z": "1"}}));
    let map = maps.update("two", &map, json!({"data": {"x": "2", "y": "1"}}));
    assert_eq!(owned(&map, "one"), json!({"f:data": {".": {}, "f:y": {}}}));
    assert_eq!(owned(&map, "two"), json!({"f:data": {"f:x": {}}}));
}

#[test]
fn fields_of_others_are_conflicts_unless_equal_or_forced() {
    let maps = Cluster::new("v1", "ConfigMap");
    let map = maps.apply("one", &maps.empty, json!({"data": {"x": "1", "y": "1"}})).unwrap();
    let error = maps.apply("two", &map, json!({"data": {"x": "2", "y": "1"}})).unwrap_err();
    let expected = "Apply failed with 1 conflict: conflict with \"one\": .data.x";
    assert_eq!(error.to_string(), expected);
    let both = maps.apply("two", &map, json!({"data": {"y": "1"}})).unwrap();
    assert_eq!(owned(&both, "one"), json!({"f:data": {"f:x": {}, "f:y": {}}}));
    assert_eq!(owned(&both, "two"), json!({"f:data": {"f:y": {}}}));
    let config = maps.object(json!({"data": {"x": "2"}}));
    let forced = maps.tracker("two").apply(&map, &config, Force::Yes).unwrap();
    assert_eq!(forced["data"], json!({"x": "2", "y": "1"}));
    assert_eq!(owned(&forced, "one"), json!({"f:data": {"f:y": {}}}));
}

#[test]
fn fields_no_longer_applied_are_removed_unless_another_manager_owns_them() {
    let maps = Cluster::new("v1", "ConfigMap");
    let map = maps.apply("one", &maps.empty, json!({"data": {"x": "1", "y": "1"}})).unwrap();
    let map = maps.apply("two", &map, json!({"data": {"y": "1"}})).unwrap();
    let map = maps.apply("one", &map, json!({})).unwrap();
    assert_eq!(map["data"], json!({"y": "1"}));
    assert_eq!(owned(&map, "one"), Value::Null);
}

#[test]
fn list_items_with_keys_have_owners_of_their_own() {
    let pods = Cluster::new("v1", "Pod");
    let pod =
        json!({"spec": {"containers": [{"name": "a", "image": "1", "ports": [{"containerPort": 80}]}]}});
    let pod = pods.apply("one", &pods.empty, pod).unwrap();
    let pod =
        pods.apply("two", &pod, json!({"spec": {"containers": [{"name": "b", "image": "2"}]}})).unwrap();
    let names: Vec<_> =
        pod["spec"]["containers"].as_array().unwrap().iter().map(|one| &one["name"]).collect();
    assert_eq!(names, ["a", "b"]);
    let ports = r#"k:{"containerPort":80,"protocol":"TCP"}"#;
    let a = r#"k:{"name":"a"}"#;
    assert!(owned(&pod, "one")["f:spec"]["f:containers"][a]["f:ports"][ports].is_object(), "{pod}");
    let pod = pods.apply("one", &pod, json!({"spec": {"containers": []}})).unwrap();
    assert_eq!(pod["spec"]["containers"], json!([{"name": "b", "image": "2"}]));
}

#[test]
fn sets_and_atomic_lists_follow_the_schema_of_the_definition() {
    let list =
        |kind: &str| json!({"type": "array", "x-kubernetes-list-type": kind, "items": {"type": "string"}});
    let spec = json!({"type": "object", "properties": {"set": list("set"), "atomic": list("atomic")}});
    let widgets = Cluster::custom(&json!({"type": "object", "properties": {"spec": spec}}));
    let widget = json!({"spec": {"set": ["a"], "atomic": ["a"]}});
    let widget = widgets.apply("one", &widgets.empty, widget).unwrap();
    let expected = json!({"f:spec": {"f:atomic": {}, "f:set": {"v:\"a\"": {}}}});
    assert_eq!(owned(&widget, "one"), expected);
    let widget = widgets.apply("two", &widget, json!({"spec": {"set": ["b"]}})).unwrap();
    assert_eq!(widget["spec"]["set"], json!(["a", "b"]));
    let error = widgets.apply("two", &widget, json!({"spec": {"atomic": ["b"]}})).unwrap_err();
    assert!(error.to_string().ends_with("conflict with \"one\": .spec.atomic"), "{error}");
    let unknown = widgets.apply("two", &widget, json!({"spec": {"other": 1}})).unwrap_err();
    assert!(unknown.to_string().ends_with(".spec.other: field not declared in schema"), "{unknown}");
}

#[test]
fn fields_of_an_object_without_managers_are_owned_by_before_first_apply() {
    let maps = Cluster::new("v1", "ConfigMap");
    let map = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a", "uid": "u"}, "data": {"x": "1"}});
    let error = maps.apply("one", &map, json!({"data": {"x": "2"}})).unwrap_err();
    let expected = "Apply failed with 1 conflict: conflict with \"before-first-apply\" using v1: .data.x";
    assert_eq!(error.to_string(), expected);
    let map = maps.apply("one", &map, json!({"data": {"x": "1"}})).unwrap();
    assert_eq!(owned(&map, "before-first-apply"), json!({"f:data": {".": {}, "f:x": {}}}));
}

#[test]
fn an_update_does_not_start_to_track_an_object() {
    let maps = Cluster::new("v1", "ConfigMap");
    let map = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a", "uid": "u"}});
    let map = maps.update("one", &map, json!({"data": {"x": "1"}}));
    assert_eq!(map["metadata"].get("managedFields"), None);
}

#[test]
fn an_empty_list_of_managed_fields_forgets_them() {
    let maps = Cluster::new("v1", "ConfigMap");
    let map = maps.create("one", json!({"data": {"x": "1"}}));
    for reset in [json!([]), json!([{}])] {
        let next =
            maps.update("two", &map, json!({"metadata": {"managedFields": reset}, "data": {"x": "1"}}));
        assert_eq!(next["metadata"].get("managedFields"), None);
    }
    let kept = maps.update("two", &map, json!({"data": {"x": "1"}}));
    assert_eq!(kept["metadata"]["managedFields"], map["metadata"]["managedFields"]);
}

#[test]
fn the_oldest_of_too_many_managers_are_joined() {
    let maps = Cluster::new("v1", "ConfigMap");
    let mut map = maps.create("m00", json!({"data": {"k00": "1"}}));
    let mut data = json!({"k00": "1"});
    for index in 1..14 {
        data[format!("k{index:02}")] = "1".into();
        map = maps.update(&format!("m{index:02}"), &map, json!({"data": data}));
    }
    let managers = Managers::of(&map).unwrap();
    assert_eq!(managers.0.len(), 10);
    assert_eq!(owned(&map, "ancient-changes")["f:data"]["f:k00"], json!({}));
}

#[test]
fn kubectl_takes_over_fields_of_client_side_apply() {
    let maps = Cluster::new("v1", "ConfigMap");
    let applied = maps.object(json!({"data": {"x": "1"}})).to_string();
    let annotations = json!({"kubectl.kubernetes.io/last-applied-configuration": applied});
    let map = maps.create(
        "kubectl-client-side-apply",
        json!({"metadata": {"annotations": annotations}, "data": {"x": "1", "y": "1"}}),
    );
    let taken = maps.apply("kubectl", &map, json!({"data": {"x": "2"}})).unwrap();
    let recorded = &taken["metadata"]["annotations"]["kubectl.kubernetes.io/last-applied-configuration"];
    assert!(recorded.as_str().unwrap().contains(r#""x":"2""#), "{recorded}");
    assert!(maps.apply("kubectl", &map, json!({"data": {"y": "2"}})).is_err());
    assert!(maps.apply("another", &map, json!({"data": {"x": "2"}})).is_err());
}

#[test]
fn fields_survive_their_json_form() {
    let fields = json!({
        "f:spec": {".": {}, "f:list": {"k:{\"a\":1,\"b\":\"x\"}": {".": {}, "f:c": {}}, "v:\"y\"": {}, "i:3": {}}},
        "f:data": {},
    });
    let set = FieldSet::from_fields(&fields).unwrap();
    assert_eq!(set.to_fields(), fields);
    assert!(set.has(&[Element::field("spec"), Element::field("list"), Element::Index(3)]));
    assert!(FieldSet::from_fields(&json!({"x": {}})).is_err());
    assert_eq!(FieldSet::from_fields(&json!({"z:new": {}})).unwrap(), FieldSet::default());
}
