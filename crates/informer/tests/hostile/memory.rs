//! The memory that a response needs, as a multiple of its size.

use crate::{
    case::{DecompressedBy, client, config, one_at_a_time, strategy, wait_until_recovered},
    hostile_response::HostileResponse,
    server::{Server, Verb},
};
use k8s_openapi::api::core::v1::ConfigMap;
use kube_informer::{Informer, source::Encoding};
use peak_alloc::PeakAlloc;

/// The size of the responses, and the maximum size of an object. Fixed costs, such as buffers of connections, are small in
/// comparison.
const SIZE: usize = 16 << 20;

/// Returns the peak of allocated memory, as a multiple of [`SIZE`], while an informer receives this response.
fn peak(verb: Verb, response: HostileResponse) -> f64 {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        // The server must not free the response while the informer is measured.
        let retained = response.clone();
        let server = Server::start(verb, response).await;
        PeakAlloc.reset_peak_usage();
        let before = PeakAlloc.current_usage();
        let informer = Informer::<ConfigMap>::builder(client(&server.url, DecompressedBy::Source))
            .max_object_size(SIZE)
            .encoding(Encoding::Json)
            .config(config(strategy(verb)))
            .on_error(|_| {})
            .start()
            .unwrap();
        wait_until_recovered(&informer).await;
        let peak = PeakAlloc.peak_usage().saturating_sub(before);
        informer.stop();
        informer.stopped().await;
        drop(retained);
        peak as f64 / SIZE as f64
    })
}

const ITEMS: &str = r#"{"metadata":{"name":"a","namespace":"d","uid":"1","resourceVersion":"8"}},
    {"metadata":{"name":"b","namespace":"d","uid":"2","resourceVersion":"9"}}"#;

#[test]
fn a_response_needs_a_few_times_its_size() {
    let _guard = one_at_a_time();
    let long = "x".repeat(SIZE - 1000);
    let spaces = " ".repeat(SIZE - 1000);
    let digits = "9".repeat(SIZE - 1000);
    let object = format!(
        r#"{{"metadata":{{"name":"c","namespace":"d","uid":"3","resourceVersion":"7"}},"data":{{"k":"{long}"}}}}"#
    );
    let list = |version: &str, items: &str| {
        HostileResponse::json(format!(
            r#"{{"metadata":{{"resourceVersion":"{version}"}},"items":[{items}]}}"#
        ))
    };
    let event = |kind: &str, object: &str| {
        HostileResponse::json(format!("{{\"type\":\"{kind}\",\"object\":{object}}}\n"))
    };
    let status = format!(
        r#"{{"kind":"Status","status":"Failure","message":"{}","reason":"Expired","code":410}}"#,
        &long[..SIZE - 2000]
    );
    for (name, verb, response, maximum) in [
        ("spaces in a list", Verb::List, list("10", &format!("{ITEMS}{spaces}")), 3.0),
        ("a long version", Verb::List, list(&digits, ITEMS), 3.0),
        ("a large object in a list", Verb::List, list("10", &format!("{ITEMS},{object}")), 3.0),
        ("a large object in a watch", Verb::Watch, event("ADDED", &object), 3.0),
        ("a long error in a watch", Verb::Watch, event("ERROR", &status), 3.0),
    ] {
        let peak = peak(verb, response);
        println!("{name}: {peak:.2} times its size");
        assert!(peak <= maximum, "{name}: {peak:.2} times its size");
    }
}
