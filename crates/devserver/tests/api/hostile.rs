//! The server responds to any request with a valid response.

use crate::probe::{MAPS, Probe, named};
use http::{Method, Request};
use http_body_util::BodyExt;
use kube::client::Body;
use proptest::prelude::*;
use serde_json::json;
use std::time::Duration;

#[derive(Debug, Clone)]
struct Hostile {
    method: String,
    path: String,
    query: String,
    accept: String,
    content_type: String,
    body: Vec<u8>,
}

fn path() -> impl Strategy<Value = String> {
    let word = prop_oneof![
        4 => prop::sample::select(vec![
            "api", "apis", "v1", "namespaces", "default", "pods", "configmaps", "a", "status", "scale", "apps",
            "deployments", "nodes", "watch", "apiextensions.k8s.io", "customresourcedefinitions", "devserver",
            "healthz", "cars.example.com", "kube-system",
        ])
        .prop_map(str::to_owned),
        1 => "[a-zA-Z0-9%._~:-]{0,12}",
    ];
    let known = prop::sample::select(vec![
        MAPS.to_owned(),
        format!("{MAPS}/a"),
        format!("{MAPS}/b"),
        "/api/v1/pods".to_owned(),
        "/api/v1/namespaces/default".to_owned(),
        "/apis/apps/v1/namespaces/default/deployments/d/scale".to_owned(),
        "/apis/apiextensions.k8s.io/v1/customresourcedefinitions".to_owned(),
    ]);
    prop_oneof![known, prop::collection::vec(word, 0..7).prop_map(|words| format!("/{}", words.join("/")))]
}

fn query() -> impl Strategy<Value = String> {
    let name = prop::sample::select(vec![
        "watch",
        "resourceVersion",
        "resourceVersionMatch",
        "limit",
        "continue",
        "labelSelector",
        "fieldSelector",
        "sendInitialEvents",
        "allowWatchBookmarks",
        "shardSelector",
        "dryRun",
        "includeObject",
        "x",
    ]);
    let value = prop_oneof![
        prop::sample::select(vec![
            "",
            "0",
            "1",
            "true",
            "5",
            "99999999999999999999",
            "Exact",
            "NotOlderThan",
            "-1",
            "a%3Db",
            "!a",
            "metadata.name%3Da",
            "All",
            "None",
            "eyJ2IjoibWV0YS5rOHMuaW8vdjEiLCJydiI6LTEsInN0YXJ0IjoiYVx1MDAwMCJ9",
        ])
        .prop_map(str::to_owned),
        "[a-zA-Z0-9%+=,()!.-]{0,12}",
    ];
    // Watches end at once, regardless of their other parameters.
    prop::collection::vec((name, value), 0..5).prop_map(|pairs| {
        let said = pairs.into_iter().map(|(name, value)| format!("{name}={value}&")).collect::<String>();
        format!("timeoutSeconds=1&{said}")
    })
}

fn body() -> impl Strategy<Value = Vec<u8>> {
    let json = prop::sample::select(vec![
        "",
        "{}",
        "[]",
        "null",
        "3",
        "{\"metadata\":{\"name\":\"a\"}}",
        "{\"metadata\":{\"name\":\"b\"},\"data\":{}}",
        "{\"metadata\":7}",
        "{\"metadata\":{\"labels\":[],\"finalizers\":{},\"annotations\":1}}",
        "{\"metadata\":{\"name\":[],\"generateName\":{}}}",
        "{\"spec\":{\"replicas\":\"x\"}}",
        "[{\"op\":\"add\",\"path\":\"/metadata\",\"value\":1}]",
        "[{\"op\":\"remove\",\"path\":\"\"}]",
        "[{\"op\":\"copy\",\"from\":\"/\",\"path\":\"/a/b\"}]",
        "{\"spec\":{\"containers\":[{\"$patch\":\"delete\"}]}}",
        "{\"metadata\":{\"name\":\"cars.example.com\"},\"spec\":{\"group\":\"example.com\",\"names\":{\"plural\":\"cars\",\"kind\":\"Car\"},\"scope\":\"Namespaced\",\"versions\":[{\"name\":\"v1\",\"served\":true,\"storage\":true}]}}",
        "{\"preconditions\":{\"uid\":3}}",
        "{\"metadata\":{\"generateName\":\"ä\"}}",
    ]);
    prop_oneof![
        4 => json.prop_map(|text| text.as_bytes().to_vec()),
        1 => prop::collection::vec(any::<u8>(), 0..64),
        1 => (1..2000_usize).prop_map(|depth| "[".repeat(depth).into_bytes()),
    ]
}

