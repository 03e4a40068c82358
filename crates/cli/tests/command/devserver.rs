//! `devserver`, and `watch` on it.

use crate::folder::folder;
use crate::program::{Running, in_shell, informer, run};
use k8s_openapi::api::core::v1::ConfigMap;
use kube_client::{
    Api, Client, Config,
    api::{DeleteParams, PostParams},
};
use serde_json::json;

#[tokio::test(flavor = "multi_thread")]
async fn a_devserver_is_seeded_guarded_and_misbehaves() {
    let folder = folder();
    let (kubeconfig, faults) = (folder.join("kubeconfig"), folder.join("faults"));
    std::fs::write(&faults, r#"[{"fault":"answer","code":503,"verb":"watch","resource":"nodes","times":1}]"#)
        .unwrap();
    let (path, faults) = (kubeconfig.to_str().unwrap(), faults.to_str().unwrap());
    let guard = ["--tls", "--token", "secret", "--write-kubeconfig", path, "--faults", faults];
    let seeds = ["devserver", "--listen", "127.0.0.1:0", "--seed", "pods=5,nodes=2,widgets=1"];
    let mut server = Running::start(&[&seeds[..], &guard].concat());
    assert_eq!(server.line().await, format!("kubeconfig {path}"));
    assert!(server.line().await.starts_with("listening on https://127.0.0.1:"));
    let ended = run(&["watch", "po,no,widgets", "-A", "--once", "-o", "name", "--kubeconfig", path]).await;
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    let count = |prefix: &str| ended.lines().iter().filter(|line| line.starts_with(prefix)).count();
    assert_eq!((count("pod/"), count("node/"), count("widget.")), (5, 2, 1), "{}", ended.stdout);
    assert!(ended.stderr.contains("nodes: server returned 503"), "{}", ended.stderr);
    server.signal("INT").await;
    assert_eq!(server.end().await.code, Some(0));
}

#[tokio::test(flavor = "multi_thread")]
async fn an_open_address_needs_a_guard() {
    let ended = run(&["devserver", "--listen", "0.0.0.0:0"]).await;
    assert_eq!(ended.code, Some(1));
    assert!(ended.stderr.contains("that needs TLS and a token"), "{}", ended.stderr);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_empty_token_is_refused() {
    for empty in ["", " "] {
        let ended = run(&["devserver", "--listen", "0.0.0.0:0", "--tls", "--token", empty]).await;
        assert_eq!(ended.code, Some(2), "{ended:?}");
        assert!(ended.stderr.contains("the token is empty"), "{}", ended.stderr);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_kubeconfig_with_other_contents_is_not_replaced() {
    let path = folder().join("kubeconfig");
    std::fs::write(&path, "apiVersion: v1\nkind: Config\n").unwrap();
    let path_text = path.to_str().unwrap();
    let ended = run(&["devserver", "--listen", "127.0.0.1:0", "--write-kubeconfig", path_text]).await;
    assert_eq!(ended.code, Some(1), "{ended:?}");
    assert!(ended.stderr.contains("is not a kubeconfig of this server"), "{}", ended.stderr);
    assert_eq!(std::fs::read_to_string(&path).unwrap(), "apiVersion: v1\nkind: Config\n");
}

#[tokio::test(flavor = "multi_thread")]
async fn invalid_faults_are_reported() {
    let path = folder().join("faults");
    for (text, words) in [
        (r#"[{"fault":"naps"}]"#, "unknown variant `naps`"),
        (r#"{"fault":"answer","code":503,"resources":"pods"}"#, "unknown field \"resources\""),
    ] {
        std::fs::write(&path, text).unwrap();
        let ended = run(&["devserver", "--listen", "127.0.0.1:0", "--faults", path.to_str().unwrap()]).await;
        assert_eq!(ended.code, Some(2));
        assert!(ended.stderr.contains("is no list of faults"), "{}", ended.stderr);
        assert!(ended.stderr.contains(words), "{}", ended.stderr);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn objects_are_saved_and_pods_run_on_nodes() {
    let folder = folder();
    let (data, kubeconfig) = (folder.join("data"), folder.join("kubeconfig"));
    let (data, kubeconfig) = (data.to_str().unwrap(), kubeconfig.to_str().unwrap());
    let start = async |more: &[&str]| {
        let common = ["devserver", "--listen", "127.0.0.1:0", "--data", data];
        let mut server = Running::start(&[&common[..], more, &["--write-kubeconfig", kubeconfig]].concat());
        assert!(server.line().await.starts_with("kubeconfig"));
        assert!(server.line().await.starts_with("listening on"));
        server
    };
    let server = start(&["--kubelet", "2", "--seed", "configmaps=3"]).await;
    let ended =
        run(&["wait", "nodes", "--all", "--for", "condition=Ready", "--kubeconfig", kubeconfig]).await;
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    let second = run(&["devserver", "--listen", "127.0.0.1:0", "--data", data]).await;
    assert_eq!(second.code, Some(2), "{second:?}");
    assert!(second.stderr.contains("in use by another process"), "{}", second.stderr);
    server.signal("KILL").await;
    server.end().await;
    std::fs::remove_file(kubeconfig).unwrap();
    let server = start(&[]).await;
    let ended = run(&["watch", "no,cm", "-A", "--once", "-o", "name", "--kubeconfig", kubeconfig]).await;
    let count = |prefix: &str| ended.lines().iter().filter(|line| line.starts_with(prefix)).count();
    assert_eq!((count("node/"), count("configmap/")), (2, 3), "{ended:?}");
    server.signal("INT").await;
    assert_eq!(server.end().await.code, Some(0));
    let both = run(&["devserver", "--data", data, "--history", data, "--at=-1m"]).await;
    assert!(both.code == Some(2) && both.stderr.contains("--history"), "{both:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_data_directory_that_cannot_be_written_is_reported_and_the_server_continues() {
    let data = folder().join("data");
    let program = informer(&["devserver", "--listen", "127.0.0.1:0", "--data", data.to_str().unwrap()]);
    // Files have at most 2,000 blocks of 512 or 1,024 bytes. A longer one is an error, because the signal is ignored.
    let mut server = Running::start_command(in_shell("trap '' XFSZ; ulimit -f 2000; exec \"$@\"", &program));
    let line = server.line().await;
    let url = line.strip_prefix("listening on ").unwrap();
    let client = Client::try_from(Config::new(url.parse().unwrap())).unwrap();
    let maps: Api<ConfigMap> = Api::namespaced(client, "default");
    let names = ["a", "b", "c"];
    for name in names {
        let text = "a".repeat(800_000);
        let map = json!({"metadata": {"name": name}, "data": {"text": text}});
        maps.create(&PostParams::default(), &serde_json::from_value(map).unwrap()).await.unwrap();
    }
    let failed =
        "informer: cannot save objects: File too large (os error 27); trying again with the next change";
    assert_eq!(server.stderr_line().await, failed);
    for name in names {
        assert!(maps.get(name).await.is_ok());
        maps.delete(name, &DeleteParams::default()).await.unwrap();
    }
    assert_eq!(server.stderr_line().await, "informer: all objects are saved again");
    server.signal("INT").await;
    assert_eq!(server.end().await.code, Some(0));
}
