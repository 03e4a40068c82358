//! The time in which network faults are noticed, and the requests that they cost.

use kube_conformance::{Direction, FaultRound, NetworkFault, Reaction, Server, claims};
use kube_informer::reflector::Strategy;
use std::time::Duration;
use tokio::join;

claims! {
    shared: [
        a_connection_that_stops_forwarding_is_replaced_after_the_idle_timeout,
        slow_and_closed_connections_end_with_the_cache_equal_to_the_server,
    ],
    alone: [],
}

/// The minimum that an informer accepts.
const IDLE_TIMEOUT: Duration = Duration::from_secs(10);

/// Time for connecting, and for a busy machine.
const TOLERANCE: Duration = Duration::from_secs(10);

async fn run(server: &Server, fault: NetworkFault, strategy: Strategy) -> Reaction {
    // Opening a watch takes four times the delay.
    let idle_timeout = if fault.is_silent() { IDLE_TIMEOUT } else { Duration::from_secs(90) };
    let round = FaultRound { fault, strategy, idle_timeout, writes_for: Duration::ZERO, seed: 1 };
    let reaction = round.run(server).await.unwrap_or_else(|error| panic!("{fault}, {strategy:?}: {error}"));
    println!("{fault}, {strategy:?}: {reaction:?}");
    assert_eq!(reaction.differences, [""; 0], "{fault}, {strategy:?}");
    reaction
}

// A2
async fn a_connection_that_stops_forwarding_is_replaced_after_the_idle_timeout(server: &Server) {
    let (watched, streamed, before_bookmark) = join!(
        run(server, NetworkFault::StopForwarding, Strategy::List),
        run(server, NetworkFault::StopForwarding, Strategy::Stream),
        run(server, NetworkFault::StopBeforeFirstBookmark, Strategy::List),
    );
    for reaction in [watched, streamed, before_bookmark] {
        let Reaction { noticed_after, recovered_after, requests, .. } = reaction;
        assert!(noticed_after < IDLE_TIMEOUT + TOLERANCE, "{noticed_after:?}");
        assert!(recovered_after < IDLE_TIMEOUT + TOLERANCE, "{recovered_after:?}");
        // The watch continues: there is no list.
        assert_eq!((requests.lists, requests.streams, requests.watches), (0, 0, 1));
    }
    let outage = NetworkFault::Outage(Duration::from_secs(15));
    let reaction = run(server, outage, Strategy::List).await;
    assert!(reaction.noticed_after < IDLE_TIMEOUT + TOLERANCE, "{reaction:?}");
    assert_eq!(reaction.requests.lists, 0, "{reaction:?}");
}

async fn slow_and_closed_connections_end_with_the_cache_equal_to_the_server(server: &Server) {
    let delay = NetworkFault::Delay(Duration::from_secs(5));
    let (delayed, delayed_stream, slow, single_bytes, to_client, to_server) = join!(
        run(server, delay, Strategy::List),
        run(server, delay, Strategy::Stream),
        run(server, NetworkFault::Bandwidth(50_000), Strategy::Stream),
        run(server, NetworkFault::SingleBytes, Strategy::List),
        run(server, NetworkFault::HalfClose(Direction::ToClient), Strategy::Stream),
        run(server, NetworkFault::HalfClose(Direction::ToServer), Strategy::List),
    );
    for reaction in [delayed, delayed_stream, slow, single_bytes, to_client, to_server] {
        assert!(reaction.noticed_after < TOLERANCE, "{reaction:?}");
        assert!(reaction.recovered_after < Duration::from_secs(60), "{reaction:?}");
        // A closed connection costs a watch, and no list. The last change may arrive just before the connection is closed.
        let requests = reaction.requests;
        assert_eq!((requests.lists, requests.streams), (0, 0), "{reaction:?}");
        assert!(requests.watches <= 2, "{reaction:?}");
    }
}
