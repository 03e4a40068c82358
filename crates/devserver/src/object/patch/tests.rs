//! Tests of patches.

use super::{PatchError, json as json_patch, merge, strategic};
use crate::testing::{self, resource};
use proptest::prelude::*;
use serde_json::{Value, json};

/// Checks the result of a strategic merge patch of an object of the core group.
fn check(plural: &str, object: &Value, patch: &Value, expected: &Value) {
    assert_eq!(strategic(&resource("", plural), object, patch).as_ref(), Ok(expected), "{patch}");
}

fn pod(spec: &Value) -> Value {
    json!({"metadata": {"name": "p"}, "spec": spec})
}

fn check_spec(spec: &Value, patch: &Value, expected: &Value) {
    check("pods", &pod(spec), &json!({"spec": patch}), &pod(expected));
}

#[test]
fn fields_are_merged() {
    let object = json!({"metadata": {"labels": {"a": "1", "b": "2"}}, "spec": {"x": 1}});
    let patch =
        json!({"metadata": {"labels": {"b": null, "c": "3", "d": null}}, "spec": {"y": {"z": null, "q": 1}}});
    let expected = json!({"metadata": {"labels": {"a": "1", "c": "3"}}, "spec": {"x": 1, "y": {"q": 1}}});
    check("pods", &object, &patch, &expected);
}

#[test]
fn containers_are_merged_by_name() {
    let two = json!({"containers": [{"name": "a", "image": "a:1", "env": [{"name": "X", "value": "1"}]}, {"name": "b"}]});
    let table = [
        (
            json!([{"name": "a", "image": "a:2"}]),
            json!([{"name": "a", "image": "a:2", "env": [{"name": "X", "value": "1"}]}, {"name": "b"}]),
        ),
        (json!([{"name": "c"}]), json!([{"name": "c"}, two["containers"][0], {"name": "b"}])),
        (
            json!([{"name": "b", "image": "b:2"}, {"name": "c"}]),
            json!([two["containers"][0], {"name": "b", "image": "b:2"}, {"name": "c"}]),
        ),
        (json!([{"name": "a", "$patch": "delete"}]), json!([{"name": "b"}])),
        (json!([{"name": "z", "$patch": "delete"}]), two["containers"].clone()),
        (json!([{"$patch": "replace"}, {"name": "n"}]), json!([{"name": "n"}])),
        (
            json!([{"name": "b", "$patch": "merge", "tty": true}]),
            json!([two["containers"][0], {"name": "b", "tty": true}]),
        ),
        (
            json!([{"name": "a", "env": [{"name": "Y", "value": "2"}, {"name": "X", "$patch": "delete"}]}]),
            json!([{"name": "a", "image": "a:1", "env": [{"name": "Y", "value": "2"}]}, {"name": "b"}]),
        ),
        (json!([{"name": "a", "$patch": "replace", "tty": true}]), json!([])),
    ];
    for (patch, expected) in table {
        check_spec(&two, &json!({"containers": patch}), &json!({"containers": expected}));
    }
}

#[test]
fn each_list_has_the_key_of_its_type() {
    let table = [
        ("volumes", "name", json!({"name": "v", "emptyDir": {}})),
        ("hostAliases", "ip", json!({"ip": "1.1.1.1", "hostnames": ["a"]})),
        ("imagePullSecrets", "name", json!({"name": "s"})),
        ("topologySpreadConstraints", "topologyKey", json!({"topologyKey": "zone", "maxSkew": 1})),
        ("ephemeralContainers", "name", json!({"name": "e"})),
    ];
    for (list, key, item) in table {
        let mut changed = item.clone();
        changed["more"] = json!(1);
        check_spec(
            &json!({list: [item]}),
            &json!({list: [{key: item[key], "more": 1}]}),
            &json!({list: [changed]}),
        );
    }
    let ports = |key: &str, more: Value| json!({"ports": [{key: 80, "name": "http", "protocol": more}]});
    let container = |ports: &Value| json!({"containers": [{"name": "a", "ports": ports["ports"]}]});
    let patch = json!({"containers": [{"name": "a", "ports": [{"containerPort": 80, "protocol": "UDP"}]}]});
    check_spec(
        &container(&ports("containerPort", json!("TCP"))),
        &patch,
        &container(&ports("containerPort", json!("UDP"))),
    );
    let patch = json!({"spec": {"ports": [{"port": 80, "protocol": "UDP"}]}});
    check("services", &pod(&ports("port", json!("TCP"))), &patch, &pod(&ports("port", json!("UDP"))));
}

