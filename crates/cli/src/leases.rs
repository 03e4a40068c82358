//! `informer leases`: the members, shards and holders of leader elections and shard groups.

use crate::advice;
use crate::args::{Colour, Leases, ListStrategy};
use crate::cli_error::{Class, CliError};
use crate::cluster::connect;
use crate::kinds::Kind;
use crate::number::{age, count};
use crate::paint::{Highlight, Paint};
use crate::safe::clean_name;
use crate::signal::interruption;
use jiff::Timestamp;
use k8s_openapi::api::coordination::v1::Lease;
use kube_informer::{Informer, SyncError};
use kube_leases::{GroupKind, GroupOverview, MemberOverview, ShardOverview};
use std::{
    fmt::Write as _,
    io::{self, IsTerminal, Write},
    pin::pin,
    time::Duration,
};

/// The time between two pictures.
const FRAME: Duration = Duration::from_secs(1);

/// Shows the Leases once, or until the command is interrupted.
pub(crate) async fn run(args: Leases) -> anyhow::Result<()> {
    let connection = connect(&args.cluster).await?;
    let namespace = match (&args.namespace, args.all_namespaces) {
        (_, true) => None,
        (Some(namespace), false) => Some(namespace.clone()),
        (None, false) => connection.namespace.clone(),
    };
    let builder = Informer::<Lease>::builder(connection.client.clone());
    let leases = match &namespace {
        Some(namespace) => builder.namespace(namespace),
        None => builder,
    };
    let leases = leases.start().map_err(|error| CliError::new(Class::Usage, error.to_string()))?;
    leases.synced().await.map_err(|error| refused(&error))?;
    let paint = Paint::of_stdout(Colour::Auto);
    if args.once {
        return print(&picture(&leases, &args, paint)?);
    }
    let is_terminal = io::stdout().is_terminal();
    let mut interrupted = pin!(interruption());
    let mut last = Vec::new();
    loop {
        let overviews = overviews(&leases, &args)?;
        // Ages change all the time; a file gets a picture only after another change.
        let state: Vec<_> = overviews.iter().map(without_renewals).collect();
        if is_terminal {
            print(&format!("\x1b[H\x1b[2J{}", text(&overviews, Timestamp::now(), paint)))?;
        } else if state != last {
            print(&format!("{}\n", text(&overviews, Timestamp::now(), paint)))?;
        }
        last = state;
        tokio::select! {
            () = &mut interrupted => return Ok(()),
            () = tokio::time::sleep(FRAME) => {}
        }
    }
}

/// Explains why the Leases cannot be listed.
fn refused(error: &SyncError) -> anyhow::Error {
    let kind = Kind {
        group: "coordination.k8s.io".into(),
        version: "v1".into(),
        plural: "leases".into(),
        singular: "lease".into(),
        kind: "Lease".into(),
        has_namespaces: true,
        ..Kind::default()
    };
    advice::of_sync(error, &kind, ListStrategy::Auto).into()
}

fn print(text: &str) -> anyhow::Result<()> {
    let mut out = io::stdout().lock();
    out.write_all(text.as_bytes())?;
    Ok(out.flush()?)
}

fn picture(leases: &Informer<Lease>, args: &Leases, paint: Paint) -> anyhow::Result<String> {
    Ok(text(&overviews(leases, args)?, Timestamp::now(), paint))
}

/// Returns the selected groups.
fn overviews(leases: &Informer<Lease>, args: &Leases) -> Result<Vec<GroupOverview>, CliError> {
    let mut overviews = GroupOverview::of_leases(leases.list().iter().map(|lease| Lease::clone(lease)));
    if let Some(name) = &args.name {
        overviews.retain(|overview| overview.name == *name);
        if overviews.is_empty() {
            let what = format!("there is no Lease of a leader election or shard group named {name:?}");
            return Err(CliError::new(Class::Other, what)
                .hint("name the namespace with -n, or search all namespaces with -A"));
        }
    }
    Ok(overviews)
}

