//! Lists: every version, match and page size.

use crate::maps::{Maps, page};
use k8s_openapi::api::core::v1::{ConfigMap, Secret};
use kube_conformance::{Server, claims};
use kube_informer::{
    source::{ListWatch, Pager},
    wire::{LabelSelector, ListOptions, ResourceVersion, VersionMatch},
};
use serde_json::json;
use std::num::NonZeroU64;

claims! {
    shared: [
        lists_respect_versions_matches_and_limits,
        a_list_at_a_future_version_is_refused_as_too_large,
        pages_of_every_size_have_one_version,
        pages_with_a_selector_are_complete,
        an_empty_list_is_a_list_in_every_form,
    ],
    alone: [
        a_compacted_version_cannot_be_listed,
        expired_pages_are_replaced_by_a_full_list,
    ],
}

/// The version parameter of a list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum At {
    Unset,
    Any,
    Old,
    Newest,
}

const VERSIONS: [At; 4] = [At::Unset, At::Any, At::Old, At::Newest];
const MATCHES: [Option<VersionMatch>; 3] =
    [None, Some(VersionMatch::Exact), Some(VersionMatch::NotOlderThan)];
const LIMITS: [Option<u64>; 5] = [None, Some(1), Some(3), Some(7), Some(500)];

/// The current number of objects, and their number at the old version.
const ALL: usize = 7;
const OLD: usize = 4;

/// Returns the expected result of a list: the number of objects and their version, or the status code.
fn rule(at: At, matching: Option<VersionMatch>, limit: Option<u64>) -> Result<(usize, bool), u16> {
    let is_old = match (at, matching) {
        (At::Unset, Some(_)) | (At::Any, Some(VersionMatch::Exact)) => return Err(422),
        (At::Old, Some(VersionMatch::Exact)) => true,
        // A limit with a version and without a match is for exactly that version.
        (At::Old, None) => limit.is_some(),
        (At::Old, Some(VersionMatch::NotOlderThan)) | (At::Unset | At::Any | At::Newest, _) => false,
    };
    let there = if is_old { OLD } else { ALL };
    // The watch cache returns any version, without pages.
    let limit = limit.filter(|_| at != At::Any).map_or(ALL, |limit| limit as usize);
    Ok((there.min(limit), is_old))
}

async fn lists_respect_versions_matches_and_limits(server: &Server) {
    let maps = Maps::<ConfigMap>::new(server).await;
    let mut made = Vec::new();
    for number in 0..ALL {
        made.push(maps.create(&format!("m{number}")).await);
    }
    let newest = maps.version().await;
    for (at, matching, limit) in combinations() {
        let resource_version = match at {
            At::Unset => None,
            At::Any => Some(ResourceVersion::ANY),
            At::Old => Some(made[OLD - 1].clone()),
            At::Newest => Some(newest.clone()),
        };
        let options = ListOptions {
            resource_version,
            resource_version_match: matching,
            limit: limit.and_then(NonZeroU64::new),
            ..ListOptions::default()
        };
        let found = page(&maps.source(), &options).await;
        let case = format!("{at:?} {matching:?} {limit:?}");
        match (found, rule(at, matching, limit)) {
            (Err(error), Err(code)) => assert_eq!(error.as_status().unwrap().code, code, "{case}"),
            (Ok((names, meta)), Ok((count, is_old))) => {
                let expected: Vec<_> = (0..count).map(|number| format!("m{number}")).collect();
                assert_eq!(names, expected, "{case}");
                let version = meta.version.unwrap();
                let is_right = if is_old { version == made[OLD - 1] } else { !newer(&newest, &version) };
                assert!(is_right, "{case}: {version}");
                let there = if is_old { OLD } else { ALL };
                assert_eq!(meta.continue_token.is_some(), count < there, "{case}");
                assert_eq!(meta.remaining.unwrap_or_default(), (there - count) as u64, "{case}");
            }
            (found, rule) => panic!("{case}: {found:?} is not {rule:?}"),
        }
    }
}

fn combinations() -> impl Iterator<Item = (At, Option<VersionMatch>, Option<u64>)> {
    let pairs = VERSIONS.into_iter().flat_map(|at| MATCHES.map(|matching| (at, matching)));
    pairs.flat_map(|(at, matching)| LIMITS.map(|limit| (at, matching, limit)))
}

fn newer(one: &ResourceVersion, other: &ResourceVersion) -> bool {
    one.to_number().unwrap() > other.to_number().unwrap()
}

async fn a_list_at_a_future_version_is_refused_as_too_large(server: &Server) {
    let maps = Maps::<ConfigMap>::new(server).await;
    let future = ResourceVersion::number(maps.version().await.to_number().unwrap() + 1_000_000);
    for matching in MATCHES {
        let options = ListOptions {
            resource_version: Some(future.clone()),
            resource_version_match: matching,
            ..ListOptions::default()
        };
        let error = page(&maps.source(), &options).await.unwrap_err();
        if matching == Some(VersionMatch::Exact) && server.is_older_than(34) {
            // These lists are served by etcd.
            assert!(error.is_internal(), "{error:?}");
            continue;
        }
        assert!(error.is_version_too_large(), "{matching:?}: {error:?}");
        assert_eq!(error.as_status().unwrap().code, 504);
    }
}

