//! Tests of the effects of faults.

use crate::fault::{Call, Fault, Faults, Verb};
use std::time::Duration;

fn list(query: &str) -> Call<'_> {
    Call { verb: Some(Verb::List), resource: "pods", query, ..Call::default() }
}

fn answers(faults: &Faults, call: &Call<'_>) -> Option<u16> {
    faults.record_hit(call).answer.map(|(code, _)| code)
}

#[tokio::test]
async fn applies_the_configured_number_of_times() {
    let faults = Faults::default();
    let busy = faults.inject(Fault::answer(429).on(Verb::List).of("pods").after(1).times(2));
    let got: Vec<_> = (0..5).map(|_| answers(&faults, &list(""))).collect();
    assert_eq!(got, [None, Some(429), Some(429), None, None]);
    busy.hit(2).await;
    assert_eq!(busy.hits(), 2);
}

#[tokio::test]
async fn leaves_other_requests_alone() {
    let faults = Faults::default();
    let fault = faults.inject(Fault::answer(500).on(Verb::Watch).of("pods"));
    for call in [
        list(""),
        Call { verb: Some(Verb::Watch), resource: "nodes", ..Call::default() },
        Call { verb: None, ..Call::default() },
    ] {
        assert_eq!(answers(&faults, &call), None, "{call:?}");
    }
    assert_eq!(fault.hits(), 0);
}

#[tokio::test]
async fn continue_tokens_and_streaming_lists_are_detected_in_the_query() {
    let faults = Faults::default();
    faults.inject(Fault::expire_continue());
    faults.inject(Fault::refuse_streaming_lists());
    assert!(!faults.record_hit(&list("limit=2&continue=")).expires_continue);
    assert!(faults.record_hit(&list("continue=x")).expires_continue);
    let watch = |query| Call { verb: Some(Verb::Watch), resource: "pods", query, ..Call::default() };
    assert!(faults.record_hit(&watch("sendInitialEvents=true")).refuses_streaming);
    assert!(!faults.record_hit(&watch("sendInitialEvents=false")).refuses_streaming);
}

#[tokio::test(start_paused = true)]
async fn connections_are_refused_for_a_while() {
    let faults = Faults::default();
    assert!(!faults.refuses_connection());
    let down = faults.inject(Fault::refuse_connections(Duration::from_secs(5)));
    assert!(faults.refuses_connection());
    tokio::time::advance(Duration::from_secs(5)).await;
    assert!(!faults.refuses_connection());
    assert_eq!(down.hits(), 1);
}

#[test]
fn a_fault_survives_json() {
    let table = [
        Fault::answer(429).retry_after(Duration::from_millis(1500)).on(Verb::DeleteCollection).of("pods"),
        Fault::stall_until_withdrawn().after(2),
        Fault::stall(Duration::from_secs(1)),
        Fault::cut_after_events(3).abruptly().times(1),
        Fault::cut_after(Duration::from_secs(1)),
        Fault::pieces(1),
        Fault::drop_bookmarks(),
        Fault::delay_initial_events_end(Duration::from_secs(2)),
        Fault::refuse_connections(Duration::from_secs(2)),
    ];
    for fault in table {
        let json = serde_json::to_string(&fault).unwrap();
        assert_eq!(serde_json::from_str::<Fault>(&json).unwrap(), fault, "{json}");
    }
    assert!(serde_json::from_str::<Fault>(r#"{"fault":"cutAfter","seconds":-1}"#).is_err());
    assert!(serde_json::from_str::<Fault>(r#"{"fault":"melt"}"#).is_err());
}
