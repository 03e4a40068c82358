//! Custom resources in two versions, with a conversion webhook.

use crate::https::Webhook;
use crate::maps::ask;
use http::Request;
use kube_conformance::{Server, claims, eventually, in_time};
use serde_json::{Value, json};

claims! {
    shared: [
        objects_are_converted_to_the_version_of_the_request,
        invalid_conversions_are_refused,
    ],
    alone: [],
}

const CRDS: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";

/// A definition with `spec.hostPort` in v1, and with `spec.host` and `spec.port` in v2, which is stored.
fn definition(group: &str, conversion: &Value) -> Value {
    let version = |name: &str, fields: Value, is_stored: bool| {
        let spec = json!({ "type": "object", "properties": fields });
        let schema = json!({ "type": "object", "properties": { "spec": spec } });
        json!({ "name": name, "served": true, "storage": is_stored, "schema": { "openAPIV3Schema": schema } })
    };
    let text = json!({ "type": "string" });
    json!({ "metadata": { "name": format!("tabs.{group}") }, "spec": {
        "group": group, "scope": "Namespaced", "names": { "plural": "tabs", "kind": "Tab" },
        "versions": [
            version("v1", json!({ "hostPort": text }), false),
            version("v2", json!({ "host": text, "port": text }), true),
        ],
        "conversion": conversion,
    } })
}

/// Converts the objects of a review; one without a host is an error.
fn convert(review: &Value) -> Value {
    let request = &review["request"];
    let target = request["desiredAPIVersion"].as_str().unwrap();
    let text = |object: &Value, field: &str| object["spec"][field].as_str().unwrap_or_default().to_owned();
    let mut result = json!({ "status": "Success" });
    let mut converted = Vec::new();
    for object in request["objects"].as_array().unwrap() {
        let mut object = object.clone();
        object["apiVersion"] = target.into();
        object["spec"] = if target.ends_with("/v1") {
            json!({ "hostPort": format!("{}:{}", text(&object, "host"), text(&object, "port")) })
        } else {
            let both = text(&object, "hostPort");
            let (host, port) = both.split_once(':').unwrap_or(("", ""));
            if host.is_empty() {
                result = json!({ "status": "Failure", "message": "hostPort has no host" });
            }
            json!({ "host": host, "port": port })
        };
        converted.push(object);
    }
    let response = json!({ "uid": request["uid"], "result": result, "convertedObjects": converted });
    json!({ "kind": "ConversionReview", "apiVersion": "apiextensions.k8s.io/v1", "response": response })
}

async fn objects_are_converted_to_the_version_of_the_request(server: &Server) {
    let (client, namespace) = (server.client(), server.namespace().await);
    let webhook = Webhook::start(|review| convert(&review)).await;
    let group = format!("{namespace}.example.com");
    let conversion = json!({ "strategy": "Webhook", "webhook": {
        "conversionReviewVersions": ["v1"], "clientConfig": webhook.client_config,
    } });
    let made = ask(&client, Request::post(CRDS), definition(&group, &conversion)).await;
    assert_eq!(made["spec"]["conversion"]["strategy"], "Webhook", "{made}");
    let path =
        |version: &str, rest: &str| format!("/apis/{group}/{version}/namespaces/{namespace}/tabs{rest}");
    let tab = |name: &str, version: &str, spec: Value| json!({ "apiVersion": format!("{group}/{version}"), "kind": "Tab", "metadata": { "name": name }, "spec": spec });
    eventually("both versions are served", async || {
        for version in ["v1", "v2"] {
            let list = ask(&client, Request::get(path(version, "")), Value::Null).await;
            if list["kind"] != "TabList" {
                return Err(list.to_string());
            }
        }
        Ok(())
    })
    .await;

    let made =
        ask(&client, Request::post(path("v1", "")), tab("a", "v1", json!({ "hostPort": "h:1" }))).await;
    assert_eq!(made["spec"], json!({ "hostPort": "h:1" }), "{made}");
    let read = ask(&client, Request::get(path("v2", "/a")), Value::Null).await;
    assert_eq!(read["spec"], json!({ "host": "h", "port": "1" }), "{read}");
    assert_eq!(read["metadata"]["uid"], made["metadata"]["uid"]);
    let merge = Request::patch(path("v1", "/a")).header("content-type", "application/merge-patch+json");
    let patched = ask(&client, merge, json!({ "spec": { "hostPort": "h:2" } })).await;
    assert_eq!(
        (&patched["spec"]["hostPort"], &patched["metadata"]["generation"]),
        (&json!("h:2"), &json!(2)),
        "{patched}"
    );
    ask(&client, Request::post(path("v2", "")), tab("b", "v2", json!({ "host": "i", "port": "3" }))).await;
    eventually("the list has both objects", async || {
        let list = ask(&client, Request::get(path("v1", "")), Value::Null).await;
        let specs: Vec<_> =
            list["items"].as_array().unwrap().iter().map(|item| item["spec"].clone()).collect();
        let expected = [json!({ "hostPort": "h:2" }), json!({ "hostPort": "i:3" })];
        if specs == expected { Ok(()) } else { Err(list.to_string()) }
    })
    .await;

    // A watch from the version of the first object has the later events, converted.
    let version = made["metadata"]["resourceVersion"].as_str().unwrap();
    let watch = Request::get(path("v1", &format!("?watch=1&timeoutSeconds=2&resourceVersion={version}")));
    let events = in_time("a watch", client.request_text(watch.body(Vec::new()).unwrap())).await.unwrap();
    let events = events.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let seen = events.map(|event| (event["type"].clone(), event["object"]["spec"].clone()));
    let expected =
        [(json!("MODIFIED"), json!({ "hostPort": "h:2" })), (json!("ADDED"), json!({ "hostPort": "i:3" }))];
    assert_eq!(seen.collect::<Vec<_>>(), expected);

    let failed =
        ask(&client, Request::post(path("v1", "")), tab("c", "v1", json!({ "hostPort": "none" }))).await;
    let message = format!("conversion webhook for {group}/v1, Kind=Tab failed: hostPort has no host");
    assert_eq!((&failed["code"], &failed["message"]), (&json!(500), &json!(message)), "{failed}");
    ask(&client, Request::delete(format!("{CRDS}/tabs.{group}")), Value::Null).await;
    webhook.stop();
}

async fn invalid_conversions_are_refused(server: &Server) {
    let client = json!({ "url": "https://127.0.0.1:1/convert" });
    for (conversion, expected) in [
        (
            json!({ "strategy": "Webhook", "webhook": { "conversionReviewVersions": ["v1"], "clientConfig": {} } }),
            "spec.conversion.webhookClientConfig",
        ),
        (
            json!({ "strategy": "Webhook", "webhook": { "conversionReviewVersions": ["v9"], "clientConfig": client } }),
            "spec.conversion.conversionReviewVersions",
        ),
        (json!({ "strategy": "Magic" }), "spec.conversion.strategy"),
    ] {
        let refused =
            ask(&server.client(), Request::post(CRDS), definition("invalid.example.com", &conversion)).await;
        assert_eq!((&refused["code"], &refused["reason"]), (&json!(422), &json!("Invalid")), "{refused}");
        assert_eq!(refused["details"]["causes"][0]["field"], expected, "{refused}");
    }
}