async fn pages_of_every_size_have_one_version(server: &Server) {
    let maps = Maps::<ConfigMap>::new(server).await;
    for number in 0..6 {
        maps.create(&format!("m{number}")).await;
    }
    for size in 1..=8 {
        let source = maps.source();
        let whole = page(&source, &ListOptions::default()).await.unwrap().0;
        let mut options = ListOptions { limit: NonZeroU64::new(size), ..ListOptions::default() };
        let (mut names, first) = page(&source, &options).await.unwrap();
        // Later changes are not part of the following pages.
        maps.create(&format!("a{size}")).await;
        maps.delete(whole.last().unwrap()).await;
        maps.create(&format!("m6{size}")).await;
        options.continue_token.clone_from(&first.continue_token);
        while options.continue_token.is_some() {
            let (more, meta) = page(&source, &options).await.unwrap();
            assert!(more.len() <= size as usize && !more.is_empty());
            assert_eq!(meta.version, first.version, "pages of {size}");
            names.extend(more);
            options.continue_token = meta.continue_token;
        }
        assert_eq!(names, whole, "pages of {size}");
    }
}

async fn pages_with_a_selector_are_complete(server: &Server) {
    let maps = Maps::<ConfigMap>::new(server).await;
    for number in 0..9 {
        maps.create_with(&format!("m{number}"), json!({ "labels": { "third": (number % 3).to_string() } }))
            .await;
    }
    let expected = ["m1", "m4", "m7"];
    for size in 1..=4 {
        let source = selected(&maps, "third=1");
        let pager = Pager::new(&source).page_size(NonZeroU64::new(size).unwrap());
        let listed = pager.list::<ConfigMap>(&ListOptions::default()).await.unwrap();
        let names: Vec<_> = listed.items.iter().map(|map| map.metadata.name.as_deref().unwrap()).collect();
        assert_eq!(names, expected, "pages of {size}");
        // The server detects the end only when it reads after the last page.
        assert_eq!(listed.is_paged, size <= 3, "pages of {size}");
    }
}

fn selected(maps: &Maps<ConfigMap>, labels: &str) -> ListWatch<ConfigMap> {
    maps.source().labels(labels.parse::<LabelSelector>().unwrap())
}

async fn an_empty_list_is_a_list_in_every_form(server: &Server) {
    use kube::core::PartialObjectMeta;
    let maps = Maps::<ConfigMap>::new(server).await;
    let listed = Pager::new(&maps.source()).list::<ConfigMap>(&ListOptions::default()).await.unwrap();
    assert!(listed.items.is_empty() && listed.version.is_some());
    let source = ListWatch::<PartialObjectMeta<ConfigMap>>::namespaced(server.client(), &maps.namespace);
    let listed =
        Pager::new(&source).list::<PartialObjectMeta<ConfigMap>>(&ListOptions::default()).await.unwrap();
    assert!(listed.items.is_empty() && listed.version.is_some());
}

async fn a_compacted_version_cannot_be_listed(server: &Server) {
    let maps = Maps::<Secret>::new(server).await;
    let old = maps.create("a").await;
    maps.create("b").await;
    let exact = ListOptions {
        resource_version: Some(old),
        resource_version_match: Some(VersionMatch::Exact),
        ..ListOptions::default()
    };
    assert_eq!(page(&maps.source(), &exact).await.unwrap().0, ["a"]);
    server.forget_history().await;
    let error = page(&maps.source(), &exact).await.unwrap_err();
    assert!(error.is_expired(), "{error:?}");
    assert_eq!(error.as_status().unwrap().code, 410);
}

async fn expired_pages_are_replaced_by_a_full_list(server: &Server) {
    let maps = Maps::<Secret>::new(server).await;
    for number in 0..5 {
        maps.create(&format!("s{number}")).await;
    }
    let source = maps.source();
    let mut options = ListOptions { limit: NonZeroU64::new(2), ..ListOptions::default() };
    let (names, meta) = page(&source, &options).await.unwrap();
    assert_eq!(names, ["s0", "s1"]);
    maps.create("s2-late").await;
    server.forget_history().await;
    options.continue_token = meta.continue_token;
    let error = page(&source, &options).await.unwrap_err();
    assert!(error.is_expired(), "{error:?}");
    // The token in the error response continues at a later version.
    let status = serde_json::to_value(error.as_status().unwrap()).unwrap();
    assert_eq!(status["code"], 410);
    let listed = Pager::new(&source).page_size(NonZeroU64::new(2).unwrap());
    let listed = listed.list::<Secret>(&ListOptions::default()).await.unwrap();
    assert_eq!(listed.items.len(), 6);
}
