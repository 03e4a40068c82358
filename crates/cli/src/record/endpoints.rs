//! Serves /healthz, /readyz and /metrics of a recording.

use super::status::{metrics, problem};
use jiff::Timestamp;
use kube_informer::{
    history::RecordingStatus,
    manager::{TextResponse, serve_text},
};
use std::convert::Infallible;
use tokio::{net::TcpListener, sync::watch};

/// Serves the endpoints until it is dropped.
pub(super) async fn serve(listener: TcpListener, status: watch::Receiver<RecordingStatus>) -> Infallible {
    serve_text(listener, move |path| respond(path, &status.borrow())).await
}

fn respond(path: &str, status: &RecordingStatus) -> TextResponse {
    let now = Timestamp::now();
    match path {
        "/healthz" => match problem(status, now) {
            Some(problem) => TextResponse::unavailable(format!("{problem}\n")),
            None => TextResponse::ok("ok\n"),
        },
        "/readyz" if status.flushed.is_none() || status.unlisted > 0 => {
            TextResponse::unavailable(format!("{} lists have not been received yet\n", status.unlisted))
        }
        "/readyz" => TextResponse::ok("ok\n"),
        "/metrics" => TextResponse::ok(metrics(status, now)),
        _ => TextResponse {
            text: "not found: expected /healthz, /readyz or /metrics\n".to_owned(),
            ..TextResponse::not_found()
        },
    }
}