#[test]
fn other_lists_are_replaced_completely() {
    let tolerations = json!({"tolerations": [{"key": "a"}, {"key": "b"}]});
    check_spec(
        &tolerations,
        &json!({"tolerations": [{"key": "c"}]}),
        &json!({"tolerations": [{"key": "c"}]}),
    );
    let args = json!({"containers": [{"name": "a", "args": ["x", "y"]}]});
    check_spec(
        &args,
        &json!({"containers": [{"name": "a", "args": ["z"]}]}),
        &json!({"containers": [{"name": "a", "args": ["z"]}]}),
    );
    // The type of `finalizers` in the spec of a namespace differs from that in its metadata.
    let object = json!({"spec": {"finalizers": ["a"]}});
    check(
        "namespaces",
        &object,
        &json!({"spec": {"finalizers": ["b"]}}),
        &json!({"spec": {"finalizers": ["b"]}}),
    );
    check(
        "nodes",
        &json!({"spec": {"taints": [{"key": "a"}]}}),
        &json!({"spec": {"taints": [{"key": "b"}]}}),
        &json!({"spec": {"taints": [{"key": "b"}]}}),
    );
}

#[test]
fn metadata_and_conditions_are_merged_in_every_kind() {
    let object = json!({
        "metadata": {"finalizers": ["a", "b"], "ownerReferences": [{"uid": "1", "name": "x"}]},
        "status": {"conditions": [{"type": "Ready", "status": "True"}, {"type": "Old"}]},
    });
    let patch = json!({
        "metadata": {"finalizers": ["c"], "ownerReferences": [{"uid": "1", "controller": true}]},
        "status": {"conditions": [{"type": "Ready", "status": "False"}]},
    });
    let expected = json!({
        "metadata": {"finalizers": ["c", "a", "b"], "ownerReferences": [{"uid": "1", "name": "x", "controller": true}]},
        "status": {"conditions": [{"type": "Ready", "status": "False"}, {"type": "Old"}]},
    });
    check("nodes", &object, &patch, &expected);
    let budget = resource("policy", "poddisruptionbudgets");
    let old = json!({"spec": {"selector": {"matchLabels": {"a": "1"}}}});
    let patch = json!({"spec": {"selector": {"matchLabels": {"b": "2"}}}});
    assert_eq!(strategic(&budget, &old, &patch), Ok(patch.clone()));
}

#[test]
fn directives_delete_order_and_retain() {
    let meta = |finalizers: Value| json!({"metadata": {"finalizers": finalizers}});
    let patch = json!({"metadata": {"$deleteFromPrimitiveList/finalizers": ["b", "z"]}});
    check("pods", &meta(json!(["a", "b"])), &patch, &meta(json!(["a"])));
    let patch = json!({"metadata": {"$setElementOrder/finalizers": ["c", "a"], "finalizers": ["c"]}});
    check("pods", &meta(json!(["a", "b"])), &patch, &meta(json!(["c", "a", "b"])));
    let spec = json!({"containers": [{"name": "a"}, {"name": "b"}, {"name": "c"}]});
    let patch = json!({"$setElementOrder/containers": [{"name": "c"}, {"name": "a"}], "containers": [{"name": "a", "tty": true}]});
    check_spec(
        &spec,
        &patch,
        &json!({"containers": [{"name": "b"}, {"name": "c"}, {"name": "a", "tty": true}]}),
    );
    let volumes = |volume: Value| json!({"volumes": [volume]});
    let patch =
        volumes(json!({"name": "v", "$retainKeys": ["name", "hostPath"], "hostPath": {"path": "/x"}}));
    check_spec(
        &volumes(json!({"name": "v", "emptyDir": {}})),
        &patch,
        &volumes(json!({"name": "v", "hostPath": {"path": "/x"}})),
    );
    check_spec(
        &json!({"a": {"b": 1, "c": 2}}),
        &json!({"a": {"$patch": "replace", "d": 3}}),
        &json!({"a": {"d": 3}}),
    );
    check_spec(&json!({"a": {"b": 1}}), &json!({"a": {"$patch": "delete"}}), &json!({"a": {}}));
}

