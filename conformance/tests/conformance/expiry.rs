//! Versions that have expired by compaction.

use crate::maps::Maps;
use k8s_openapi::api::core::v1::Secret;
use kube::api::ListParams;
use kube_conformance::{CheckedInformer, Server, claims, strategies};

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
        let informer = CheckedInformer::start(source, config);
        informer.synced().await;
        // A watch that ends early without an event leads to a list, and this one must expire instead.
        secrets.change("stays", &proxy.address().to_string()).await;
        informer.settled(&secrets.api, &ListParams::default()).await;
        assert_eq!(informer.counts().replaces, 1);
        proxy.stall();
        secrets.change("changes", &proxy.address().to_string()).await;
        secrets.delete("goes").await;
        secrets.create("comes").await;
        server.forget_history().await;
        proxy.cut();
        proxy.resume();
        informer.settled(&secrets.api, &ListParams::default()).await;
        informer.failed_with("expired").await;
        assert_eq!(informer.unseen_deletions(), [format!("{}/goes", secrets.namespace)]);
        assert_eq!(informer.counts().replaces, 2, "{:#?}", informer.reports());
        informer.stop().await;
        secrets.delete("comes").await;
        secrets.create("goes").await;
    }
}
