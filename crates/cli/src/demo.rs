//! `informer demo`: `top` on a built-in server with continuous changes and injected faults.

use crate::args::{Cli, Command, Demo};
use crate::cli_error::{Class, CliError};
use crate::cluster::{Connection, DISCOVERY, EmbeddedServer};
use crate::informers::{BACKOFF, Target};
use crate::notice::print_notice;
use crate::seed;
use crate::top::{Stage, is_terminal, show};
use clap::Parser;
use kube_client::{
    Client,
    api::{Patch, PatchParams},
};
use kube_core::DynamicObject;
use kube_devserver::{DevServer, Fault, Verb};
use kube_informer::reflector::Backoff;
use serde_json::json;
use std::time::Duration;
use tokio::sync::watch;

/// Runs the demo until it is stopped.
pub(crate) async fn run(args: &Demo) -> anyhow::Result<()> {
    if !is_terminal() {
        let failure =
            CliError::new(Class::Usage, "`demo` needs a terminal: stdin or stdout is not a terminal");
        return Err(failure.hint("use `informer watch pods --demo` for files and pipes").into());
    }
    print_notice(format!("creating {} pods", args.pods));
    let connection = Connection::embed(EmbeddedServer::start(args.pods, args.churn).await?);
    let Some(embedded) = connection.embedded() else { return Ok(()) };
    let kinds = ["pods", "deployments", "services", "configmaps", "nodes", "namespaces"];
    let catalog = connection.catalog(DISCOVERY).await?;
    let targets = catalog.known(&kinds).into_iter().map(Target::all).collect();
    let Some(Command::Top(top)) = Cli::parse_from(["informer", "top", "-A"]).command else { return Ok(()) };
    let (notice, notices) = watch::channel(None);
    // The default reset time is longer than the time between faults, so the backoff would never reset.
    let backoff = Backoff { reset: Duration::from_secs(args.fault_every / 2), ..BACKOFF };
    let stage = Stage {
        connection: &connection,
        catalog,
        targets,
        informer_args: top.informer_args,
        backoff,
        notices,
    };
    tokio::select! {
        outcome = show(stage) => outcome,
        outcome = scale(embedded.client()) => outcome,
        () = inject_faults(&embedded.server, Duration::from_secs(args.fault_every), &notice) => Ok(()),
    }
}

/// Scales one deployment after the other.
async fn scale(client: Client) -> anyhow::Result<()> {
    for step in 0_u64.. {
        let (index, wanted) = (step * 7 % 24, 1 + step * 5 % 9);
        let object: DynamicObject = serde_json::from_value(seed::deployment(index, wanted))?;
        let name = object.metadata.name.clone().unwrap_or_default();
        let (api, params) = (seed::api(&client, &object)?, PatchParams::default());
        let spec = json!({"spec": {"replicas": wanted}});
        let counts = json!({"replicas": wanted, "readyReplicas": wanted, "availableReplicas": wanted});
        tokio::time::sleep(Duration::from_millis(700)).await;
        let scaled = api.patch(&name, &params, &Patch::Merge(&spec)).await;
        tokio::time::sleep(Duration::from_millis(700)).await;
        // A fault may hit this request too; the next deployment is tried anyway.
        if scaled.is_ok() {
            let _ = api.patch_status(&name, &params, &Patch::Merge(&json!({"status": counts}))).await;
        }
    }
    Ok(())
}

/// Injects one fault after the other, and shows each while it lasts.
async fn inject_faults(server: &DevServer, every: Duration, notice: &watch::Sender<Option<String>>) {
    for step in 0_usize.. {
        tokio::time::sleep(every).await;
        let (words, lasting) = match step % 5 {
            0 => {
                server.cut_watches();
                ("all watches are closed; they resume without a list", 0)
            }
            1 => {
                server.faults().inject(Fault::refuse_connections(Duration::from_secs(6)));
                ("the server refuses connections for 6 s", 6)
            }
            2 => {
                server.compact();
                server.cut_watches();
                ("the event history is compacted: watches expire and relist", 0)
            }
            3 => {
                let busy = Fault::answer(429).retry_after(Duration::from_secs(2));
                server.faults().inject(busy.on(Verb::Watch).times(6));
                server.cut_watches();
                ("watches are closed, and the server answers new ones with 429", 4)
            }
            _ => {
                server.faults().inject(Fault::refuse_streaming_lists());
                server.compact();
                server.cut_watches();
                ("history is compacted and streaming is refused: relists use LIST", 0)
            }
        };
        notice.send_replace(Some(format!("fault: {words}")));
        tokio::time::sleep(Duration::from_secs(lasting.max(5)).min(every)).await;
        server.faults().clear();
        notice.send_replace(None);
    }
}
