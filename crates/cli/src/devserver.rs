//! `informer devserver`: a Kubernetes API server without a cluster.

use crate::args::{Controllers, Devserver};
use crate::cli_error::{Class, CliError, chain};
use crate::notice::print_notice;
use crate::seed;
use crate::signal::interruption;
use anyhow::Context;
use kube_devserver::{Churn, DevServer, Fault, Kubelet, Past, StartError};
use kube_history::History;
use serde::de;
use std::{
    convert::Infallible,
    io::{self, Write},
    path::Path,
    time::Duration,
};

/// The time between two checks of the data directory.
const DATA_CHECK: Duration = Duration::from_millis(500);

/// Runs the server until it is interrupted.
pub(crate) async fn run(args: Devserver) -> anyhow::Result<()> {
    let interrupted = interruption();
    let mut builder = DevServer::builder().listen(&args.listen).history(history(args.churn));
    if args.tls {
        builder = builder.tls(&args.tls_name);
    }
    if let Some(token) = &args.token {
        builder = builder.token(token);
    }
    if args.control {
        builder = builder.control();
    }
    let faults = args.faults.as_deref().map(read_faults).transpose()?.unwrap_or_default();
    for host in &args.allow_host {
        builder = builder.allow_host(host);
    }
    if let Some(directory) = &args.data {
        builder = builder.data(directory);
    }
    if let Some(nodes) = args.kubelet {
        builder = builder.kubelet(Kubelet::nodes(nodes.into()));
    }
    builder = builder.controllers(match args.controllers {
        Controllers::BuiltIn => kube_devserver::Controllers::BuiltIn,
        Controllers::None => kube_devserver::Controllers::None,
    });
    if let Some(dir) = &args.history {
        builder = builder.past(past(dir, &args)?);
    }
    let server = builder.start().await.map_err(|error| match error {
        StartError::Data { .. } => CliError::new(Class::Usage, chain(&error)),
        StartError::EmptyToken => CliError::new(Class::Usage, chain(&error))
            .hint("set --token or INFORMER_TOKEN to a value: an unset variable is empty"),
        error => CliError::new(Class::Other, chain(&error)),
    })?;
    let pods = args.seed.0.get("pods").copied().unwrap_or(0);
    let churning = (pods > 0).then(|| server.churn(Churn::pods(pods).rate(args.churn)));
    for (plural, count) in args.seed.0.iter().filter(|(plural, _)| *plural != "pods") {
        seed::create_objects(&server.client(), plural, *count).await?;
    }
    for fault in faults {
        server.faults().inject(fault);
    }
    if let Some(path) = &args.write_kubeconfig {
        server.write_kubeconfig(path).with_context(|| format!("cannot write {}", path.display()))?;
        writeln!(io::stdout(), "kubeconfig {}", path.display())?;
    }
    writeln!(io::stdout(), "listening on {}", server.url().unwrap_or_default())?;
    tokio::select! {
        () = interrupted => {}
        never = report_data_errors(&server) => match never {},
    }
    if let Some(churning) = churning {
        churning.stop().await;
    }
    server.stop().await;
    Ok(())
}

/// Prints when objects cannot be saved, and when they can be again.
async fn report_data_errors(server: &DevServer) -> Infallible {
    let mut last = None;
    let mut checks = tokio::time::interval(DATA_CHECK);
    loop {
        checks.tick().await;
        let error = server.data_error();
        match &error {
            Some(error) if last.is_none() => {
                print_notice(format!("cannot save objects: {error}; trying again with the next change"));
            }
            None if last.is_some() => print_notice("all objects are saved again"),
            Some(_) | None => {}
        }
        last = error;
    }
}

/// Opens the recording to serve.
fn past(dir: &Path, args: &Devserver) -> anyhow::Result<Past> {
    let history = History::open(dir).map_err(|error| {
        CliError::new(Class::Usage, chain(&error)).hint("set --history to the folder of a recording")
    })?;
    if args.speed <= 0.0 || !args.speed.is_finite() {
        let what = format!("invalid speed {}: expected a positive number", args.speed);
        return Err(CliError::new(Class::Usage, what).into());
    }
    Ok(match (args.at, args.from) {
        (Some(at), _) => Past::at(history, at),
        (None, from) => Past::starting_at(history, from.unwrap_or_default()).speed(args.speed),
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
