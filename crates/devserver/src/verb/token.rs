//! Creates and checks the tokens of service accounts: the subresource `token`.

use crate::invalid::FieldError;
use crate::object::metadata;
use crate::rbac::{User, service_account};
use crate::verb::{
    api_response::ApiResponse,
    clock::{clock, now},
    cluster::Cluster,
    error_response::ErrorResponse,
    form::Encoding,
    request::Request,
    update::current,
};
use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use kube_informer_wire::Schema;
use serde_json::{Value, json};
use std::{collections::BTreeMap, time::Duration};
use tokio::time::Instant;

/// The issuer of tokens, and their default audience.
const ISSUER: &str = "https://kubernetes.default.svc";
/// The default duration of a token in seconds.
const DEFAULT_DURATION: i64 = 3600;
/// The minimum and the maximum duration of a token in seconds.
const MIN_DURATION: i64 = 600;
const MAX_DURATION: i64 = 1 << 32;

const API_VERSION: &str = "authentication.k8s.io/v1";
const KIND: &str = "TokenRequest";

/// Creates a token for the service account in the path.
pub(crate) fn request(cluster: &Cluster, request: &Request) -> Result<ApiResponse, ErrorResponse> {
    let object = request.object_of(API_VERSION, KIND)?;
    let (_, account) = current(cluster, request)?;
    let seconds =
        object.pointer("/spec/expirationSeconds").and_then(Value::as_i64).unwrap_or(DEFAULT_DURATION);
    let refuse = |detail: &str| {
        let error = FieldError::invalid("spec.expirationSeconds", &seconds.into(), detail);
        Err(ErrorResponse::invalid_fields("authentication.k8s.io", KIND, "", &[error]))
    };
    if seconds < MIN_DURATION {
        return refuse("may not specify a duration less than 10 minutes");
    }
    if seconds > MAX_DURATION {
        return refuse("may not specify a duration larger than 2^32 seconds");
    }
    let audiences =
        object.pointer("/spec/audiences").filter(|list| list.as_array().is_some_and(|list| !list.is_empty()));
    let audiences = audiences.cloned().unwrap_or_else(|| json!([ISSUER]));
    let namespace = request.namespace.clone().unwrap_or_default();
    let uid = metadata::text(&account, "uid");
    let name = format!("system:serviceaccount:{namespace}:{}", request.name);
    let issued = clock().as_second();
    let id = cluster.uid();
    let claims = json!({
        "iss": ISSUER, "sub": name, "aud": audiences, "iat": issued, "nbf": issued, "exp": issued + seconds, "jti": id,
        "kubernetes.io": { "namespace": namespace, "serviceaccount": { "name": request.name, "uid": uid } },
    });
    let part = |text: &[u8]| URL_SAFE_NO_PAD.encode(text);
    // The token has the format of a JSON web token, but is checked by comparison with the issued tokens: the
    // last part is random.
    let secret: Vec<u8> = (0..4).flat_map(|_| cluster.random().to_be_bytes()).collect();
    let header = json!({ "alg": "none", "typ": "JWT" }).to_string();
    let token = [part(header.as_bytes()), part(claims.to_string().as_bytes()), part(&secret)].join(".");
    let extra = BTreeMap::from([(
        "authentication.kubernetes.io/credential-id".to_owned(),
        vec![format!("JTI={id}")],
    )]);
    let user = User::new(name).with_uid(uid).with_extra(extra);
    let life = Duration::from_secs(u64::try_from(seconds).unwrap_or_default());
    cluster.tokens.insert_until(&token, user, Instant::now() + life);
    let expiration = jiff::Timestamp::from_second(issued + seconds).unwrap_or_default().to_string();
    let mut answer = json!({
        "kind": KIND,
        "apiVersion": API_VERSION,
        "metadata": { "name": request.name, "namespace": namespace, "creationTimestamp": now() },
        "spec": { "audiences": audiences, "expirationSeconds": seconds, "boundObjectRef": object.pointer("/spec/boundObjectRef") },
        "status": { "token": token, "expirationTimestamp": expiration },
    });
    if answer["spec"]["boundObjectRef"].is_null() {
        metadata::fields(&mut answer["spec"]).remove("boundObjectRef");
    }
    match (request.encoding, Schema::of(API_VERSION, KIND)) {
        (Encoding::Protobuf, Some(schema)) => {
            let message =
                schema.encode(&answer).map_err(|error| ErrorResponse::unexplained(&error.to_string()))?;
            Ok(ApiResponse::protobuf(201, schema.body(&message)))
        }
        _ => Ok(ApiResponse::json(201, answer.to_string())),
    }
}

/// Returns the user of a valid token. The token of a service account is valid while the account exists.
pub(crate) fn user(cluster: &Cluster, token: &str) -> Option<User> {
    let user = cluster.tokens.user(token)?;
    if user.uid().is_empty() {
        return Some(user);
    }
    let is_current = {
        let account = service_account(user.name())?;
        let resource = cluster.registry().resource("", "v1", "serviceaccounts").cloned()?;
        let (_, object) = cluster.read(&resource, &format!("{}/{}", account.namespace, account.name))?;
        metadata::text(&object, "uid") == user.uid()
    };
    is_current.then_some(user)
}