#[test]
fn patches_that_do_not_fit_are_refused() {
    let object = pod(&json!({"containers": [{"name": "a"}]}));
    let table = [
        (json!([]), 400),
        (json!({"spec": {"$retainKeys": 1}}), 400),
        (json!({"spec": {"$retainKeys": ["a"], "b": 1}}), 400),
        (json!({"metadata": {"$deleteFromPrimitiveList/finalizers": "a"}}), 400),
        (json!({"spec": {"$setElementOrder/containers": {}}}), 400),
        (json!({"spec": {"$patch": "rename"}}), 422),
        (json!({"spec": {"containers": [{"image": "x"}]}}), 422),
        (json!({"spec": {"containers": ["x"]}}), 422),
        (json!({"spec": {"containers": [{"$patch": "delete"}]}}), 422),
    ];
    for (patch, code) in table {
        let error = strategic(&resource("", "pods"), &object, &patch).unwrap_err();
        assert_eq!(error.code(), code, "{patch}: {error}");
    }
    let widgets = testing::widgets();
    assert_eq!(strategic(&widgets, &object, &json!({})), Err(PatchError::Unsupported));
    assert_eq!(PatchError::Unsupported.code(), 415);
}

#[test]
fn operations_apply_in_order() {
    let object = json!({"a": {"b": [1, 2]}, "x/y": 1, "m~n": 2});
    let table = [
        (
            json!([{"op": "add", "path": "/a/b/1", "value": 9}]),
            json!({"a": {"b": [1, 9, 2]}, "x/y": 1, "m~n": 2}),
        ),
        (
            json!([{"op": "add", "path": "/a/b/-", "value": 9}]),
            json!({"a": {"b": [1, 2, 9]}, "x/y": 1, "m~n": 2}),
        ),
        (
            json!([{"op": "replace", "path": "/x~1y", "value": null}]),
            json!({"a": {"b": [1, 2]}, "x/y": null, "m~n": 2}),
        ),
        (
            json!([{"op": "remove", "path": "/m~0n"}, {"op": "remove", "path": "/a/b/0"}]),
            json!({"a": {"b": [2]}, "x/y": 1}),
        ),
        (
            json!([{"op": "move", "from": "/a/b", "path": "/c"}]),
            json!({"a": {}, "c": [1, 2], "x/y": 1, "m~n": 2}),
        ),
        (
            json!([{"op": "copy", "from": "/a/b/0", "path": "/a/b/0"}]),
            json!({"a": {"b": [1, 1, 2]}, "x/y": 1, "m~n": 2}),
        ),
        (
            json!([{"op": "test", "path": "/a/b", "value": [1, 2]}, {"op": "test", "path": "/none"}]),
            object.clone(),
        ),
        (json!([{"op": "replace", "path": "", "value": {}}]), json!({})),
        (
            json!([{"op": "replace", "path": "/a/none", "value": 1}]),
            json!({"a": {"b": [1, 2], "none": 1}, "x/y": 1, "m~n": 2}),
        ),
    ];
    for (patch, expected) in table {
        assert_eq!(json_patch(&object, &patch), Ok(expected), "{patch}");
    }
}

