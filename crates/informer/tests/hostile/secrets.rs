//! Tokens and secrets stay out of logs, reports and what is shown of a value.

use crate::{
    bait::Bait,
    case::{alone, config},
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

/// Writes down all that is ever logged, of every crate and at every level.
#[derive(Clone, Default)]
struct Notes(Arc<Mutex<String>>);

impl Visit for Notes {
    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        let _ = writeln!(self.0.lock().unwrap(), "{field}={value:?}");
    }
}

impl Subscriber for Notes {
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

const TOKEN: &str = "token-that-nobody-may-see";
/// `hunter2`, and what stands for it in JSON.
const SECRET: [&str; 2] = ["hunter2", "aHVudGVyMg=="];

fn client(url: &str) -> Client {
    let mut config = Config::new(url.parse().unwrap());
    config.auth_info = AuthInfo { token: Some(TOKEN.to_owned().into()), ..AuthInfo::default() };
    config.default_retry = false;
    Client::try_from(config).unwrap()
}

/// Objects that hold the secret, each malformed in a way that makes someone speak of it, but for the first.
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
fn tokens_and_secrets_are_not_told() {
    let _alone = alone();
    let (notes, reports) = (Notes::default(), Arc::new(Mutex::new(Vec::new())));
    let _listens = tracing::subscriber::set_default(notes.clone());
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let shown = runtime.block_on(async {
        let server = Server::start(Verb::List, Bait::json(list())).await;
        let heard = Arc::clone(&reports);
        let informer = Informer::<Secret>::builder(client(&server.url))
            .config(config(Strategy::List))
            .on_error(move |report| {
                report.log();
                heard.lock().unwrap().push(format!("{} {report:?}", report.cause));
            })
            .start()
            .unwrap();
        let unreadable = informer.synced().await.unwrap_err();
        let (subscription, snapshot) = (informer.subscribe(), informer.store().snapshot());
        assert!(informer.store().get("d/s0").is_some(), "the first can be read");
        let source = ListWatch::<Secret>::all(client(&server.url));
        let shown = format!(
            "{unreadable} {unreadable:?} {informer:?} {:?} {subscription:?} {snapshot:?} {source:?} {:?}",
            informer.status(),
            informer.store()
        );
        informer.stop();
        informer.stopped().await;
        shown
    });
    let (said, reports) = (notes.0.lock().unwrap().clone(), reports.lock().unwrap().join("\n"));
    assert!(said.contains("s1") && reports.lines().count() >= 5, "there is something to see: {reports}");
    for (place, text) in [("the log", said), ("the reports", reports), ("what is shown", shown)] {
        for secret in [TOKEN, SECRET[0], SECRET[1]] {
            let line = text.lines().find(|line| line.contains(secret));
            assert_eq!(line, None, "{place} holds {secret}");
        }
    }
}
