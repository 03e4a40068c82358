//! `informer devserver`: a Kubernetes API server without a cluster.

use crate::args::{Controllers, Devserver};
use crate::cli_error::{Class, CliError, chain};
use crate::seed;
use crate::signal::interruption;
use anyhow::Context;
use kube_devserver::{Churn, DevServer, Fault, Kubelet, Past, StartError};
use kube_history::History;
use serde::de;
use std::{
    io::{self, Write},
    path::Path,
};

/// Runs the server until it is interrupted.
pub(crate) async fn run(asked: Devserver) -> anyhow::Result<()> {
    let interrupted = interruption();
    let mut builder = DevServer::builder().listen(&asked.listen).history(history(asked.churn));
    if asked.tls {
        builder = builder.tls(&asked.tls_name);
    }
    if let Some(token) = &asked.token {
        builder = builder.token(token);
    }
    if asked.control {
        builder = builder.control();
    }
    let faults = asked.faults.as_deref().map(read_faults).transpose()?.unwrap_or_default();
    for host in &asked.allow_host {
        builder = builder.allow_host(host);
    }
    if let Some(directory) = &asked.data {
        builder = builder.data(directory);
    }
    if let Some(nodes) = asked.kubelet {
        builder = builder.kubelet(Kubelet::nodes(nodes.into()));
    }
    builder = builder.controllers(match asked.controllers {
        Controllers::BuiltIn => kube_devserver::Controllers::BuiltIn,
        Controllers::None => kube_devserver::Controllers::None,
    });
    if let Some(dir) = &asked.history {
        builder = builder.past(past(dir, &asked)?);
    }
    let server = builder.start().await.map_err(|error| match error {
        StartError::Data { .. } => CliError::new(Class::Usage, chain(&error)),
        StartError::EmptyToken => CliError::new(Class::Usage, chain(&error))
            .hint("set --token or INFORMER_TOKEN to a value: an unset variable is empty"),
        error => CliError::new(Class::Other, chain(&error)),
    })?;
    let pods = asked.seed.0.get("pods").copied().unwrap_or(0);
    let churning = (pods > 0).then(|| server.churn(Churn::pods(pods).rate(asked.churn)));
    for (plural, count) in asked.seed.0.iter().filter(|(plural, _)| *plural != "pods") {
        seed::plant(&server.client(), plural, *count).await?;
    }
    for fault in faults {
        server.faults().inject(fault);
    }
    if let Some(path) = &asked.write_kubeconfig {
        server.write_kubeconfig(path).with_context(|| format!("cannot write {}", path.display()))?;
        writeln!(io::stdout(), "kubeconfig {}", path.display())?;
    }
    writeln!(io::stdout(), "listening on {}", server.url().unwrap_or_default())?;
    interrupted.await;
    if let Some(churning) = churning {
        churning.stop().await;
    }
    server.stop().await;
    Ok(())
}

/// Opens the recording to serve.
fn past(dir: &Path, asked: &Devserver) -> anyhow::Result<Past> {
    let history = History::open(dir).map_err(|error| {
        CliError::new(Class::Usage, chain(&error)).hint("set --history to the folder of a recording")
    })?;
    if asked.speed <= 0.0 || !asked.speed.is_finite() {
        let what = format!("invalid speed {}: expected a positive number", asked.speed);
        return Err(CliError::new(Class::Usage, what).into());
    }
    Ok(match (asked.at, asked.from) {
        (Some(at), _) => Past::at(history, at),
        (None, from) => Past::starting_at(history, from.unwrap_or_default()).speed(asked.speed),
    })
}

/// The number of events in the history: half a minute of them, so that a client has time to list all objects.
fn history(churn: f64) -> usize {
    const LEAST: usize = 16_384;
    ((churn * 30.0) as usize).max(LEAST)
}

/// One fault, or an array of them.
fn read_faults(path: &Path) -> anyhow::Result<Vec<Fault>> {
    let text = std::fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))?;
    Ok(faults(&text).map_err(|error| {
        CliError::new(Class::Usage, format!("{} is no list of faults: {error}", path.display())).hint(
            r#"write them as [{"fault":"answer","code":503,"verb":"list","resource":"pods","times":2}, ..]"#,
        )
    })?)
}

/// The same, of the text.
pub(crate) fn faults(text: &str) -> serde_json::Result<Vec<Fault>> {
    type Fields = serde_json::Map<String, serde_json::Value>;
    let all: Vec<Fields> = match text.trim_start().starts_with('[') {
        true => serde_json::from_str(text)?,
        false => vec![serde_json::from_str(text)?],
    };
    all.into_iter().map(fault).collect()
}

/// A fault, of which every field is known: one that is misspelt would leave a fault that strikes everywhere.
fn fault(fields: serde_json::Map<String, serde_json::Value>) -> serde_json::Result<Fault> {
    let names: Vec<_> = fields.keys().cloned().collect();
    let fault: Fault = serde_json::from_value(fields.into())?;
    let known = serde_json::to_value(&fault)?;
    match names.iter().find(|name| known.get(name.as_str()).is_none()) {
        Some(name) => Err(de::Error::custom(format!("unknown field {name:?}"))),
        None => Ok(fault),
    }
}
