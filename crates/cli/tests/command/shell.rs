//! Completions, the man page, and the name under which kubectl finds the command.

use crate::folder::folder;
use crate::program::{end, informer, run};
use crate::server::{Cluster, pod};
use tokio::process::Command;

#[tokio::test]
async fn shells_get_their_completions() {
    for shell in ["bash", "zsh", "fish", "powershell", "elvish"] {
        let ended = run(&["completions", shell]).await;
        assert_eq!(ended.code, Some(0));
        assert!(ended.stdout.contains("field-selector"), "{shell}");
        if shell == "fish" {
            // Other values of options would be completed as files.
            let is_dynamic =
                |option: &str| ended.stdout.contains(&format!("{option} -x -a '(informer __complete"));
            assert!(is_dynamic("-s n -l namespace") && is_dynamic("-l context"), "{}", ended.stdout);
            assert!(!ended.stdout.contains(r#"-a "__complete""#), "a hidden command is completed");
        }
    }
}

#[tokio::test]
async fn the_man_page_has_the_usual_sections() {
    let ended = run(&["man"]).await;
    let sections: Vec<_> = ended.stdout.lines().filter_map(|line| line.strip_prefix(".SH ")).collect();
    for section in [
        "NAME",
        "SYNOPSIS",
        "INFORMER WATCH",
        "\"EXIT STATUS\"",
        "\"ENVIRONMENT\"",
        "\"FILES\"",
        "\"EXAMPLES\"",
    ] {
        assert!(sections.contains(&section), "no {section:?} in {sections:?}");
    }
    for words in [
        ".TH informer 1",
        "\\-\\-field\\-selector",
        "KUBECONFIG",
        "~/.kube/config",
        "informer wait pod/front",
    ] {
        assert!(ended.stdout.contains(words), "no {words:?}");
    }
    // Pages that do not exist, and a command that is for scripts.
    for words in ["informer-watch(1)", "EXTRA", "__complete"] {
        assert!(!ended.stdout.contains(words), "{words:?}");
    }
}

/// Returns the candidates for the last word of a command line.
async fn candidates(cluster: &Cluster, line: &str) -> Vec<String> {
    let mut words: Vec<_> = vec!["informer".to_owned()];
    words.extend(line.split(' ').map(str::to_owned));
    let position = (words.len() - 1).to_string();
    let mut command = informer(&["__complete", &position, "--"]);
    command.args(words).env("KUBECONFIG", cluster.config());
    let ended = end(command).await;
    assert_eq!((ended.code, ended.stderr.as_str()), (Some(0), ""));
    ended.lines().into_iter().map(str::to_owned).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn resources_names_namespaces_and_contexts_are_completed_from_the_cluster() {
    let cluster = Cluster::start().await;
    cluster.create(pod("shop", "front-1")).await;
    let resources = candidates(&cluster, "watch po").await;
    for resource in ["pods", "deployments", "nodes"] {
        assert!(resources.contains(&resource.to_owned()), "{resources:?}");
    }
    assert!(candidates(&cluster, "top pods,no").await.contains(&"pods,nodes".to_owned()));
    assert!(candidates(&cluster, "watch pods -n ").await.contains(&"shop".to_owned()));
    assert_eq!(candidates(&cluster, "watch -n shop pod/").await, ["pod/front-1"]);
    assert_eq!(candidates(&cluster, "wait -n shop pods ").await, ["front-1"]);
    let contexts = candidates(&cluster, "watch pods --context ").await;
    assert_eq!(contexts.len(), 1, "{contexts:?}");
    assert_eq!(candidates(&cluster, "watch --once -o ").await, [""; 0]);
    // If the server cannot be reached, completion prints nothing and succeeds.
    drop(cluster.server);
    let mut command = informer(&["__complete", "2", "--", "informer", "watch", "po"]);
    command.env("KUBECONFIG", &cluster.kubeconfig);
    let ended = end(command).await;
    assert_eq!((ended.code, ended.stdout.as_str(), ended.stderr.as_str()), (Some(0), "", ""));
}

#[cfg(unix)]
#[tokio::test(flavor = "multi_thread")]
async fn bash_completes_resources() {
    let cluster = Cluster::start().await;
    let folder = folder();
    std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_informer"), folder.join("informer")).unwrap();
    let script = "source <(informer completions bash)
        COMP_WORDS=(informer watch depl) COMP_CWORD=2; _informer_dynamic informer depl watch
        echo \"${COMPREPLY[@]}\"
        COMP_WORDS=(informer watch --onc) COMP_CWORD=2; _informer_dynamic informer --onc watch
        echo \"${COMPREPLY[@]}\"";
    let mut command = Command::new("bash");
    let path = format!("{}:/usr/bin:/bin", folder.display());
    command.args(["--norc", "-c", script]).env_clear().env("PATH", path).env("KUBECONFIG", cluster.config());
    let ended = end(command).await;
    assert_eq!(ended.stdout, "deployments\n--once\n", "{}", ended.stderr);
}

#[tokio::test]
async fn help_lists_the_exit_codes() {
    let ended = run(&["--help"]).await;
    assert!(ended.stdout.contains("5  the server denied access: 401 or 403"), "{}", ended.stdout);
}

#[cfg(unix)]
#[tokio::test]
async fn as_a_plugin_it_speaks_as_kubectl() {
    let path = folder().join("kubectl-informer");
    std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_informer"), &path).unwrap();
    let mut command = Command::new(path);
    command.args(["watch", "--help"]).env_clear();
    let ended = end(command).await;
    assert!(ended.stdout.contains("Usage: kubectl informer watch"), "{}", ended.stdout);
}
