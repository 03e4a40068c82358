//! Lists show one version across all pages, and contain the selected objects.

use crate::probe::{MAPS, PODS, Probe, labelled, named, names, refusal, version};
use kube_devserver::DevServer;
use serde_json::{Value, json};

/// Reads all pages, and makes a change before each page except the first.
async fn pages(probe: &Probe, first: &str, mut between: impl AsyncFnMut()) -> (Vec<String>, Vec<u64>) {
    let (mut path, mut found, mut versions) = (first.to_owned(), Vec::new(), Vec::new());
    loop {
        let (code, page) = probe.get(&path).await;
        assert_eq!(code, 200, "{page}");
        found.extend(names(&page).into_iter().map(str::to_owned));
        versions.push(version(&page));
        let Some(token) = page["metadata"]["continue"].as_str() else { return (found, versions) };
        path = format!("{MAPS}?limit=2&continue={token}");
        between().await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_list_has_a_kind_and_its_items_have_none() {
    let probe = Probe::new();
    probe.make_maps(["b", "a"]).await;
    let (_, list) = probe.get(MAPS).await;
    assert_eq!((&list["kind"], &list["apiVersion"]), (&"ConfigMapList".into(), &"v1".into()));
    assert_eq!((names(&list), version(&list)), (vec!["a", "b"], probe.server.version()));
    assert_eq!(list["items"][0].get("kind"), None);
}

#[tokio::test(start_paused = true)]
async fn namespaces_come_in_the_order_of_their_keys() {
    let probe = Probe::new();
    for namespace in ["a", "a-b"] {
        probe.make("/api/v1/namespaces", named(namespace)).await;
        probe.make(&format!("/api/v1/namespaces/{namespace}/configmaps"), named(namespace)).await;
    }
    assert_eq!(names(&probe.get("/api/v1/configmaps").await.1), ["a-b", "a"]);
    assert_eq!(names(&probe.get("/api/v1/namespaces/a/configmaps").await.1), ["a"]);
}

#[tokio::test(start_paused = true)]
async fn pages_show_one_version_while_objects_change() {
    let probe = Probe::new();
    probe.make_maps(["a", "b", "c", "d", "e"]).await;
    let before = probe.server.version();
    let mut turn = 0;
    let (found, versions) = pages(&probe, &format!("{MAPS}?limit=2"), async || {
        turn += 1;
        probe.make(MAPS, named(&format!("c{turn}"))).await;
        probe.delete(&format!("{MAPS}/{}", ["a", "d"][turn - 1])).await;
        probe.patch(&format!("{MAPS}/e"), json!({ "data": { "x": turn.to_string() } })).await;
    })
    .await;
    assert_eq!(found, ["a", "b", "c", "d", "e"]);
    assert_eq!(versions, [before; 3]);
    assert_eq!(names(&probe.get(MAPS).await.1), ["b", "c", "c1", "c2", "e"]);
}

#[tokio::test(start_paused = true)]
async fn a_page_has_the_remaining_item_count_without_a_selector() {
    let probe = Probe::new();
    probe.make_maps(["a", "b", "c"]).await;
    let (_, page) = probe.get(&format!("{MAPS}?limit=2")).await;
    assert_eq!(page["metadata"]["remainingItemCount"], 1);
    let (_, page) = probe.get(&format!("{MAPS}?limit=2&fieldSelector=metadata.name!%3Dx")).await;
    assert_eq!(page["metadata"].get("remainingItemCount"), None);
    assert!(page["metadata"]["continue"].is_string());
    let (_, page) = probe.get(&format!("{MAPS}?limit=3")).await;
    assert_eq!(page["metadata"].get("continue"), None);
}

#[tokio::test(start_paused = true)]
async fn an_expired_token_comes_with_a_fresh_one() {
    let probe = Probe::new();
    probe.make_maps(["a", "b", "c"]).await;
    let (_, page) = probe.get(&format!("{MAPS}?limit=1")).await;
    probe.make_maps(["d"]).await;
    probe.server.compact();
    let token = page["metadata"]["continue"].as_str().unwrap();
    let answer = probe.get(&format!("{MAPS}?limit=1&continue={token}")).await;
    assert_eq!(refusal(&answer), (410, "Expired"));
    let fresh = answer.1["metadata"]["continue"].as_str().unwrap();
    let (_, rest) = probe.get(&format!("{MAPS}?continue={fresh}")).await;
    assert_eq!((names(&rest), version(&rest)), (vec!["b", "c", "d"], probe.server.version()));
}

#[tokio::test(start_paused = true)]
async fn invalid_tokens_are_refused() {
    let probe = Probe::new();
    probe.make_maps(["a", "b"]).await;
    let (_, page) = probe.get(&format!("{MAPS}?limit=1")).await;
    let token = page["metadata"]["continue"].as_str().unwrap();
    for query in ["continue=x", &format!("continue={token}&resourceVersion=5")] {
        assert_eq!(refusal(&probe.get(&format!("{MAPS}?{query}")).await), (400, "BadRequest"), "{query}");
    }
}

/// Returns the names in a list with this query, after a, b and c were created and b was deleted.
async fn at(query: impl Fn([u64; 4]) -> String) -> (u16, Value) {
    let probe = Probe::of(DevServer::start());
    let mut versions = [0; 4];
    for (place, name) in ["a", "b", "c"].into_iter().enumerate() {
        versions[place] = version(&probe.make(MAPS, named(name)).await);
    }
    probe.delete(&format!("{MAPS}/b")).await;
    versions[3] = probe.server.version();
    let (code, list) = probe.get(&format!("{MAPS}?{}", query(versions))).await;
    if code == 200 { (code, names(&list).into()) } else { (code, list["reason"].clone()) }
}

#[tokio::test(start_paused = true)]
async fn versions_have_the_documented_meaning() {
    let now = || (200, json!(["a", "c"]));
    assert_eq!(at(|_| String::new()).await, now());
    assert_eq!(at(|_| "resourceVersion=0".into()).await, now());
    assert_eq!(at(|_| "resourceVersion=0&limit=1".into()).await, now());
    assert_eq!(at(|[a, ..]| format!("resourceVersion={a}")).await, now());
    assert_eq!(at(|[a, ..]| format!("resourceVersion={a}&resourceVersionMatch=NotOlderThan")).await, now());
    let exact = |version| format!("resourceVersion={version}&resourceVersionMatch=Exact");
    assert_eq!(at(|[a, ..]| exact(a)).await, (200, json!(["a"])));
    assert_eq!(at(|[_, _, c, _]| exact(c)).await, (200, json!(["a", "b", "c"])));
    assert_eq!(at(|[.., end]| exact(end)).await, now());
    assert_eq!(at(|[_, b, ..]| format!("resourceVersion={b}&limit=5")).await, (200, json!(["a", "b"])));
}

#[tokio::test(start_paused = true)]
async fn versions_that_cannot_be_shown_are_refused() {
    let timeout = || (504, json!("Timeout"));
    assert_eq!(at(|[.., end]| format!("resourceVersion={}", end + 1)).await, timeout());
    assert_eq!(
        at(|[.., end]| format!("resourceVersion={}&resourceVersionMatch=Exact", end + 1)).await,
        timeout()
    );
    assert_eq!(at(|_| "resourceVersion=x".into()).await, (400, json!("BadRequest")));
    assert_eq!(at(|_| "resourceVersionMatch=Exact".into()).await, (422, json!("Invalid")));
    assert_eq!(at(|_| "resourceVersion=0&resourceVersionMatch=Exact".into()).await, (422, json!("Invalid")));
    assert_eq!(at(|_| "sendInitialEvents=true".into()).await, (422, json!("Invalid")));
    assert_eq!(at(|_| "limit=x".into()).await, (400, json!("BadRequest")));
    let probe = Probe::new();
    let answer = probe.get(&format!("{MAPS}?resourceVersion=99")).await;
    let details = &answer.1["details"];
    assert_eq!(details["causes"][0]["reason"], "ResourceVersionTooLarge");
    assert_eq!(details["retryAfterSeconds"], 1);
}

#[tokio::test(start_paused = true)]
async fn a_list_waits_for_a_version_that_is_reached_soon() {
    let probe = Probe::new();
    let path = format!("{MAPS}?resourceVersion={}", probe.server.version() + 1);
    let (list, _) = tokio::join!(probe.get(&path), probe.make(MAPS, named("a")));
    assert_eq!(names(&list.1), ["a"]);
}

#[tokio::test(start_paused = true)]
async fn a_compacted_version_is_expired() {
    let probe = Probe::new();
    probe.make_maps(["a", "b"]).await;
    let old = probe.server.version() - 1;
    let path = format!("{MAPS}?resourceVersion={old}&resourceVersionMatch=Exact");
    assert_eq!(probe.get(&path).await.0, 200);
    probe.server.compact();
    assert_eq!(refusal(&probe.get(&path).await), (410, "Expired"));
    assert_eq!(probe.get(&format!("{MAPS}?resourceVersion={old}")).await.0, 200);
}

#[tokio::test(start_paused = true)]
async fn lists_contain_only_selected_objects() {
    let probe = Probe::new();
    for (name, tier, node) in [("a", "front", "n1"), ("b", "back", "n2"), ("c", "front", "n2")] {
        let mut pod = labelled(name, tier);
        pod["spec"] = json!({ "nodeName": node });
        probe.make(PODS, pod).await;
    }
    let table = [
        ("labelSelector=tier%3Dfront", vec!["a", "c"]),
        ("labelSelector=tier+in+(back,middle)", vec!["b"]),
        ("labelSelector=!tier", vec![]),
        ("fieldSelector=spec.nodeName%3Dn2", vec!["b", "c"]),
        ("fieldSelector=spec.nodeName%3Dn2,metadata.name!%3Db", vec!["c"]),
        ("fieldSelector=status.phase%3DPending&labelSelector=tier%3Dfront", vec!["a", "c"]),
        ("fieldSelector=metadata.namespace%3Dother", vec![]),
    ];
    for (query, expected) in table {
        assert_eq!(names(&probe.get(&format!("{PODS}?{query}")).await.1), expected, "{query}");
    }
    for query in ["fieldSelector=spec.color%3Dred", "labelSelector=a+b", "fieldSelector=x"] {
        assert_eq!(refusal(&probe.get(&format!("{PODS}?{query}")).await), (400, "BadRequest"), "{query}");
    }
}

#[tokio::test(start_paused = true)]
async fn each_object_is_in_one_shard() {
    let probe = Probe::new();
    for name in 0..20 {
        probe.make(MAPS, named(&format!("m{name}"))).await;
    }
    let mut found = Vec::new();
    for (start, end) in [("0000000000000000", "8000000000000000"), ("8000000000000000", "10000000000000000")]
    {
        let selector = format!("shardRange(object.metadata.uid, '0x{start}', '0x{end}')");
        let query: String = form_urlencoded::byte_serialize(selector.as_bytes()).collect();
        let (_, list) = probe.get(&format!("{MAPS}?shardSelector={query}")).await;
        assert_eq!(list["metadata"]["shardInfo"]["selector"], selector);
        found.push(names(&list).len());
    }
    assert_eq!(found.iter().sum::<usize>(), 20);
    assert!(found.iter().all(|part| *part < 20), "{found:?}");
}
