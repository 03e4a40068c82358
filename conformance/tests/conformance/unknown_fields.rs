//! Unknown and duplicate fields in requests, by the parameter `fieldValidation`.

use crate::maps::Maps;
use crate::schemas::Custom;
use http::Request;
use http_body_util::BodyExt;
use k8s_openapi::api::core::v1::ConfigMap;
use kube::{Client, client::Body};
use kube_conformance::{Server, claims};
use serde_json::{Value, json};

claims! {
    shared: [
        unknown_and_duplicate_fields_cause_warnings_by_default,
        strict_requests_with_unknown_fields_are_refused,
        patches_are_checked_after_they_are_merged,
        the_fields_of_custom_resources_are_checked,
    ],
    alone: [],
}

/// The answer to a request: its code, its body, and its warnings in alphabetical order.
struct Reply {
    code: u16,
    body: Value,
    warnings: Vec<String>,
}

async fn send(client: &Client, request: http::request::Builder, body: &str) -> Reply {
    let response = client.send(request.body(Body::from(body.as_bytes().to_vec())).unwrap()).await.unwrap();
    let code = response.status().as_u16();
    let values = response.headers().get_all("warning").iter();
    let mut warnings: Vec<_> = values.map(|value| value.to_str().unwrap().to_owned()).collect();
    warnings.sort();
    let bytes = response.into_body().collect().await.unwrap().to_bytes();
    Reply { code, body: serde_json::from_slice(&bytes).unwrap_or_default(), warnings }
}

fn warning(text: &str) -> String {
    format!("299 - {text:?}")
}

/// The parts of a message behind `strict decoding error: `, in alphabetical order.
fn strict(reply: &Reply) -> Vec<String> {
    let message = reply.body["message"].as_str().unwrap_or_else(|| panic!("{}", reply.body));
    let (_, parts) = message.rsplit_once("strict decoding error: ").unwrap_or_else(|| panic!("{message}"));
    let mut parts: Vec<_> = parts.split(", ").map(str::to_owned).collect();
    parts.sort();
    parts
}

const TWICE: &str = r#"{"metadata":{"name":"a","foo":1},"data":{"a":"1","a":"2"},"bar":2,"Data":{"x":"y"}}"#;

async fn unknown_and_duplicate_fields_cause_warnings_by_default(server: &Server) {
    let maps = Maps::<ConfigMap>::new(server).await;
    let folder = format!("/api/v1/namespaces/{}/configmaps", maps.namespace);
    let post = |query: &str| {
        Request::post(format!("{folder}?dryRun=All{query}")).header("content-type", "application/json")
    };
    let expected = [
        warning("duplicate field \"data.a\""),
        warning("unknown field \"Data\""),
        warning("unknown field \"bar\""),
        warning("unknown field \"metadata.foo\""),
    ];
    for query in ["", "&fieldValidation=Warn"] {
        let made = send(&maps.client, post(query), TWICE).await;
        assert_eq!((made.code, &made.body["data"]), (201, &json!({ "a": "2" })), "{}", made.body);
        assert_eq!(made.warnings, expected);
        assert_eq!(made.body.get("bar"), None);
    }
    let ignored = send(&maps.client, post("&fieldValidation=Ignore"), TWICE).await;
    assert_eq!((ignored.code, ignored.warnings), (201, Vec::new()));
    let other = send(&maps.client, post("&fieldValidation=Other"), TWICE).await;
    assert_eq!(
        (other.code, other.body["details"]["causes"][0]["field"].as_str()),
        (422, Some("fieldValidation"))
    );
    // Warnings come with refusals too.
    let invalid = TWICE.replace("\"a\",\"foo\"", "\"A\",\"foo\"");
    let invalid = send(&maps.client, post(""), &invalid).await;
    assert_eq!((invalid.code, invalid.warnings.len()), (422, 4), "{}", invalid.body);
}

