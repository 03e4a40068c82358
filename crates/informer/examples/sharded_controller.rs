//! Two replicas divide the namespaces of a controller, and reconcile only those of their own shards.

use k8s_openapi::api::core::v1::ConfigMap;
use kube_client::api::{Api, ListParams, PostParams};
use kube_devserver::DevServer;
use kube_leases::{Leases, Shard, ShardChange};

/// Works on one shard until it is drained or lost.
async fn work(client: kube_client::Client, shard: Shard, replica: String) {
    let maps: Api<ConfigMap> = Api::all(client);
    let reconcile_all = async {
        let Ok(list) = maps.list(&ListParams::default()).await else { return };
        for map in list.items {
            let namespace = map.metadata.namespace.unwrap_or_default();
            if shard.range().contains(kube_leases::shard_hash(&namespace)) && !shard.is_draining() {
                println!("{replica} reconciles {namespace}/{}", map.metadata.name.unwrap_or_default());
            }
        }
        shard.draining().await;
    };
    // The future is not polled any more once the Lease is lost. Dropping `shard` releases it.
    if let Err(lost) = shard.run_while_held(reconcile_all).await {
        println!("{replica}: {lost}");
    }
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let server = DevServer::start();
    for namespace in ["default", "kube-public", "kube-system"] {
        let maps: Api<ConfigMap> = Api::namespaced(server.client(), namespace);
        let mut map = ConfigMap::default();
        map.metadata.name = Some("settings".to_owned());
        maps.create(&PostParams::default(), &map).await?;
    }

    let mut replicas = Vec::new();
    for name in ["replica-1", "replica-2"] {
        let leases = Leases::shards("settings-controller", 4)
            .namespace("default")
            .identity(name)
            .start(server.client())?;
        let client = server.client();
        let mut changes = leases.changes();
        let follow = tokio::spawn(async move {
            while let Some(change) = changes.next().await {
                match change {
                    ShardChange::Gained(shard) => {
                        println!("{name} gained shard {}", shard.index());
                        tokio::spawn(work(client.clone(), shard, name.to_owned()));
                    }
                    ShardChange::Draining { shard } => println!("{name} drains shard {shard}"),
                    ShardChange::Lost { shard } => println!("{name} released shard {shard}"),
                    _ => {}
                }
            }
        });
        replicas.push((leases, follow));
    }
    // Each of them gets two of the four shards.
    for (leases, _) in &replicas {
        leases
            .wait_for(|status| status.shards.iter().filter(|shard| shard.is_held_here).count() == 2)
            .await?;
    }
    for (leases, follow) in replicas {
        leases.stop();
        leases.stopped().await;
        follow.await?;
    }
    Ok(())
}
