//! `informer leases` against replicas of this process.

use crate::program::{Running, run};
use crate::server::Cluster;
use kube_leases::Leases;

#[tokio::test(flavor = "multi_thread")]
async fn members_shards_and_holders_are_shown() {
    let cluster = Cluster::start().await;
    let group = |identity: &str| {
        let builder = Leases::shards("websites", 4).namespace("default").identity(identity);
        builder.start(cluster.server.client()).unwrap()
    };
    let first = group("pod-1");
    let second = group("pod-2");
    let is_balanced = |status: &kube_leases::Status| {
        status.members.len() == 2 && status.members.iter().all(|member| member.shards == 2)
    };
    first.wait_for(is_balanced).await.unwrap();
    let ended = run(&["leases", "websites", "--once", "--kubeconfig", cluster.config()]).await;
    assert_eq!((ended.code, &*ended.stderr), (Some(0), ""));
    let lines = ended.lines();
    assert_eq!(lines[0], "default/websites  4 shards by namespace, 2 members, balanced");
    assert!(lines[1].starts_with("  MEMBER") && lines[2].starts_with("  pod-1   2: "), "{lines:#?}");
    assert_eq!(lines.iter().filter(|line| line.contains("  pod-2  ")).count(), 3, "{lines:#?}");

    let missing = run(&["leases", "other", "--once", "--kubeconfig", cluster.config()]).await;
    assert_eq!(missing.code, Some(1));
    assert!(missing.stderr.contains("there is no Lease of a leader election or shard group named \"other\""));

    let mut live = Running::start(&["leases", "--kubeconfig", cluster.config()]);
    assert!(live.line().await.contains("2 members, balanced"));
    second.stop();
    second.stopped().await;
    while !live.line().await.contains("1 member, balanced") {}
}