/// Returns a group without the times that change with each renewal.
fn without_renewals(overview: &GroupOverview) -> GroupOverview {
    let mut overview = overview.clone();
    overview.members.iter_mut().for_each(|member| member.renewed_at = None);
    overview.shards.iter_mut().for_each(|shard| shard.renewed_at = None);
    overview
}

/// Draws the groups.
fn text(overviews: &[GroupOverview], now: Timestamp, paint: Paint) -> String {
    let mut text = String::new();
    if overviews.is_empty() {
        text.push_str("no Leases\n");
    }
    for (number, overview) in overviews.iter().enumerate() {
        if number > 0 {
            text.push('\n');
        }
        group(&mut text, overview, now, paint);
    }
    text
}

fn group(text: &mut String, overview: &GroupOverview, now: Timestamp, paint: Paint) {
    let name = format!("{}/{}", clean_name(&overview.namespace), clean_name(&overview.name));
    let name = paint.tint(Highlight::Strong, &name);
    // Writing to a string does not fail.
    let _ = match &overview.kind {
        GroupKind::Shards { count: shards, key, .. } => {
            let shards = shards.map_or(overview.shards.len() as u64, u64::from);
            let key = key.as_deref().map(|key| format!(" by {}", clean_name(key))).unwrap_or_default();
            let members = count(overview.members.len() as u64, "member");
            writeln!(text, "{name}  {}{key}, {members}, {}", count(shards, "shard"), balance(overview, paint))
        }
        _ => writeln!(text, "{name}  leader election"),
    };
    if !overview.members.is_empty() {
        let head = ["MEMBER", "SHARDS", "RENEWED", "AGE", ""].map(str::to_owned);
        let rows = overview.members.iter().map(|member| member_row(member, now));
        table(text, std::iter::once(head).chain(rows).collect());
    }
    let head = [
        if overview.kind == GroupKind::Leader { "" } else { "SHARD" },
        "HOLDER",
        "HELD FOR",
        "TRANSITIONS",
        "",
    ];
    let rows = overview.shards.iter().map(|shard| shard_row(shard, overview, now));
    table(text, std::iter::once(head.map(str::to_owned)).chain(rows).collect());
}

fn balance(overview: &GroupOverview, paint: Paint) -> String {
    match (overview.free(), overview.imbalance()) {
        (0, 0 | 1) => "balanced".to_owned(),
        (0, imbalance) => paint.tint(Highlight::Changed, &format!("imbalance {imbalance}")),
        (free, _) => paint.tint(Highlight::Went, &format!("{} not held", count(free as u64, "shard"))),
    }
}

fn member_row(member: &MemberOverview, now: Timestamp) -> [String; 5] {
    let shards: Vec<_> = member.shards.iter().map(ToString::to_string).collect();
    let shards = match shards.len() {
        0 => "none".to_owned(),
        number => format!("{number}: {}", shards.join(" ")),
    };
    let mut notes = Vec::new();
    if member.is_leaving {
        notes.push("leaving".to_owned());
    }
    if let Some(other) = member.other_count {
        notes.push(format!("expects {}, and waits", count(other.into(), "shard")));
    }
    if is_late(member.renewed_at, member.duration, now) {
        notes.push("not renewed in time".to_owned());
    }
    [
        clean_name(&member.identity),
        shards,
        since(member.renewed_at, now),
        since(member.joined_at, now),
        notes.join(", "),
    ]
}

fn shard_row(shard: &ShardOverview, overview: &GroupOverview, now: Timestamp) -> [String; 5] {
    let is_leader = overview.kind == GroupKind::Leader;
    let index = if is_leader { String::new() } else { shard.index.to_string() };
    let holder = shard.holder.as_deref().map_or_else(|| "nobody".to_owned(), clean_name);
    let held = if shard.holder.is_some() { since(shard.acquired_at, now) } else { String::new() };
    let note = if shard.is_abandoned {
        "free: its holder has stopped".to_owned()
    } else if !is_leader || shard.holder.is_none() {
        String::new()
    } else if is_late(shard.renewed_at, shard.duration, now) {
        "not renewed in time".to_owned()
    } else {
        format!("renewed {} ago", since(shard.renewed_at, now))
    };
    [index, holder, held, shard.transitions.to_string(), note]
}

