//! The manifests in `deploy/` pass the validation of the server, and their role is sufficient for the recorder.

use crate::programs::{Home, INFORMER, KUBECTL};
use k8s_openapi::api::core::v1::ServiceAccount;
use kube::api::Api;
use kube_conformance::{Server, eventually, on_both};
use kube_history::History;
use std::time::Duration;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
};

on_both! {
    shared: [],
    // The names of the objects are given.
    alone: [the_recorder_can_be_deployed],
}

const RECORD: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../deploy/record.yaml");

async fn the_recorder_can_be_deployed(server: &Server) {
    let home = Home::new(server, "deploy");
    // The devserver has no schema for unknown fields.
    let validate = if server.is_real() { "--validate=strict" } else { "--validate=false" };
    let created = home.said(KUBECTL, &["create", validate, "-f", RECORD, "-o", "name"]).await;
    let names: Vec<&str> = created.lines().collect();
    let expected = [
        "namespace/informer",
        "serviceaccount/informer-record",
        "clusterrole.rbac.authorization.k8s.io/informer-record",
        "clusterrolebinding.rbac.authorization.k8s.io/informer-record",
        "persistentvolumeclaim/informer-record",
        "deployment.apps/informer-record",
    ];
    assert_eq!(names, expected);
    if server.is_real() {
        let again =
            ["apply", "--dry-run=server", "--server-side", "--force-conflicts", validate, "-f", RECORD];
        assert_eq!(home.said(KUBECTL, &again).await.lines().count(), expected.len());
        the_role_is_sufficient(server, &home).await;
    }
    for name in expected.iter().rev() {
        let arguments = ["delete", name, "-n", "informer", "--wait=false"];
        home.command(KUBECTL, &arguments).output().await.unwrap();
    }
}

/// Returns the response of an HTTP server without TLS.
async fn response(address: &str, path: &str) -> String {
    let mut socket = TcpStream::connect(address).await.unwrap();
    socket.write_all(format!("GET {path} HTTP/1.1\r\nHost: {address}\r\n\r\n").as_bytes()).await.unwrap();
    let mut response = String::new();
    socket.read_to_string(&mut response).await.unwrap();
    response
}

/// Records with the token of the service account: all resources of its role, and no Secrets.
async fn the_role_is_sufficient(server: &Server, home: &Home) {
    let accounts: Api<ServiceAccount> = Api::namespaced(server.client(), "informer");
    let account = accounts.get("informer-record").await.unwrap();
    let token = server.token(&account, Duration::from_secs(3_600)).await.unwrap();
    let dir = home.path().join("history");
    let arguments = ["record", "--dir", dir.to_str().unwrap(), "--metrics", "127.0.0.1:0", "--token", &token];
    let mut recorder = home.start(INFORMER, &arguments);
    let address = recorder.line("serving /healthz, /readyz and /metrics on http://").await;
    eventually("a recorder that is ready", async || match response(&address, "/readyz").await {
        ready if ready.starts_with("HTTP/1.1 200 OK") => Ok(()),
        other => Err(format!("{other}\n{}", home.errors(INFORMER))),
    })
    .await;
    recorder.interrupt().await;
    let history = History::open(&dir).unwrap();
    let end = history.span().unwrap().end;
    let snapshot = history.at(end).unwrap();
    for name in ["namespaces", "pods", "configmaps", "deployments.apps", "clusterroles", "events"] {
        let kind = history.kind(name).unwrap();
        assert!(snapshot.gap(kind).is_none(), "{name}: {:?}", snapshot.gap(kind));
    }
    assert!(history.kind("secrets").is_err(), "Secrets are not recorded");
}
