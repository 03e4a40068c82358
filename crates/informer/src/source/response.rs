//! Reads the responses of a server: timeouts, limits and headers.

use super::{decompress::Decompressor, error::Error};
use bytes::Bytes;
use http_body_util::BodyExt;
use kube_client::client::Body;
use kube_informer_wire::parse_retry_after;
use std::{
    sync::atomic::{AtomicU64, Ordering},
    time::{Duration, SystemTime},
};
use tokio::time::Instant;

/// Returns the delay of the header `Retry-After`: seconds, or a date that is compared with the date of the response.
pub(super) fn retry_after(headers: &http::HeaderMap) -> Option<Duration> {
    let text = |name| headers.get(name).and_then(|value: &http::HeaderValue| value.to_str().ok());
    let date = |text: &str| httpdate::parse_http_date(text.trim()).ok();
    let value = text(http::header::RETRY_AFTER)?;
    parse_retry_after(value).or_else(|| {
        let now = text(http::header::DATE).and_then(date).unwrap_or_else(SystemTime::now);
        Some(date(value)?.duration_since(now).unwrap_or_default())
    })
}

/// The maximum time without progress of a list. The timeout of the API server is a minute.
const LIST_TIMEOUT: Duration = Duration::from_secs(90);

/// Fails if no data is received for [`LIST_TIMEOUT`].
pub(super) async fn with_timeout<T>(progress: impl Future<Output = Result<T, Error>>) -> Result<T, Error> {
    let timed_out = |_| Error::Transport(format!("no data received for {LIST_TIMEOUT:?}").into());
    tokio::time::timeout(LIST_TIMEOUT, progress).await.map_err(timed_out)?
}

/// The minimum number of bytes in each [`LIST_TIMEOUT`] of a list.
const MIN_LIST_BYTES: usize = 64 << 10;

/// The pace at which a list is received. A server that sends a byte a second would delay the sync without end.
#[derive(Debug)]
pub(super) struct Pace {
    started_at: Instant,
    bytes: usize,
}

impl Pace {
    pub(super) fn new(now: Instant) -> Self {
        Self { started_at: now, bytes: 0 }
    }

    /// Records received bytes. Fails if fewer than [`MIN_LIST_BYTES`] were received in [`LIST_TIMEOUT`].
    pub(super) fn received(&mut self, bytes: usize, now: Instant) -> Result<(), Error> {
        self.bytes += bytes;
        if now - self.started_at < LIST_TIMEOUT {
            return Ok(());
        }
        if self.bytes < MIN_LIST_BYTES {
            let text = format!("only {} bytes of a list received in {LIST_TIMEOUT:?}", self.bytes);
            return Err(Error::Transport(text.into()));
        }
        *self = Self::new(now);
        Ok(())
    }
}

/// The maximum length of an error response that is read.
const MAX_ERROR_BODY: usize = 1 << 20;

/// Reads the body of an error response, up to [`MAX_ERROR_BODY`] decompressed bytes or the first error.
pub(super) async fn error_body(mut body: Body, mut decompressor: Decompressor) -> Vec<u8> {
    let mut text = Vec::new();
    while let Some(Ok(frame)) = body.frame().await {
        let Ok(data) = frame.into_data() else { continue };
        let mut decompressed = decompressor.push(data);
        while let Ok(Some(part)) = decompressed.next() {
            text.extend_from_slice(&part);
            if text.len() > MAX_ERROR_BODY {
                text.truncate(MAX_ERROR_BODY);
                return text;
            }
        }
    }
    text
}

/// The amount of data that was received, and the time of the last.
#[derive(Debug)]
pub(super) struct ReceivedData {
    created_at: Instant,
    bytes: AtomicU64,
    /// The milliseconds between the creation and the last byte; zero before the first byte.
    last_millis: AtomicU64,
}

impl ReceivedData {
    pub(super) fn new() -> Self {
        Self { created_at: Instant::now(), bytes: AtomicU64::new(0), last_millis: AtomicU64::new(0) }
    }

    pub(super) fn received(&self, bytes: usize) {
        self.bytes.fetch_add(bytes as u64, Ordering::Relaxed);
        let millis = u64::try_from(self.created_at.elapsed().as_millis()).unwrap_or(u64::MAX);
        self.last_millis.store(millis.max(1), Ordering::Relaxed);
    }

    /// Returns the number of bytes.
    pub(super) fn bytes(&self) -> u64 {
        self.bytes.load(Ordering::Relaxed)
    }

    /// Returns the time of the last byte.
    pub(super) fn last_at(&self) -> Option<Instant> {
        let millis = self.last_millis.load(Ordering::Relaxed);
        self.created_at.checked_add(Duration::from_millis(millis)).filter(|_| millis > 0)
    }
}

/// Reads the next chunk of a body and counts its bytes; `None` at the end.
pub(super) async fn next_chunk(body: &mut Body, received: &ReceivedData) -> Result<Option<Bytes>, Error> {
    while let Some(frame) = body.frame().await {
        let frame = frame.map_err(|error| Error::Transport(error.into()))?;
        if let Ok(data) = frame.into_data() {
            received.received(data.len());
            return Ok(Some(data));
        }
    }
    Ok(None)
}

#[cfg(test)]
mod tests {
    use super::*;
    use http::header::{DATE, RETRY_AFTER};

    #[test]
    fn retry_after_is_a_number_of_seconds_or_a_date() {
        let delay = |retry_after: &str, date: Option<&str>| {
            let header = |name, value: &str| (name, value.parse().unwrap());
            let date = date.map(|date| header(DATE, date));
            super::retry_after(&[header(RETRY_AFTER, retry_after)].into_iter().chain(date).collect())
        };
        let date = Some("Wed, 21 Oct 2026 07:28:00 GMT");
        assert_eq!(delay("12", date), Some(Duration::from_secs(12)));
        assert_eq!(delay("Wed, 21 Oct 2026 07:28:30 GMT", date), Some(Duration::from_secs(30)));
        assert_eq!(delay("Wed, 21 Oct 2026 07:27:00 GMT", date), Some(Duration::ZERO), "in the past");
        assert_eq!(delay("Wed, 21 Oct 2015 07:28:00 GMT", None), Some(Duration::ZERO));
        assert!(delay("Fri, 21 Oct 2196 07:28:00 GMT", None) > Some(Duration::from_secs(1 << 30)));
        for invalid in ["", "-5", "1.5", "soon", "Wed, 99 Oct 2026 07:28:00 GMT"] {
            assert_eq!(delay(invalid, date), None, "{invalid}");
        }
    }

    #[test]
    fn a_list_that_drips_fails_and_a_slow_one_does_not() {
        let started_at = Instant::now();
        let receive = |bytes_per_second: usize| {
            let mut pace = Pace::new(started_at);
            (1..=600).try_for_each(|second| {
                pace.received(bytes_per_second, started_at + Duration::from_secs(second))
            })
        };
        let error = receive(1).unwrap_err();
        assert_eq!(
            std::error::Error::source(&error).unwrap().to_string(),
            "only 90 bytes of a list received in 90s"
        );
        assert!(receive(1 << 10).is_ok());
    }
}