/// Returns the time since a moment, by the clock of this machine.
fn since(moment: Option<Timestamp>, now: Timestamp) -> String {
    let Some(moment) = moment else { return String::new() };
    age(Duration::try_from(now.duration_since(moment)).unwrap_or_default())
}

fn is_late(renewed: Option<Timestamp>, duration: Option<Duration>, now: Timestamp) -> bool {
    let elapsed = renewed.and_then(|renewed| Duration::try_from(now.duration_since(renewed)).ok());
    elapsed.zip(duration).is_some_and(|(elapsed, duration)| elapsed > duration)
}

fn table(text: &mut String, rows: Vec<[String; 5]>) {
    let mut widths = [0; 5];
    for row in &rows {
        for (width, cell) in widths.iter_mut().zip(row) {
            *width = cell.chars().count().max(*width);
        }
    }
    for row in rows {
        let cells = row.iter().zip(widths).filter(|(_, width)| *width > 0);
        let cells: Vec<_> = cells.map(|(cell, width)| format!("{cell:<width$}")).collect();
        let _ = writeln!(text, "  {}", cells.join("  ").trim_end());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    fn lease(name: &str, role: Option<&str>, annotations: &Value, holder: &str) -> Lease {
        let labels = role.map(
            |role| json!({ "leases.kube-informer.io/group": "web", "leases.kube-informer.io/role": role }),
        );
        serde_json::from_value(json!({
            "metadata": {
                "namespace": "ops", "name": name, "uid": name, "labels": labels, "annotations": annotations,
                "creationTimestamp": "2026-11-17T11:00:00Z",
            },
            "spec": {
                "holderIdentity": holder, "leaseTransitions": 3, "leaseDurationSeconds": 15,
                "renewTime": "2026-11-17T12:00:00.000000Z", "acquireTime": "2026-11-17T11:30:00.000000Z",
            },
        }))
        .unwrap()
    }

    #[test]
    fn a_group_is_drawn_with_its_members_and_shards() {
        let of = |member: &str| json!({ "leases.kube-informer.io/member-uid": member });
        let count =
            json!({ "leases.kube-informer.io/shards": "2", "leases.kube-informer.io/shard-key": "uid" });
        let overviews = GroupOverview::of_leases([
            lease("elected", None, &Value::Null, "pod-9"),
            lease("web", Some("group"), &count, ""),
            lease("web-member-1", Some("member"), &count, "pod-1"),
            lease("web-shard-0", Some("shard"), &of("web-member-1"), "pod-1"),
            lease("web-shard-1", Some("shard"), &of("web-member-2"), "pod-2"),
        ]);
        let now = "2026-11-17T12:00:05Z".parse().unwrap();
        let drawn = text(&overviews, now, Paint::Plain);
        let expected = "\
ops/elected  leader election
  HOLDER  HELD FOR  TRANSITIONS
  pod-9   30m       3            renewed 5s ago

ops/web  2 shards by uid, 1 member, 1 shard not held
  MEMBER  SHARDS  RENEWED  AGE
  pod-1   1: 0    5s       60m
  SHARD  HOLDER  HELD FOR  TRANSITIONS
  0      pod-1   30m       3
  1      pod-2   30m       3            free: its holder has stopped
";
        assert_eq!(drawn, expected);
        let late = text(&overviews, "2026-11-17T12:00:16Z".parse().unwrap(), Paint::Plain);
        assert_eq!(late.matches("not renewed in time").count(), 2, "{late}");
    }

    #[test]
    fn renewals_alone_are_no_change() {
        let at = |time: &str| {
            let mut lease = lease("elected", None, &Value::Null, "pod-9");
            lease.spec.as_mut().unwrap().renew_time = serde_json::from_value(json!(time)).unwrap();
            without_renewals(&GroupOverview::of_leases([lease])[0])
        };
        assert_eq!(at("2026-11-17T12:00:00.000000Z"), at("2026-11-17T12:00:05.000000Z"));
    }
}
