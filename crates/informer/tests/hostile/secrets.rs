//! Tokens and secrets do not appear in logs, reports and debug output.

use crate::{
    case::{config, one_at_a_time},
    hostile_response::HostileResponse,
    server::{Server, Verb},
};
use k8s_openapi::api::core::v1::Secret;
use kube::{Client, Config, config::AuthInfo};
use kube_informer::{Informer, reflector::Strategy, source::ListWatch};
use std::{
    fmt::{Debug, Write},
    sync::{Arc, Mutex},
};
use tracing::{
    Event, Metadata, Subscriber,
    field::{Field, Visit},
    span::{Attributes, Id, Record},
};

/// Records the log of all crates at every level.
#[derive(Clone, Default)]
struct Recorder(Arc<Mutex<String>>);

impl Visit for Recorder {
    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        let _ = writeln!(self.0.lock().unwrap(), "{field}={value:?}");
    }
}

impl Subscriber for Recorder {
    fn enabled(&self, _: &Metadata<'_>) -> bool {
        true
    }

    fn new_span(&self, span: &Attributes<'_>) -> Id {
        span.record(&mut self.clone());
        Id::from_u64(1)
    }

    fn record(&self, _: &Id, values: &Record<'_>) {
        values.record(&mut self.clone());
    }

    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn event(&self, event: &Event<'_>) {
        event.record(&mut self.clone());
    }

    fn enter(&self, _: &Id) {}

    fn exit(&self, _: &Id) {}
}

const TOKEN: &str = "confidential-token";
/// `hunter2`, plain and in base64.
const SECRET: [&str; 2] = ["hunter2", "aHVudGVyMg=="];

fn client(url: &str) -> Client {
    let mut config = Config::new(url.parse().unwrap());
    config.auth_info = AuthInfo { token: Some(TOKEN.to_owned().into()), ..AuthInfo::default() };
    config.default_retry = false;
    Client::try_from(config).unwrap()
}

/// Returns objects with the secret. All except the first are malformed in a way that is reported.
fn list() -> String {
    let [plain, encoded] = SECRET;
    let fields = [
        format!(r#""data":{{"password":"{encoded}"}}"#),
        format!(r#""data":{{"password":"{encoded}!"}}"#),
        format!(r#""data":{{"password":{{"a":"{plain}"}}}}"#),
        format!(r#""data":"{plain}""#),
        format!(r#""data":["{plain}"]"#),
        format!(r#""immutable":"{plain}""#),
        format!(r#""stringData":{{"password":["{plain}"]}}"#),
    ];
    let item = |(number, field): (usize, &String)| {
        format!(
            r#"{{"metadata":{{"name":"s{number}","namespace":"d","resourceVersion":"{number}"}},{field}}}"#
        )
    };
    let items: Vec<_> = fields.iter().enumerate().map(item).collect();
    format!(r#"{{"metadata":{{"resourceVersion":"10"}},"items":[{}]}}"#, items.join(","))
}

#[test]
fn tokens_and_secrets_are_not_logged() {
    let _guard = one_at_a_time();
    let (log, reports) = (Recorder::default(), Arc::new(Mutex::new(Vec::new())));
    let _subscribed = tracing::subscriber::set_default(log.clone());
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let debug = runtime.block_on(async {
        let server = Server::start(Verb::List, HostileResponse::json(list())).await;
        let recorded = Arc::clone(&reports);
        let informer = Informer::<Secret>::builder(client(&server.url))
            .config(config(Strategy::List))
            .on_error(move |report| {
                report.log();
                recorded.lock().unwrap().push(format!("{} {report:?}", report.cause));
            })
            .start()
            .unwrap();
        let error = informer.synced().await.unwrap_err();
        let (subscription, snapshot) = (informer.subscribe(), informer.store().snapshot());
        assert!(informer.store().get("d/s0").is_some(), "the first is valid");
        let source = ListWatch::<Secret>::all(client(&server.url));
        let debug = format!(
            "{error} {error:?} {informer:?} {:?} {subscription:?} {snapshot:?} {source:?} {:?}",
            informer.status(),
            informer.store()
        );
        informer.stop();
        informer.stopped().await;
        debug
    });
    let (logged, reports) = (log.0.lock().unwrap().clone(), reports.lock().unwrap().join("\n"));
    assert!(logged.contains("s1") && reports.lines().count() >= 5, "something was reported: {reports}");
    for (place, text) in [("the log", logged), ("the reports", reports), ("the debug output", debug)] {
        for secret in [TOKEN, SECRET[0], SECRET[1]] {
            let line = text.lines().find(|line| line.contains(secret));
            assert_eq!(line, None, "{place} contains {secret}");
        }
    }
}