#[test]
fn operations_that_do_not_apply_are_refused() {
    let table = [
        (json!({}), 400),
        (json!([{"op": "test", "path": "/a", "value": 2}]), 422),
        (json!([{"op": "remove", "path": "/none"}]), 422),
        (json!([{"op": "remove", "path": ""}]), 422),
        (json!([{"op": "replace", "path": "/none/x", "value": 1}]), 422),
        (json!([{"op": "replace", "path": "/l/1", "value": 1}]), 422),
        (json!([{"op": "replace", "path": "/a/x", "value": 1}]), 422),
        (json!([{"op": "test", "path": "/none/x"}]), 422),
        (json!([{"op": "test", "path": "/l/1"}]), 422),
        (json!([{"op": "replace", "path": "", "value": 1}]), 422),
        (json!([{"op": "add", "path": "/l/3", "value": 1}]), 422),
        (json!([{"op": "add", "path": "/l/01", "value": 1}]), 422),
        (json!([{"op": "add", "path": "a", "value": 1}]), 422),
        (json!([{"op": "add", "path": "/b"}]), 422),
        (json!([{"op": "move", "from": "/o", "path": "/o/p"}]), 422),
        (json!([{"op": "spin", "path": "/a"}]), 422),
        (json!([7]), 422),
        (Value::Array(vec![json!({"op": "test", "path": "/a", "value": 1}); 10_001]), 413),
    ];
    for (patch, code) in table {
        let error = json_patch(&json!({"a": 1, "l": [1], "o": {}}), &patch).unwrap_err();
        assert_eq!(error.code(), code, "{error}");
    }
}

#[test]
fn a_short_patch_cannot_make_a_huge_object() {
    let double = json!({"op": "copy", "from": "/a", "path": "/a/-"});
    let error = json_patch(&json!({"a": ["x"]}), &Value::Array(vec![double; 100])).unwrap_err();
    assert_eq!(error.code(), 413);
    let deeper = json!({"op": "move", "from": "/a", "path": "/b"});
    let nest = json!({"op": "add", "path": "/a", "value": {}});
    let back = json!({"op": "move", "from": "/b", "path": "/a/c"});
    let patch: Vec<_> = std::iter::repeat_n([deeper, nest, back], 200).flatten().collect();
    let error = json_patch(&json!({"a": {}}), &Value::Array(patch)).unwrap_err();
    assert_eq!(error.code(), 413);
}

/// Applies a merge patch by the pseudocode of RFC 7386.
fn reference(target: &Value, patch: &Value) -> Value {
    let Value::Object(changes) = patch else { return patch.clone() };
    let mut result = target.as_object().cloned().unwrap_or_default();
    for (name, value) in changes {
        if value.is_null() {
            result.remove(name);
        } else {
            let merged = reference(result.get(name).unwrap_or(&Value::Null), value);
            result.insert(name.clone(), merged);
        }
    }
    Value::Object(result)
}

#[test]
fn merge_patches_match_the_examples_of_the_rfc() {
    let table = [
        (json!({"a": "b"}), json!({"a": "c"}), json!({"a": "c"})),
        (json!({"a": "b"}), json!({"a": null}), json!({})),
        (json!({"a": ["b"]}), json!({"a": "c"}), json!({"a": "c"})),
        (json!({"a": {"b": "c"}}), json!({"a": {"b": "d", "c": null}}), json!({"a": {"b": "d"}})),
        (json!({"a": [{"b": "c"}]}), json!({"a": [1]}), json!({"a": [1]})),
        (json!({"e": null}), json!({"a": 1}), json!({"e": null, "a": 1})),
        (json!({}), json!({"a": {"bb": {"ccc": null}}}), json!({"a": {"bb": {}}})),
    ];
    for (object, patch, expected) in table {
        assert_eq!(merge(&object, &patch), Ok(expected));
    }
    assert_eq!(merge(&json!({}), &json!([1])).unwrap_err().code(), 400);
}

