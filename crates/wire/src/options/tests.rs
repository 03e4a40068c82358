//! Options to query strings and back, and the rules of the API server.

use super::{ListOptions, Query, QueryError, VersionMatch, WatchOptions};
use crate::{
    selector::{ShardField, ShardSelector},
    version::ResourceVersion,
};
use std::{error::Error, num::NonZeroU64, time::Duration};

fn list(query: &str) -> ListOptions {
    match Query::parse(query).unwrap() {
        Query::List(options) => options,
        Query::Watch(options) => panic!("{query:?} is a watch: {options:?}"),
    }
}

fn watch(query: &str) -> WatchOptions {
    match Query::parse(query).unwrap() {
        Query::Watch(options) => options,
        Query::List(options) => panic!("{query:?} is a list: {options:?}"),
    }
}

#[test]
fn writes_only_set_options_in_a_fixed_order() {
    assert_eq!(ListOptions::default().to_query(), "");
    assert_eq!(WatchOptions::default().to_query(), "watch=true");
    let whole = ListOptions {
        label_selector: "b=1,a in (x,y)".parse().unwrap(),
        field_selector: "spec.nodeName=n1".parse().unwrap(),
        shard_selector: ShardSelector::part(ShardField::Uid, 0, 1).ok(),
        limit: NonZeroU64::new(5),
        continue_token: Some("c/1+".into()),
        resource_version: Some(ResourceVersion::ANY),
        resource_version_match: Some(VersionMatch::NotOlderThan),
        timeout: Some(Duration::from_millis(9900)),
    };
    let expected = "labelSelector=a+in+%28x%2Cy%29%2Cb%3D1&fieldSelector=spec.nodeName%3Dn1\
        &shardSelector=shardRange%28object.metadata.uid%2C+%270x0000000000000000%27%2C+%270x10000000000000000%27%29\
        &limit=5&continue=c%2F1%2B&resourceVersion=0&resourceVersionMatch=NotOlderThan&timeoutSeconds=10";
    assert_eq!(whole.to_query(), expected);
}

// R1
#[test]
fn the_first_list_and_watch_have_the_options_of_client_go() {
    let first = ListOptions {
        limit: NonZeroU64::new(500),
        resource_version: Some(ResourceVersion::ANY),
        ..ListOptions::default()
    };
    assert_eq!(first.to_query(), "limit=500&resourceVersion=0");
    let next = WatchOptions {
        timeout: Some(Duration::from_secs(300)),
        ..WatchOptions::after(ResourceVersion::number(1))
    };
    assert_eq!(next.to_query(), "watch=true&resourceVersion=1&timeoutSeconds=300&allowWatchBookmarks=true");
}

// R41
#[test]
fn streaming_list_leaves_the_version_unset() {
    let expected =
        "watch=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true&sendInitialEvents=true";
    assert_eq!(WatchOptions::streaming_list(None).to_query(), expected);
    assert_eq!(watch(expected), WatchOptions::streaming_list(None));
}

#[test]
fn unset_and_any_version_differ() {
    assert_eq!(list("").resource_version, None);
    assert_eq!(list("resourceVersion=").resource_version, None);
    assert_eq!(list("resourceVersion=0").resource_version, Some(ResourceVersion::ANY));
}

#[test]
fn the_parameter_watch_selects_the_verb() {
    for query in ["watch=true", "watch=1", "watch=", "watch", "watch=no", "watch=1&watch=0"] {
        assert_eq!(watch(query), WatchOptions::default(), "{query}");
    }
    for query in ["", "watch=false", "watch=0", "watch=FALSE", "watch=0&watch=1", "Watch=1"] {
        assert_eq!(list(query), ListOptions::default(), "{query}");
    }
}

