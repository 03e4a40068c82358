//! Requests of the server to itself, to which faults do not apply.

use crate::http::{body::Body, dispatch::respond, exempt::Exemption, gateway::Gateway};
use crate::rbac::User;
use bytes::Bytes;
use http::{Method, Request, header};
use http_body_util::{BodyExt, Full};
use serde_json::Value;
use std::sync::Arc;

/// Sends requests as a user with all permissions.
#[derive(Clone, Debug)]
pub(crate) struct Loopback {
    gateway: Arc<Gateway>,
    user: Arc<User>,
    user_agent: &'static str,
}

/// The response to a request: its code and its body.
#[derive(Clone, Debug)]
pub(crate) struct Reply {
    pub(crate) code: u16,
    pub(crate) body: Value,
}

impl Loopback {
    pub(crate) fn new(gateway: Arc<Gateway>, user_agent: &'static str) -> Self {
        Self { gateway, user: Arc::new(User::admin()), user_agent }
    }

    pub(crate) fn gateway(&self) -> &Arc<Gateway> {
        &self.gateway
    }

    pub(crate) async fn post(&self, path: &str, body: &Value) -> Reply {
        self.send(Method::POST, path, JSON, body).await
    }

    pub(crate) async fn put(&self, path: &str, body: &Value) -> Reply {
        self.send(Method::PUT, path, JSON, body).await
    }

    pub(crate) async fn delete(&self, path: &str, options: &Value) -> Reply {
        self.send(Method::DELETE, path, JSON, options).await
    }

    /// Applies a configuration, taking over the fields of other managers.
    pub(crate) async fn apply(&self, path: &str, config: &Value) -> Reply {
        let path = format!("{path}?fieldManager={}&force=true", self.user_agent);
        self.send(Method::PATCH, &path, "application/apply-patch+yaml", config).await
    }

    /// Patches an object.
    pub(crate) async fn merge(&self, path: &str, patch: &Value) -> Reply {
        self.send(Method::PATCH, path, "application/merge-patch+json", patch).await
    }

    async fn send(&self, method: Method, path: &str, media: &str, body: &Value) -> Reply {
        let request = Request::builder()
            .method(method)
            .uri(path)
            .header(header::CONTENT_TYPE, media)
            .header(header::USER_AGENT, self.user_agent)
            .extension(Arc::clone(&self.user))
            .extension(Exemption::Server)
            .body(Full::new(Bytes::from(body.to_string())));
        let Ok(request) = request else { return Reply { code: 400, body: Value::Null } };
        let response: http::Response<Body> = respond(&self.gateway, request).await;
        let code = response.status().as_u16();
        let bytes =
            response.into_body().collect().await.map(http_body_util::Collected::to_bytes).unwrap_or_default();
        Reply { code, body: serde_json::from_slice(&bytes).unwrap_or_default() }
    }
}

const JSON: &str = "application/json";

impl Reply {
    /// Returns the error message; `None` if the request succeeded.
    pub(crate) fn refusal(&self) -> Option<String> {
        (self.code >= 300).then(|| match self.body["message"].as_str() {
            Some(message) => message.to_owned(),
            None => format!("HTTP status {}", self.code),
        })
    }
}
