//! The manager: probes, metrics, shutdown and misuse.

use crate::cluster::Cluster;
use k8s_openapi::api::core::v1::{ConfigMap, Pod};
use kube_devserver::Fault;
use kube_informer::{
    Informer,
    controller::{Action, Controller, ErrorPolicy},
    manager::{Manager, ManagerError, PrometheusRecorder},
};
use std::{
    net::SocketAddr,
    sync::{Arc, Mutex},
    time::Duration,
};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
    sync::oneshot,
};

async fn reconcile(_: Arc<ConfigMap>, work: Arc<Duration>) -> Result<Action, String> {
    tokio::time::sleep(*work).await;
    Ok(Action::await_change())
}

fn start(cluster: &Cluster) -> Informer<ConfigMap> {
    Informer::<ConfigMap>::builder(cluster.server.client()).start().unwrap()
}

/// Returns an address that is free.
async fn free_address() -> SocketAddr {
    TcpListener::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap()
}

/// Sends a request, and returns the status and the body. Retries until the server listens.
async fn request(address: SocketAddr, method: &str, path: &str) -> (u16, String) {
    let mut socket = loop {
        match TcpStream::connect(address).await {
            Ok(socket) => break socket,
            Err(_) => tokio::task::yield_now().await,
        }
    };
    socket.write_all(format!("{method} {path} HTTP/1.1\r\nHost: x\r\n\r\n").as_bytes()).await.unwrap();
    let mut text = String::new();
    socket.read_to_string(&mut text).await.unwrap();
    let (head, body) = text.split_once("\r\n\r\n").unwrap();
    (head.split(' ').nth(1).unwrap().parse().unwrap(), body.to_owned())
}

#[tokio::test]
async fn probes_and_metrics_are_served_until_the_shutdown() {
    let cluster = Cluster::new();
    cluster.create("a").await;
    let refused = cluster.server.faults().inject(Fault::answer(503).of("pods"));
    let (maps, address) = (start(&cluster), free_address().await);
    let pods = Informer::<Pod>::builder(cluster.server.client()).start().unwrap();
    let recorder = PrometheusRecorder::new();
    let (stop, stopped) = oneshot::channel::<()>();
    let manager = Manager::new()
        .informer(&maps)
        .informer(&pods)
        .controller(
            Controller::new(&maps).named("maps"),
            reconcile,
            ErrorPolicy::default(),
            Arc::new(Duration::ZERO),
        )
        .serve(address)
        .metrics(recorder.clone())
        .debug_endpoint()
        .shutdown_on(async move { drop(stopped.await) });
    assert!(manager.role_yaml("op").contains("resources: [\"configmaps\", \"pods\"]"));
    assert_eq!(manager.rbac_rules().len(), 1);
    let handle = manager.handles().remove(0);
    let running = tokio::spawn(manager.run());
    handle.idle().await;
    let (status, body) = request(address, "GET", "/readyz").await;
    assert_eq!(status, 503, "{body}");
    assert!(
        body.contains("[-]informer v1 Pod failed: not synced") && body.contains("[+]controller maps ok"),
        "{body}"
    );
    assert_eq!(request(address, "GET", "/healthz").await.0, 200, "not ready, but alive");
    refused.withdraw();
    pods.synced().await.unwrap();
    let (status, body) = request(address, "GET", "/readyz").await;
    assert_eq!((status, body.lines().last()), (200, Some("readyz check passed")), "{body}");

    metrics::with_local_recorder(&recorder, || metrics::counter!("probe_total").increment(1));
    let (status, body) = request(address, "GET", "/metrics").await;
    assert_eq!((status, body.contains("probe_total 1\n")), (200, true), "{body}");
    let (_, body) = request(address, "GET", "/debug/controllers/maps/default/a").await;
    assert!(body.contains("succeeded (attempt 1, initial list)"), "{body}");
    assert!(request(address, "GET", "/debug/controllers").await.1.starts_with("maps: Running, 0 queued"));
    assert_eq!(request(address, "GET", "/debug/controllers/maps/default/unknown").await.0, 404);
    assert_eq!(request(address, "GET", "/other").await.0, 404);
    assert_eq!(request(address, "POST", "/healthz").await.0, 405);
    stop.send(()).unwrap();
    running.await.unwrap().unwrap();
    assert!(TcpStream::connect(address).await.is_err(), "the server has ended");
}