prop_compose! {
    fn hostile()(
        method in prop_oneof![
            prop::sample::select(vec!["GET", "GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS"])
                .prop_map(str::to_owned),
            "[A-Z]{1,8}",
        ],
        path in path(), query in query(),
        accept in prop_oneof![Just("*/*".to_owned()), Just("application/json;as=Table;g=meta.k8s.io;v=v1".to_owned()), "[ -~]{0,30}"],
        content_type in prop::sample::select(vec![
            "application/json", "application/json-patch+json", "application/merge-patch+json",
            "application/strategic-merge-patch+json", "application/apply-patch+yaml", "", "text/plain",
        ]).prop_map(str::to_owned),
        body in body(),
    ) -> Hostile {
        Hostile { method, path, query, accept, content_type, body }
    }
}

/// Sends a request, and checks that the response is valid.
async fn survive(probe: &Probe, hostile: Hostile) -> Result<(), TestCaseError> {
    let request = Request::builder()
        .method(Method::from_bytes(hostile.method.as_bytes()).unwrap())
        .uri(format!("{}?{}", hostile.path, hostile.query))
        .header("accept", &hostile.accept)
        .header("content-type", &hostile.content_type)
        .body(Body::from(hostile.body.clone()));
    // Requests that HTTP cannot represent are skipped.
    let Ok(request) = request else { return Ok(()) };
    let answered = tokio::time::timeout(Duration::from_secs(3600), async {
        let response = probe.send(request).await;
        let code = response.status().as_u16();
        (code, response.into_body().collect().await.map(|body| body.to_bytes()))
    });
    let (code, body) = answered.await.map_err(|_| TestCaseError::fail("it hangs"))?;
    let body = body.map_err(|error| TestCaseError::fail(error.to_string()))?;
    if code >= 400 {
        let status: serde_json::Value = serde_json::from_slice(&body).unwrap_or_default();
        prop_assert_eq!(&status["kind"], "Status", "{} {:?}", code, body);
        prop_assert_eq!(&status["code"], code);
        // As kube-apiserver, this server reports some client errors as 500 without a reason. A 500 with a
        // reason would be an error of the server.
        prop_assert!(code != 500 || status["reason"].is_null(), "{}", status);
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 500, ..ProptestConfig::default() })]

    #[test]
    fn random_requests_get_a_response(requests in prop::collection::vec(hostile(), 20)) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().start_paused(true).build().unwrap();
        runtime.block_on(async {
            let probe = Probe::new();
            probe.make(MAPS, named("a")).await;
            for request in requests {
                survive(&probe, request).await?;
            }
            prop_assert_eq!(probe.get("/healthz").await.0, 200);
            Ok(())
        })?;
    }
}

/// A write through a path of a definition creates an object as deep as the path.
#[tokio::test(start_paused = true)]
async fn objects_that_are_too_deep_to_be_parsed_are_refused() {
    let probe = Probe::new();
    let path = format!(".spec{}", ".a".repeat(130));
    let definition = json!({
        "metadata": { "name": "cars.example.com" },
        "spec": {
            "group": "example.com", "scope": "Namespaced", "names": { "plural": "cars", "kind": "Car" },
            "versions": [{
                "name": "v1", "served": true, "storage": true,
                "schema": { "openAPIV3Schema": { "type": "object", "x-kubernetes-preserve-unknown-fields": true } },
                "subresources": { "scale": { "specReplicasPath": path, "statusReplicasPath": ".status.replicas" } },
            }],
        },
    });
    probe.make("/apis/apiextensions.k8s.io/v1/customresourcedefinitions", definition).await;
    let cars = "/apis/example.com/v1/namespaces/default/cars";
    probe.make(cars, named("a")).await;
    let scale = json!({ "spec": { "replicas": 1 } });
    assert_eq!(probe.patch(&format!("{cars}/a/scale"), scale).await.0, 422);
    assert_eq!(probe.get(&format!("{cars}/a")).await.0, 200);
    assert_eq!(probe.delete(&format!("{cars}/a")).await.0, 200);
}