proptest! {
    #[test]
    fn merge_patches_follow_the_rfc(object in testing::value(), patch in testing::object()) {
        prop_assert_eq!(merge(&object, &patch), Ok(reference(&object, &patch)));
    }

    #[test]
    fn a_strategic_patch_applied_twice_is_the_same_as_once(object in any_pod(false), patch in any_pod(true)) {
        let pods = resource("", "pods");
        let once = strategic(&pods, &object, &patch).unwrap();
        prop_assert_eq!(strategic(&pods, &once, &patch), Ok(once));
    }

    #[test]
    fn a_strategic_patch_of_named_items_leaves_each_once(
        before in prop::collection::btree_set("[a-f]", 0..6),
        patch in prop::collection::btree_set("[a-f]", 0..6),
        deleted in prop::collection::btree_set("[a-f]", 0..3),
    ) {
        let items = |names: &std::collections::BTreeSet<String>| names.iter().map(|name| json!({"name": name})).collect::<Vec<_>>();
        let mut change = items(&patch.difference(&deleted).cloned().collect());
        change.extend(deleted.iter().map(|name| json!({"name": name, "$patch": "delete"})));
        let object = pod(&json!({"containers": items(&before)}));
        let merged = strategic(&resource("", "pods"), &object, &json!({"spec": {"containers": change}})).unwrap();
        let mut names: Vec<_> = merged["spec"]["containers"].as_array().unwrap().iter().map(|one| one["name"].as_str().unwrap().to_owned()).collect();
        names.sort();
        let expected: Vec<_> = before.union(&patch).filter(|name| !deleted.contains(*name)).cloned().collect();
        prop_assert_eq!(names, expected);
    }

    #[test]
    fn no_patch_makes_it_panic(resource in testing::any_resource(), object in testing::value(), patch in testing::value()) {
        let _ = strategic(&resource, &object, &patch);
        let _ = merge(&object, &patch);
        let _ = json_patch(&object, &patch);
    }

    #[test]
    fn no_operation_makes_it_panic(
        object in testing::object(),
        operations in prop::collection::vec(("add|remove|replace|move|copy|test", pointer(), pointer(), testing::value()), 0..6),
    ) {
        let operation = |(op, path, from, value)| json!({"op": op, "path": path, "from": from, "value": value});
        let patch: Vec<Value> = operations.into_iter().map(operation).collect();
        let _ = json_patch(&object, &Value::Array(patch));
    }
}

/// Generates a pod, or a patch of a pod, which also contains deletions.
fn any_pod(is_patch: bool) -> impl Strategy<Value = Value> {
    let items = || {
        prop::collection::btree_map(
            "[a-f]",
            (0..4_u8, prop::collection::btree_map("[A-D]", 0..3_u8, 0..4)),
            0..5,
        )
    };
    let texts = || prop::collection::btree_set("[a-f]", 0..5);
    (items(), texts(), prop::collection::btree_map("[a-d]", 0..4_u8, 0..4)).prop_map(move |(containers, finalizers, labels)| {
        let with = |mut item: Value, number: u8| {
            if is_patch && number == 0 {
                item["$patch"] = "delete".into();
            }
            item
        };
        let variables = |env: &std::collections::BTreeMap<String, u8>| {
            env.iter().map(|(name, number)| with(json!({"name": name, "value": number}), *number)).collect::<Vec<_>>()
        };
        let container = |(name, (number, env)): (&String, &(u8, _))| with(json!({"name": name, "image": number, "env": variables(env)}), *number);
        let containers: Vec<_> = containers.iter().rev().map(container).collect();
        let label = |(name, number): (String, u8)| (name, if is_patch && number == 0 { Value::Null } else { number.into() });
        let labels: Value = labels.into_iter().map(label).collect();
        json!({"metadata": {"labels": labels, "finalizers": finalizers}, "spec": {"containers": containers}})
    })
}

fn pointer() -> impl Strategy<Value = String> {
    "(/(metadata|spec|name|labels|0|1|-|~0|~1)){0,4}|\\PC{0,4}"
}
