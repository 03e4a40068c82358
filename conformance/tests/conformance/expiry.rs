//! Versions that have expired by compaction.

use crate::maps::Maps;
use k8s_openapi::api::core::v1::Secret;
use kube::api::ListParams;
use kube_conformance::{Follower, Server, claims, strategies};

claims! {
    shared: [],
    alone: [a_watch_whose_version_has_expired_is_followed_by_a_list],
}

/// R29: one more list, and unobserved deletions are delivered as such.
async fn a_watch_whose_version_has_expired_is_followed_by_a_list(server: &Server) {
    let secrets = Maps::<Secret>::new(server).await;
    for name in ["stays", "changes", "goes"] {
        secrets.create(name).await;
    }
    for config in strategies() {
        let proxy = server.proxy(1).await;
        let source = secrets.source_through(server.client_through(&proxy));
        let follower = Follower::start(source, config);
        follower.synced().await;
        // A watch that ends early without an event leads to a list, and this one must expire instead.
        secrets.change("stays", &proxy.address().to_string()).await;
        follower.settled(&secrets.api, &ListParams::default()).await;
        assert_eq!(follower.counts().replaces, 1);
        proxy.stall();
        secrets.change("changes", &proxy.address().to_string()).await;
        secrets.delete("goes").await;
        secrets.create("comes").await;
        server.forget_history().await;
        proxy.cut();
        proxy.resume();
        follower.settled(&secrets.api, &ListParams::default()).await;
        follower.failed_with("expired").await;
        assert_eq!(follower.unseen_deletions(), [format!("{}/goes", secrets.namespace)]);
        assert_eq!(follower.counts().replaces, 2, "{:#?}", follower.reports());
        follower.stop().await;
        secrets.delete("comes").await;
        secrets.create("goes").await;
    }
}