async fn strict_requests_with_unknown_fields_are_refused(server: &Server) {
    let maps = Maps::<ConfigMap>::new(server).await;
    let folder = format!("/api/v1/namespaces/{}", maps.namespace);
    let request = Request::post(format!("{folder}/configmaps?fieldValidation=Strict"))
        .header("content-type", "application/json");
    let refused = send(&maps.client, request, TWICE).await;
    assert_eq!(
        (refused.code, refused.body["reason"].as_str()),
        (400, Some("BadRequest")),
        "{}",
        refused.body
    );
    let start = "ConfigMap in version \"v1\" cannot be handled as a ConfigMap: strict decoding error: ";
    assert!(refused.body["message"].as_str().unwrap().starts_with(start), "{}", refused.body);
    let expected = [
        "duplicate field \"data.a\"",
        "unknown field \"Data\"",
        "unknown field \"bar\"",
        "unknown field \"metadata.foo\"",
    ];
    assert_eq!(strict(&refused), expected);
    let pod = json!({ "apiVersion": "v1", "kind": "Pod", "metadata": { "name": "p" }, "spec": { "zzz": {}, "containers": [
        { "name": "a", "image": "b", "foo": 1, "ports": [{ "containerPort": 1, "x": 1 }] }] } });
    let request = Request::post(format!("{folder}/pods?fieldValidation=Strict"))
        .header("content-type", "application/json");
    let refused = send(&maps.client, request, &pod.to_string()).await;
    let expected = [
        "unknown field \"spec.containers[0].foo\"",
        "unknown field \"spec.containers[0].ports[0].x\"",
        "unknown field \"spec.zzz\"",
    ];
    assert_eq!((refused.code, strict(&refused)), (400, expected.map(str::to_owned).to_vec()));
}

async fn patches_are_checked_after_they_are_merged(server: &Server) {
    let maps = Maps::<ConfigMap>::new(server).await;
    maps.create("a").await;
    let path = format!("/api/v1/namespaces/{}/configmaps/a", maps.namespace);
    let table = [
        (
            "application/merge-patch+json",
            r#"{"bar":1,"data":{"b":"2","b":"3"}}"#,
            vec!["duplicate field \"data.b\"", "unknown field \"bar\""],
        ),
        (
            "application/json-patch+json",
            r#"[{"op":"add","path":"/bar","value":1}]"#,
            vec!["unknown field \"bar\""],
        ),
        ("application/strategic-merge-patch+json", r#"{"bar":1}"#, vec!["unknown field \"bar\""]),
    ];
    for (media, patch, expected) in table {
        let request =
            |query: &str| Request::patch(format!("{path}?dryRun=All{query}")).header("content-type", media);
        let refused = send(&maps.client, request("&fieldValidation=Strict"), patch).await;
        assert_eq!(
            (refused.code, refused.body["reason"].as_str()),
            (422, Some("Invalid")),
            "{media}: {}",
            refused.body
        );
        assert_eq!(strict(&refused), expected, "{media}");
        let warned = send(&maps.client, request(""), patch).await;
        let expected: Vec<_> = expected.into_iter().map(warning).collect();
        assert_eq!((warned.code, warned.warnings), (200, expected), "{media}: {}", warned.body);
    }
}

async fn the_fields_of_custom_resources_are_checked(server: &Server) {
    let spec = json!({ "type": "object", "properties": { "a": { "type": "string" }, "u": { "type": "object" },
        "l": { "type": "array", "items": { "type": "object", "properties": { "k": { "type": "string" } } } } } });
    let gadgets = Custom::define(server, spec, json!({ "type": "object" })).await;
    let fields = json!({ "extra": 1, "metadata": { "foo": 1 }, "spec": { "a": "a", "q": 1, "u": { "x": 1 }, "l": [{ "k": "", "w": 1 }] } });
    let body = gadgets.object("a", fields).to_string();
    let expected = [
        "unknown field \"extra\"",
        "unknown field \"metadata.foo\"",
        "unknown field \"spec.l[0].w\"",
        "unknown field \"spec.q\"",
        "unknown field \"spec.u.x\"",
    ];
    let request = Request::post(format!("{}?fieldValidation=Strict", gadgets.folder("v1")))
        .header("content-type", "application/json");
    let refused = send(&gadgets.client, request, &body).await;
    assert_eq!(
        (refused.code, strict(&refused)),
        (400, expected.map(str::to_owned).to_vec()),
        "{}",
        refused.body
    );
    let request = Request::post(gadgets.folder("v1")).header("content-type", "application/json");
    let made = send(&gadgets.client, request, &body).await;
    assert_eq!((made.code, made.warnings), (201, expected.map(warning).to_vec()), "{}", made.body);
    let request = Request::patch(format!("{}/a", gadgets.folder("v1")))
        .header("content-type", "application/merge-patch+json");
    let patched = send(&gadgets.client, request, r#"{"spec":{"q":1}}"#).await;
    assert_eq!((patched.code, patched.warnings), (200, vec![warning("unknown field \"spec.q\"")]));
}
