//! Compressed and decoded objects are shown in the same way.

use crate::folder::folder;
use crate::program::{Running, run};
use crate::server::{Cluster, deployment, pod};
use crate::terminal::Terminal;
use serde_json::{Value, json};

const KEEPS: [&str; 2] = ["decoded", "compressed"];

/// More pods than are needed for a dictionary.
async fn farm() -> Cluster {
    let cluster = Cluster::start().await;
    for number in 0..300 {
        cluster
            .create(pod(if number % 3 == 0 { "shop" } else { "mail" }, &format!("worker-{number:03}")))
            .await;
    }
    cluster.create(deployment("shop", "front")).await;
    cluster
}

/// Returns a line without its time.
fn timeless(line: &str) -> String {
    match serde_json::from_str::<Value>(line) {
        Ok(mut document) => {
            document["time"] = Value::Null;
            document.to_string()
        }
        Err(_) if line.as_bytes().get(2) == Some(&b':') => line.split_once("  ").unwrap().1.to_owned(),
        Err(_) => line.to_owned(),
    }
}

/// Ages may differ by the second in which they were printed.
fn ageless(line: &str) -> String {
    let is_age = |word: &&str| word.strip_suffix('s').is_some_and(|number| number.parse::<u32>().is_ok());
    line.split_whitespace().filter(|word| !is_age(word)).collect::<Vec<_>>().join(" ")
}

#[tokio::test(flavor = "multi_thread")]
async fn one_moment_looks_the_same() {
    let cluster = farm().await;
    for (output, lines) in [("table", 304), ("name", 301), ("json", 301)] {
        let mut seen = Vec::new();
        for keep in KEEPS {
            let arguments = ["watch", "pods,deployments", "-A", "--once", "-o", output, "--storage", keep];
            let ended = run(&[&arguments[..], &["--kubeconfig", cluster.config()]].concat()).await;
            assert_eq!((ended.code, ended.stderr.as_str()), (Some(0), ""), "{keep} {output}");
            seen.push(ended.lines().into_iter().map(|line| ageless(&timeless(line))).collect::<Vec<_>>());
        }
        assert_eq!(seen[0].len(), lines, "{output}");
        assert_eq!(seen[0], seen[1], "{output}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn changes_look_the_same() {
    let cluster = farm().await;
    // A diff has a line for each added or removed field.
    for (output, lines) in [("table", [1; 4]), ("name", [1; 4]), ("json", [1; 4]), ("diff", [1, 3, 2, 1])] {
        let mut watches = KEEPS.map(|keep| {
            let arguments = ["watch", "pods", "-n", "shop", "--initial", "-o", output, "--storage", keep];
            Running::start(&[&arguments[..], &["--kubeconfig", cluster.config()]].concat())
        });
        same(&mut watches, 100).await;
        let late = pod("shop", &format!("late-{output}"));
        let worker = pod("shop", "worker-003");
        cluster.create(late.clone()).await;
        let mut told = same(&mut watches, lines[0]).await;
        cluster.patch(&late, json!({"status": {"phase": "Running"}})).await;
        told.extend(same(&mut watches, lines[1]).await);
        cluster.patch(&worker, json!({"metadata": {"labels": {output: "seen"}}})).await;
        told.extend(same(&mut watches, lines[2]).await);
        cluster.delete(&late).await;
        told.extend(same(&mut watches, lines[3]).await);
        assert_eq!(told.iter().filter(|line| line.contains("worker-003")).count(), 1, "{told:#?}");
    }
}

/// Returns this number of lines of both, without their times and sorted.
async fn same(watches: &mut [Running; 2], count: usize) -> Vec<String> {
    let mut told = [Vec::new(), Vec::new()];
    for (watch, told) in watches.iter_mut().zip(&mut told) {
        for _ in 0..count {
            told.push(timeless(&watch.line().await));
        }
        told.sort_unstable();
    }
    let [whole, compact] = told;
    assert_eq!(whole, compact);
    whole
}

#[tokio::test(flavor = "multi_thread")]
async fn statistics_and_dumps_include_compressed_objects() {
    let cluster = farm().await;
    let mut dumps = Vec::new();
    for keep in KEEPS {
        let (stats, dump) = (folder().join("stats"), folder().join("dump"));
        let files = ["--stats", stats.to_str().unwrap(), "--dump", dump.to_str().unwrap()];
        let arguments = ["watch", "pods", "-A", "--once", "-o", "name", "--storage", keep];
        let rest = ["--kubeconfig", cluster.config()];
        assert_eq!(run(&[&arguments[..], &files, &rest].concat()).await.code, Some(0));
        let stats: Value = serde_json::from_str(&std::fs::read_to_string(stats).unwrap()).unwrap();
        assert_eq!(stats["storage"], keep);
        let bytes = stats["compressed_bytes"].as_u64();
        assert_eq!(
            bytes.is_some_and(|bytes| (10_000..300_000).contains(&bytes)),
            keep == "compressed",
            "{bytes:?}"
        );
        dumps.push(std::fs::read_to_string(dump).unwrap());
    }
    assert_eq!(dumps[0].lines().count(), 300);
    assert_eq!(dumps[0], dumps[1]);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_screen_shows_the_size_of_compressed_objects() {
    let cluster = farm().await;
    let arguments = ["top", "pods", "--storage", "compressed", "--kubeconfig", cluster.config()];
    let mut terminal = Terminal::start(&arguments, &[]);
    terminal.wait("the weight of pods", |text| {
        text.contains("cache ") && text.contains(" kB; ") && text.contains("300 objects")
    });
    terminal.press("\r");
    terminal.wait_for("pods > 300 by name");
    terminal.wait_for("Pending, 0/1 ready, on node-7");
    terminal.press("\r");
    terminal.wait_for("kind: Pod");
    terminal.press("q");
    assert_eq!(terminal.end().0, 0);
}