#[test]
fn unset_and_false_initial_events_differ() {
    let query = |events| format!("watch=1&resourceVersionMatch=NotOlderThan&sendInitialEvents={events}");
    assert_eq!(watch("watch=1").send_initial_events, None);
    assert_eq!(watch(&query("false")).send_initial_events, Some(false));
    assert_eq!(watch(&query("")).send_initial_events, Some(true));
}

#[test]
fn reads_as_the_api_server_does() {
    assert_eq!(list("pretty=true&foo=&=x&&limit=3&limit=x").limit, NonZeroU64::new(3));
    assert_eq!(list("limit=0").limit, None);
    assert_eq!(list("limit=-1").limit, None);
    assert_eq!(list("limit=9223372036854775807").limit, NonZeroU64::new(i64::MAX as u64));
    assert_eq!(list("timeoutSeconds=0").timeout, Some(Duration::ZERO));
    assert_eq!(list("labelSelector=a%3Db%2C+c").label_selector, "a=b,c".parse().unwrap());
    assert_eq!(list("shardSelector=&continue=").shard_selector, None);
    assert_eq!(watch("watch=1&limit=5&continue=x"), WatchOptions::default());
    assert!(watch("watch=1&allowWatchBookmarks").allow_watch_bookmarks);
    assert!(!watch("watch=1&allowWatchBookmarks=0").allow_watch_bookmarks);
}

