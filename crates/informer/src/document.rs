//! Requests a JSON document whose size is limited.

use crate::request_body::uncloneable_body;
use http::header::{ACCEPT, ACCEPT_ENCODING};
use http_body_util::BodyExt;
use kube_client::{Client, Error, client::Body};
use kube_informer_wire::status_from_body;
use serde::de::DeserializeOwned;

/// The default maximum size: the discovery of a cluster with thousands of custom resources is smaller.
const MAX_SIZE: usize = 32 << 20;
/// The maximum length of an error response that is read.
const MAX_ERROR_SIZE: usize = 1 << 20;

/// A request for a JSON document, such as `/version`.
///
/// `kube_client::Client::request` collects a response of any size; a malicious server can make a program run out of memory with it.
/// This reads at most [`max_size`](Self::max_size) bytes. The retries of kube's client do not apply to it.
///
/// ```
/// use kube_devserver::DevServer;
/// use kube_informer::document::Request;
///
/// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let server = DevServer::start();
/// let version: serde_json::Value = Request::new("/version").max_size(64 << 10).get(&server.client()).await?;
/// assert_eq!(version["major"], "1");
/// # Ok(()) }
/// ```
#[derive(Clone, Debug)]
pub struct Request {
    path: String,
    accept: String,
    max_size: usize,
}

impl Request {
    /// Creates a request for `application/json` with a limit of 32 MiB.
    #[must_use]
    pub fn new(path: impl Into<String>) -> Self {
        Self { path: path.into(), accept: "application/json".to_owned(), max_size: MAX_SIZE }
    }

    /// Sets the header `Accept`.
    #[must_use]
    pub fn accept(mut self, accept: impl Into<String>) -> Self {
        self.accept = accept.into();
        self
    }

    /// Sets the maximum size of the response in bytes.
    #[must_use]
    pub fn max_size(mut self, bytes: usize) -> Self {
        self.max_size = bytes;
        self
    }

    /// Sends the request, and decodes the response.
    ///
    /// # Errors
    /// [`Error::Api`] if the server responds with an error, [`Error::Service`] if the response is too large, [`Error::SerdeError`] if it is
    /// not valid JSON, such as a compressed one, and any other error of the client.
    pub async fn get<T: DeserializeOwned>(&self, client: &Client) -> Result<T, Error> {
        let request = http::Request::get(&self.path)
            .header(ACCEPT, &self.accept)
            .header(ACCEPT_ENCODING, "identity")
            .body(uncloneable_body().await?)
            .map_err(Error::HttpError)?;
        let response = client.send(request).await?;
        let status = response.status();
        let limit = if status.is_success() { self.max_size } else { MAX_ERROR_SIZE };
        match (read(response.into_body(), limit).await?, status.is_success()) {
            (Collected::Complete(bytes), true) => serde_json::from_slice(&bytes).map_err(Error::SerdeError),
            (Collected::Complete(bytes) | Collected::Truncated(bytes), false) => {
                Err(Error::Api(Box::new(status_from_body(status.as_u16(), &bytes))))
            }
            (Collected::Truncated(_), true) => {
                let message =
                    format!("response to {} exceeds the limit of {} bytes", self.path, self.max_size);
                Err(Error::Service(message.into()))
            }
        }
    }
}

/// The bytes of a body, up to a limit.
enum Collected {
    Complete(Vec<u8>),
    Truncated(Vec<u8>),
}

async fn read(mut body: Body, limit: usize) -> Result<Collected, Error> {
    let mut bytes = Vec::new();
    while let Some(frame) = body.frame().await {
        let frame = frame.map_err(|error| Error::Service(error.into()))?;
        let data = frame.data_ref().map_or(&[][..], |data| data);
        if bytes.len() + data.len() > limit {
            bytes.extend_from_slice(&data[..limit - bytes.len()]);
            return Ok(Collected::Truncated(bytes));
        }
        bytes.extend_from_slice(data);
    }
    Ok(Collected::Complete(bytes))
}

#[cfg(test)]
mod tests {
    use super::*;
    use kube_devserver::{DevServer, Fault};
    use serde_json::Value;

    #[tokio::test]
    async fn a_document_up_to_the_limit_is_decoded() {
        let server = DevServer::start();
        let client = server.client();
        let whole: Value = Request::new("/version").get(&client).await.unwrap();
        assert_eq!(whole["major"], "1");
        let size = read(
            client
                .send(http::Request::get("/version").body(Body::empty()).unwrap())
                .await
                .unwrap()
                .into_body(),
            1 << 20,
        )
        .await;
        let Ok(Collected::Complete(bytes)) = size else { panic!("the version is small") };
        assert!(Request::new("/version").max_size(bytes.len()).get::<Value>(&client).await.is_ok());
        let error =
            Request::new("/version").max_size(bytes.len() - 1).get::<Value>(&client).await.unwrap_err();
        assert!(matches!(error, Error::Service(_)), "{error:?}");
        assert!(error.to_string().contains("response to /version exceeds the limit"), "{error}");
    }

    #[tokio::test]
    async fn an_error_of_the_server_is_a_status() {
        let server = DevServer::start();
        server.faults().inject(Fault::answer(503));
        let error = Request::new("/version").get::<Value>(&server.client()).await.unwrap_err();
        assert!(matches!(error, Error::Api(status) if status.code == 503));
    }
}
