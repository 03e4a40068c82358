//! Any options survive a query string.

use super::{ListOptions, Query, VersionMatch, WatchOptions};
use crate::selector::{ShardField, ShardSelector};
use proptest::prelude::*;
use std::{num::NonZeroU64, time::Duration};

fn any_version_match() -> impl Strategy<Value = Option<VersionMatch>> {
    prop::option::of(prop_oneof![Just(VersionMatch::Exact), Just(VersionMatch::NotOlderThan)])
}

prop_compose! {
    fn any_list()(
        labels in "([a-c]=[a-c])?|a in \\(b,c\\)|!a|a!=", field in "(x\\.y=\\PC{0,3})?", shard in 0..3u32,
        limit: Option<u64>, token in prop::option::of("\\PC{0,8}"), version in prop::option::of("[0-9]{1,3}|\\PC{1,4}"),
        resource_version_match in any_version_match(), timeout: Option<Duration>,
    ) -> ListOptions {
        ListOptions {
            label_selector: labels.parse().unwrap(),
            field_selector: field.parse().unwrap_or_default(),
            shard_selector: ShardSelector::part(ShardField::Namespace, shard, 2).ok(),
            limit: limit.and_then(NonZeroU64::new),
            continue_token: token,
            resource_version: version.map(|version| version.parse().unwrap()),
            resource_version_match,
            timeout,
        }
    }
}

/// Returns a timeout as it is in a query string.
fn rounded(timeout: Duration) -> Duration {
    let seconds = timeout.as_nanos().div_ceil(1_000_000_000).min(i64::MAX as u128);
    Duration::from_secs(u64::try_from(seconds).unwrap())
}

proptest! {
    #[test]
    fn list_options_survive_the_query_string(options in any_list()) {
        let expected = ListOptions {
            limit: options.limit.map(|limit| limit.min(NonZeroU64::new(i64::MAX as u64).unwrap())),
            continue_token: options.continue_token.clone().filter(|token| !token.is_empty()),
            timeout: options.timeout.map(rounded),
            ..options.clone()
        };
        let expected = options.check().map(|()| Query::List(expected));
        prop_assert_eq!(Query::parse(&options.to_query()), expected);
    }

    #[test]
    fn watch_options_survive_the_query_string(from in any_list(), bookmarks: bool, events: Option<bool>) {
        let options = WatchOptions {
            label_selector: from.label_selector,
            field_selector: from.field_selector,
            shard_selector: from.shard_selector,
            resource_version: from.resource_version,
            resource_version_match: from.resource_version_match,
            timeout: from.timeout.map(rounded),
            allow_watch_bookmarks: bookmarks,
            send_initial_events: events,
        };
        let expected = options.check().map(|()| Query::Watch(options.clone()));
        prop_assert_eq!(Query::parse(&options.to_query()), expected);
    }

    #[test]
    fn never_panics_on_an_invalid_query(random in "\\PC{0,60}", options in any_list(), position: prop::sample::Index, char: char) {
        let query = options.to_query();
        let position = position.index(query.len() + 1);
        for text in [&random, &query[..position], &format!("{}{char}{}", &query[..position], &query[position..])] {
            if let Ok(Query::List(options)) = Query::parse(text) {
                prop_assert_eq!(Query::parse(&options.to_query()), Ok(Query::List(options)));
            }
        }
    }
}