#[test]
fn errors_have_the_name_of_the_parameter() {
    let table = [
        ("limit=", r#"invalid parameter limit "": expected a 64-bit integer"#),
        ("limit=x", r#"invalid parameter limit "x": expected a 64-bit integer"#),
        (
            "limit=9223372036854775808",
            r#"invalid parameter limit "9223372036854775808": expected a 64-bit integer"#,
        ),
        (
            "watch=1&timeoutSeconds=1.5",
            r#"invalid parameter timeoutSeconds "1.5": expected a 64-bit integer"#,
        ),
        (
            "timeoutSeconds=-1",
            r#"invalid parameter timeoutSeconds "-1": expected a number of seconds, zero or more"#,
        ),
        ("labelSelector=a+b", "invalid selector in parameter labelSelector"),
        ("fieldSelector=a", "invalid selector in parameter fieldSelector"),
        ("shardSelector=a", "invalid selector in parameter shardSelector"),
    ];
    for (query, message) in table {
        let error = Query::parse(query).unwrap_err();
        assert_eq!(error.to_string(), message, "{query}");
        assert!(!error.is_rule() && query.contains(error.parameter()), "{query}");
    }
    let error = Query::parse("labelSelector=a+b").unwrap_err();
    assert!(error.source().unwrap().to_string().starts_with(r#"invalid label selector "a b" at byte 2"#));
    let long = format!("resourceVersion={}", "1".repeat(ResourceVersion::MAX_LENGTH + 1));
    assert!(matches!(Query::parse(&long), Err(QueryError::Version(_))));
}

#[test]
fn rejects_what_the_api_server_rejects() {
    let table = [
        ("resourceVersionMatch=Exact", "resourceVersionMatch"),
        ("resourceVersionMatch=NotOlderThan", "resourceVersionMatch"),
        ("resourceVersionMatch=exact&resourceVersion=1", "resourceVersionMatch"),
        ("resourceVersionMatch=Exact&resourceVersion=0", "resourceVersionMatch"),
        ("resourceVersionMatch=Exact&resourceVersion=1&continue=c", "resourceVersionMatch"),
        ("sendInitialEvents=false", "sendInitialEvents"),
        ("watch=1&resourceVersionMatch=NotOlderThan", "resourceVersionMatch"),
        ("watch=1&sendInitialEvents=true", "resourceVersionMatch"),
        ("watch=1&sendInitialEvents=0&resourceVersionMatch=Exact", "resourceVersionMatch"),
    ];
    for (query, parameter) in table {
        let error = Query::parse(query).unwrap_err();
        assert_eq!((error.is_rule(), error.parameter()), (true, parameter), "{query}");
    }
}

#[test]
fn rejects_a_version_with_a_continue_token() {
    let error = Query::parse("continue=c&resourceVersion=5").unwrap_err();
    assert_eq!(error, QueryError::VersionWithContinue);
    assert_eq!((error.is_rule(), error.parameter()), (false, "resourceVersion"));
    assert_eq!(error.to_string(), "specifying resource version is not allowed when using continue");
    for query in [
        "continue=c&resourceVersion=0",
        "continue=c",
        "continue=&resourceVersion=5",
        "continue=c&resourceVersion=",
    ] {
        assert!(Query::parse(query).is_ok(), "{query}");
    }
}

#[test]
fn timeouts_are_rounded_up() {
    let table = [(0, 0, 0), (0, 1, 1), (0, 999_999_999, 1), (9, 900_000_000, 10), (3, 0, 3)];
    for (seconds, nanos, written) in table {
        let timeout = Some(Duration::new(seconds, nanos));
        let list = ListOptions { timeout, ..ListOptions::default() };
        assert_eq!(list.to_query(), format!("timeoutSeconds={written}"));
        let watch = WatchOptions { timeout, ..WatchOptions::default() };
        assert_eq!(watch.to_query(), format!("watch=true&timeoutSeconds={written}"));
    }
}

#[test]
fn caps_numbers_that_do_not_fit() {
    let options = ListOptions {
        limit: NonZeroU64::new(u64::MAX),
        timeout: Some(Duration::MAX),
        ..ListOptions::default()
    };
    let most = i64::MAX;
    assert_eq!(options.to_query(), format!("limit={most}&timeoutSeconds={most}"));
    assert!(Query::parse(&options.to_query()).is_ok());
}

#[test]
fn an_empty_continue_token_is_ignored() {
    let options = ListOptions {
        continue_token: Some(String::new()),
        resource_version: Some(ResourceVersion::number(5)),
        resource_version_match: Some(VersionMatch::NotOlderThan),
        ..ListOptions::default()
    };
    assert_eq!(options.check(), Ok(()));
    assert_eq!(options.to_query(), "resourceVersion=5&resourceVersionMatch=NotOlderThan");
    assert!(options.to_streaming_list().is_some());
}

// R55
#[test]
fn some_lists_convert_to_streaming_lists() {
    use VersionMatch::{Exact, NotOlderThan};
    let table = [
        // version match, version, limit, continue, allowed
        (None, None, 0, None, true),
        (None, Some(0), 0, None, true),
        (None, Some(100), 0, None, true),
        (None, Some(0), 4, None, true),
        (None, Some(0), 0, Some("token"), false),
        (None, Some(100), 4, None, false),
        (Some(NotOlderThan), None, 0, None, false),
        (Some(NotOlderThan), Some(0), 0, None, true),
        (Some(NotOlderThan), Some(100), 0, None, true),
        (Some(NotOlderThan), Some(0), 4, None, true),
        (Some(NotOlderThan), Some(0), 0, Some("token"), false),
        (Some(Exact), None, 0, None, false),
        (Some(Exact), Some(0), 0, None, false),
        (Some(Exact), Some(100), 0, None, false),
        (Some(Exact), Some(0), 4, None, false),
        (Some(Exact), Some(0), 0, Some("token"), false),
    ];
    for row in table {
        let (resource_version_match, version, limit, token, allowed) = row;
        let resource_version = version.map(ResourceVersion::number);
        let options = ListOptions {
            label_selector: "a=b".parse().unwrap(),
            resource_version: resource_version.clone(),
            resource_version_match,
            limit: NonZeroU64::new(limit),
            continue_token: token.map(str::to_owned),
            ..ListOptions::default()
        };
        let expected = WatchOptions {
            label_selector: "a=b".parse().unwrap(),
            ..WatchOptions::streaming_list(resource_version)
        };
        assert_eq!(options.to_streaming_list(), allowed.then_some(expected), "{row:?}");
    }
}
