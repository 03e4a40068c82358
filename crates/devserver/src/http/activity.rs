//! Closes connections on which nothing is requested.

use bytes::Bytes;
use http_body::{Frame, SizeHint};
use std::{
    pin::Pin,
    task::{Context, Poll},
    time::Duration,
};
use tokio::sync::watch;

/// The timeout of a new connection until its first request.
pub(crate) const FIRST_REQUEST: Duration = Duration::from_secs(30);
/// The timeout of a connection without a request. Clients close their connections after 90 seconds, so that
/// they do not send a request to a connection that is being closed.
const IDLE: Duration = Duration::from_secs(120);

/// Counts the active requests of a connection.
#[derive(Clone, Debug)]
pub(crate) struct Activity(watch::Sender<usize>);

/// A request that is active until this is dropped.
#[derive(Debug)]
pub(crate) struct ActiveRequest(watch::Sender<usize>);

impl Activity {
    pub(crate) fn new() -> Self {
        Self(watch::Sender::new(0))
    }

    pub(crate) fn begin(&self) -> ActiveRequest {
        self.0.send_modify(|active| *active += 1);
        ActiveRequest(self.0.clone())
    }

    /// Waits until the connection is idle for too long.
    pub(crate) async fn idle(&self) {
        let mut active = self.0.subscribe();
        let mut limit = FIRST_REQUEST;
        loop {
            let is_active = *active.borrow_and_update() > 0;
            tokio::select! {
                // Every request restarts the time, however short it is.
                _ = active.changed() => limit = IDLE,
                () = tokio::time::sleep(limit), if !is_active => return,
            }
        }
    }
}

impl Drop for ActiveRequest {
    fn drop(&mut self) {
        self.0.send_modify(|active| *active -= 1);
    }
}

/// The body of a response, whose request is active until the body is sent or dropped.
#[derive(Debug)]
pub(crate) struct ActiveBody<B> {
    body: B,
    _request: ActiveRequest,
}

impl<B> ActiveBody<B> {
    pub(crate) fn new(body: B, request: ActiveRequest) -> Self {
        Self { body, _request: request }
    }
}

impl<B: http_body::Body<Data = Bytes> + Unpin> http_body::Body for ActiveBody<B> {
    type Data = Bytes;
    type Error = B::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, B::Error>>> {
        Pin::new(&mut self.body).poll_frame(context)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::time::{Instant, sleep};

    #[tokio::test(start_paused = true)]
    async fn a_connection_without_a_request_is_idle_after_the_first_limit() {
        let began = Instant::now();
        Activity::new().idle().await;
        assert_eq!(began.elapsed(), FIRST_REQUEST);
    }

    #[tokio::test(start_paused = true)]
    async fn a_connection_is_idle_when_its_last_request_ended_long_ago() {
        let activity = Activity::new();
        let began = Instant::now();
        let requests = async {
            let request = activity.begin();
            sleep(Duration::from_secs(3600)).await;
            drop(request);
            sleep(Duration::from_secs(100)).await;
            drop(activity.begin());
        };
        tokio::join!(requests, activity.idle());
        assert_eq!(began.elapsed(), Duration::from_secs(3700) + IDLE);
    }
}