#[tokio::test(start_paused = true)]
async fn a_failed_controller_and_a_deadline_end_all_controllers() {
    let cluster = Cluster::new();
    cluster.create("a").await;
    let (maps, others) = (start(&cluster), start(&cluster));
    maps.synced().await.unwrap();
    others.synced().await.unwrap();
    let work = |seconds| Arc::new(Duration::from_secs(seconds));
    let manager = |length| {
        Manager::new()
            .controller(Controller::new(&maps).named("one"), reconcile, ErrorPolicy::default(), work(length))
            .controller(Controller::new(&others).named("two"), reconcile, ErrorPolicy::default(), work(0))
    };
    let signal = tokio::time::sleep(Duration::from_secs(5));
    let hanging = manager(3600).shutdown_on(signal).shutdown_deadline(Duration::from_secs(25));
    let start = tokio::time::Instant::now();
    match hanging.run().await.unwrap_err() {
        ManagerError::ShutdownDeadline { names, .. } => assert_eq!(names, ["one"]),
        error => panic!("{error}"),
    }
    assert_eq!(start.elapsed(), Duration::from_secs(30));
    while maps.tasks() + others.tasks() > 4 {
        tokio::task::yield_now().await;
    }
    let running = tokio::spawn(manager(1).run());
    tokio::time::sleep(Duration::from_secs(5)).await;
    others.stop();
    match running.await.unwrap().unwrap_err() {
        ManagerError::Controller { name, .. } => assert_eq!(name, "two"),
        error => panic!("{error}"),
    }
    while maps.tasks() > 2 {
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn misuse_of_a_manager_is_an_error() {
    let cluster = Cluster::new();
    let maps = start(&cluster);
    let with_controllers = |count: usize| {
        (0..count).fold(Manager::new(), |manager, _| {
            manager.controller(
                Controller::new(&maps),
                reconcile,
                ErrorPolicy::default(),
                Arc::new(Duration::ZERO),
            )
        })
    };
    let error = with_controllers(2).run().await.unwrap_err();
    assert_eq!(error.to_string(), "two controllers are named \"v1 ConfigMap\"; call `Controller::named`");
    assert!(matches!(with_controllers(0).run().await.unwrap_err(), ManagerError::NoController));
    let taken = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let error = with_controllers(1).serve(taken.local_addr().unwrap()).run().await.unwrap_err();
    assert!(matches!(error, ManagerError::Listen { .. }), "{error}");
}

#[test]
fn a_controller_records_metrics_under_its_name() {
    let recorder = PrometheusRecorder::new();
    let runtime =
        tokio::runtime::Builder::new_current_thread().enable_all().start_paused(true).build().unwrap();
    let text = Arc::new(Mutex::new(String::new()));
    let seen = Arc::clone(&text);
    let render = recorder.clone();
    let scenario = async move {
        let cluster = Cluster::new();
        for name in ["a", "b", "broken"] {
            cluster.create(name).await;
        }
        let maps = start(&cluster);
        let fail_once = |map: Arc<ConfigMap>, failures: Arc<Mutex<u32>>| async move {
            tokio::time::sleep(Duration::from_secs(90)).await;
            let mut failures = failures.lock().unwrap();
            if map.metadata.name.as_deref() == Some("broken") && *failures == 0 {
                *failures += 1;
                return Err("once");
            }
            Ok(Action::await_change())
        };
        let controller = Controller::new(&maps).named("labels");
        let handle = controller.handle();
        let running = tokio::spawn(controller.run(fail_once, ErrorPolicy::default(), Arc::default()));
        tokio::time::sleep(Duration::from_secs(30)).await;
        *seen.lock().unwrap() = render.render();
        tokio::time::sleep(Duration::from_secs(600)).await;
        handle.idle().await;
        handle.stop();
        running.await.unwrap().unwrap();
        let text = render.render();
        for line in [
            "kube_informer_controller_reconciles_total{controller=\"labels\",result=\"success\"} 3",
            "kube_informer_controller_reconciles_total{controller=\"labels\",result=\"error\"} 1",
            "kube_informer_controller_retries_total{controller=\"labels\"} 1",
            "kube_informer_controller_reconcile_duration_seconds_count{controller=\"labels\"} 4",
            "kube_informer_controller_queue_duration_seconds_count{controller=\"labels\"} 4",
            "kube_informer_controller_queue_depth{controller=\"labels\"} 0",
            "kube_informer_controller_active_workers{controller=\"labels\"} 0",
            "kube_informer_controller_unfinished_work_seconds{controller=\"labels\"} 0",
        ] {
            assert!(text.contains(line), "{line} is not in {text}");
        }
        assert!(text.contains("handler=\"labels\"") && !text.contains("handler=\"<"), "{text}");
    };
    // All tasks run on this thread, and so within the recorder.
    metrics::with_local_recorder(&recorder, || runtime.block_on(scenario));
    let text = text.lock().unwrap();
    for line in [
        "kube_informer_controller_queue_depth{controller=\"labels\"} 2",
        "kube_informer_controller_active_workers{controller=\"labels\"} 1",
        "kube_informer_controller_max_workers{controller=\"labels\"} 1",
    ] {
        assert!(text.contains(line), "{line} is not in {text}");
    }
    let running = |name: &str| -> f64 {
        let prefix = format!("kube_informer_controller_{name}{{controller=\"labels\"}} ");
        text.lines().find_map(|line| line.strip_prefix(&prefix)).unwrap().parse().unwrap()
    };
    for gauge in ["unfinished_work_seconds", "longest_running_seconds"] {
        assert!((28.0..=30.0).contains(&running(gauge)), "{gauge}: {}", running(gauge));
    }
}
