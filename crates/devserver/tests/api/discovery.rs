//! Tests of discovery and OpenAPI.

use crate::probe::{Probe, refusal};

#[tokio::test(start_paused = true)]
async fn discovery_documents_list_groups_and_resources() {
    let probe = Probe::new();
    let (_, core) = probe.get("/api").await;
    assert_eq!((&core["kind"], &core["versions"][0]), (&"APIVersions".into(), &"v1".into()));
    let (_, groups) = probe.get("/apis").await;
    assert!(groups["groups"].as_array().unwrap().iter().any(|group| group["name"] == "apps"));
    let (_, group) = probe.get("/apis/apps").await;
    assert_eq!(group["preferredVersion"]["groupVersion"], "apps/v1");
    let (_, resources) = probe.get("/api/v1").await;
    let resources = resources["resources"].as_array().unwrap();
    let pods = resources.iter().find(|resource| resource["name"] == "pods").unwrap();
    assert_eq!((&pods["kind"], &pods["shortNames"][0]), (&"Pod".into(), &"po".into()));
    assert!(resources.iter().any(|resource| resource["name"] == "pods/status"));
}

#[tokio::test(start_paused = true)]
async fn aggregated_discovery_lists_all_resources() {
    let probe = Probe::new();
    let accept = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,application/json";
    for path in ["/api", "/apis"] {
        let (code, document) = probe.get_as(accept, path).await;
        assert_eq!((code, &document["kind"]), (200, &"APIGroupDiscoveryList".into()), "{path}");
    }
}

#[tokio::test(start_paused = true)]
async fn health_endpoints_return_ok() {
    let probe = Probe::new();
    for path in ["/healthz", "/livez", "/readyz", "/readyz/ping"] {
        assert_eq!(probe.get(path).await, (200, "ok".into()), "{path}");
    }
    let (_, version) = probe.get("/version").await;
    assert_eq!(version["major"], "1");
}

#[tokio::test(start_paused = true)]
async fn unserved_resources_are_not_found() {
    let probe = Probe::new();
    let paths = [
        "/",
        "/apis/nothing.io",
        "/apis/apps/v9",
        "/api/v1/nothings",
        "/api/v1/namespaces/default/pods/a/exec",
        "/api/v1/namespaces/default/configmaps/a/status",
        "/api/v1/namespaces/default/nodes",
        "/api/v1/pods/a",
        "/swaggerapi",
        "/devserver/faults",
    ];
    for path in paths {
        assert_eq!(refusal(&probe.get(path).await), (404, "NotFound"), "{path}");
    }
}

#[tokio::test(start_paused = true)]
async fn unsupported_methods_are_not_allowed() {
    let probe = Probe::new();
    let body = serde_json::json!({});
    for (method, path) in [
        (http::Method::POST, "/api/v1/pods"),
        (http::Method::DELETE, "/api/v1/pods"),
        (http::Method::DELETE, "/api/v1/namespaces"),
        (http::Method::PUT, "/api/v1/namespaces/default/pods"),
        (http::Method::POST, "/apis"),
        (http::Method::OPTIONS, "/api/v1/namespaces/default/pods/a"),
    ] {
        let answer = probe.ask(method.clone(), path, Some(&body)).await;
        assert_eq!(refusal(&answer), (405, "MethodNotAllowed"), "{method} {path}");
    }
}

/// The requests of kubectl before it sends a file.
#[tokio::test(start_paused = true)]
async fn an_openapi_description_names_the_kinds() {
    let probe = Probe::new();
    let (code, index) = probe.get("/openapi/v3").await;
    assert_eq!(
        (code, &index["paths"]["apis/apps/v1"]["serverRelativeURL"]),
        (200, &"/openapi/v3/apis/apps/v1".into())
    );
    let (_, core) = probe.get("/openapi/v3/api/v1").await;
    let pod = &core["paths"]["/api/v1/namespaces/{namespace}/pods/{name}"];
    let kind = &pod["patch"]["x-kubernetes-group-version-kind"];
    assert_eq!(*kind, serde_json::json!({ "group": "", "version": "v1", "kind": "Pod" }));
    assert_eq!(refusal(&probe.get("/openapi/v3/apis/nothing.io/v1").await), (404, "NotFound"));
    let names: Vec<_> =
        pod["patch"]["parameters"].as_array().unwrap().iter().map(|one| &one["name"]).collect();
    assert_eq!(names, ["dryRun", "fieldManager", "fieldValidation", "force"]);
    let request = http::Request::get("/openapi/v2").body(kube::client::Body::empty()).unwrap();
    assert_eq!(probe.send(request).await.status(), 200);
}

/// The document that `kubectl explain` reads.
#[tokio::test(start_paused = true)]
async fn openapi_descriptions_have_the_schemas_of_built_in_kinds() {
    let probe = Probe::new();
    let (_, apps) = probe.get("/openapi/v3/apis/apps/v1").await;
    let list = &apps["paths"]["/apis/apps/v1/namespaces/{namespace}/deployments"]["get"];
    assert_eq!(list["x-kubernetes-group-version-kind"]["kind"], "Deployment");
    let schemas = &apps["components"]["schemas"];
    let deployment = &schemas["io.k8s.api.apps.v1.Deployment"];
    assert_eq!(deployment["x-kubernetes-group-version-kind"][0]["kind"], "Deployment");
    let reference = deployment["properties"]["spec"]["allOf"][0]["$ref"].as_str().unwrap();
    let spec = &schemas[reference.strip_prefix("#/components/schemas/").unwrap()];
    assert_eq!(spec["properties"]["replicas"]["type"], "integer");
    // The types of other groups that these kinds refer to belong to the document.
    assert_eq!(schemas["io.k8s.api.core.v1.Container"]["required"], serde_json::json!(["name"]));
    assert!(schemas["io.k8s.api.batch.v1.Job"].is_null());
}

#[tokio::test(start_paused = true)]
async fn openapi_descriptions_have_the_schemas_of_definitions() {
    let probe = Probe::new();
    let size = serde_json::json!({ "type": "integer", "description": "How large it is." });
    let schema = serde_json::json!({
        "type": "object", "properties": { "spec": { "type": "object", "properties": { "size": size } } },
    });
    let definition = serde_json::json!({
        "metadata": { "name": "widgets.example.com" },
        "spec": {
            "group": "example.com", "scope": "Cluster", "names": { "plural": "widgets", "kind": "Widget" },
            "versions": [{ "name": "v1", "served": true, "storage": true, "schema": { "openAPIV3Schema": schema } }],
        },
    });
    probe.make("/apis/apiextensions.k8s.io/v1/customresourcedefinitions", definition).await;
    let (_, document) = probe.get("/openapi/v3/apis/example.com/v1").await;
    let patch = &document["paths"]["/apis/example.com/v1/widgets/{name}"]["patch"];
    let media = patch["requestBody"]["content"].as_object().unwrap().keys().cloned().collect::<Vec<_>>();
    let expected =
        ["application/apply-patch+yaml", "application/json-patch+json", "application/merge-patch+json"];
    assert_eq!(media, expected);
    let schemas = &document["components"]["schemas"];
    let widget = &schemas["com.example.v1.Widget"];
    assert_eq!(widget["properties"]["spec"]["properties"]["size"], size);
    assert_eq!(
        widget["x-kubernetes-group-version-kind"],
        serde_json::json!([{ "group": "example.com", "version": "v1", "kind": "Widget" }])
    );
    let metadata = widget["properties"]["metadata"]["allOf"][0]["$ref"].as_str().unwrap();
    assert!(schemas[metadata.strip_prefix("#/components/schemas/").unwrap()].is_object());
}
