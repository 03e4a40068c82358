//! The user of a request, and the check that the roles of that user allow it.

use crate::http::{
    gateway::bearer,
    route::{Route, Target},
};
use crate::rbac::{Attributes, ResourceAttributes, User, service_account};
use crate::verb::{Cluster, ErrorResponse, authorization, token};
use http::{HeaderMap, Method, request::Parts};
use percent_encoding::percent_decode_str;
use std::{
    collections::BTreeMap,
    sync::{Arc, LazyLock},
};

/// The user of requests without an identity.
static ADMIN: LazyLock<Arc<User>> = LazyLock::new(|| Arc::new(User::admin()));

const USER: &str = "impersonate-user";
const GROUP: &str = "impersonate-group";
const UID: &str = "impersonate-uid";
const EXTRA: &str = "impersonate-extra-";

/// Returns the user whose token an `Authorization` header carries.
pub(crate) fn authenticate(cluster: &Cluster, header: &[u8]) -> Option<User> {
    token::user(cluster, std::str::from_utf8(bearer(header)?).ok()?)
}

/// Returns the user of a request: the one that it impersonates, or else the one that sends it.
///
/// # Errors
/// 403 if the sender may not impersonate that user, 400 if the headers name groups and no user.
pub(crate) fn user(cluster: &Cluster, request: &Parts) -> Result<Arc<User>, ErrorResponse> {
    let sender = request.extensions.get::<Arc<User>>().unwrap_or(&ADMIN);
    let wanted = Impersonation::read(&request.headers)?;
    let Some(wanted) = wanted else { return Ok(Arc::clone(sender)) };
    for attributes in wanted.attributes() {
        authorization::check(cluster, sender, &Attributes::Resource(attributes))?;
    }
    Ok(Arc::new(wanted.into_user()))
}

/// Refuses a request that the roles of the user do not allow.
///
/// # Errors
/// 403 with the message of kube-apiserver.
pub(crate) fn check(
    cluster: &Cluster,
    user: &User,
    request: &Parts,
    route: Option<&Route>,
) -> Result<(), ErrorResponse> {
    if user.is_master() {
        return Ok(());
    }
    let attributes = match route {
        Some(Route::Objects(target)) => Attributes::Resource(of_target(target, request)),
        Some(Route::Health) => return Ok(()),
        Some(Route::Document(_) | Route::Swagger | Route::Control(_)) | None => Attributes::Path {
            verb: request.method.as_str().to_ascii_lowercase(),
            path: request.uri.path().to_owned(),
        },
    };
    authorization::check(cluster, user, &attributes)
}

fn of_target(target: &Target, request: &Parts) -> ResourceAttributes {
    let query = request.uri.query().unwrap_or_default();
    let verb = match (target.verb(&request.method, query), &request.method) {
        // A watch of one object is a watch only without its name in the path.
        (Some(_), &Method::GET) if target.name.is_some() => "get".to_owned(),
        (Some(verb), _) => verb.as_str().to_owned(),
        (None, &Method::POST) => "create".to_owned(),
        (None, &Method::PUT) => "update".to_owned(),
        (None, method) => method.as_str().to_ascii_lowercase(),
    };
    let name = target.name.clone().or_else(|| selected_name(query)).unwrap_or_default();
    // A namespace is an object in itself, so that a role in it can grant access to it.
    let is_namespace = target.group.is_empty() && target.plural == "namespaces";
    let namespace = if is_namespace { target.name.clone() } else { target.namespace.clone() };
    ResourceAttributes {
        verb,
        group: target.group.clone(),
        resource: target.plural.clone(),
        subresource: target.subresource.clone().unwrap_or_default(),
        namespace: namespace.unwrap_or_default(),
        name,
    }
}

/// Returns the name that a field selector demands, so that a role can allow lists and watches of one object.
fn selected_name(query: &str) -> Option<String> {
    let mut parameters = form_urlencoded::parse(query.as_bytes());
    let (_, selector) = parameters.find(|(name, _)| name == "fieldSelector")?;
    let name = selector.split(',').find_map(|one| one.strip_prefix("metadata.name="))?;
    Some(name.trim_start_matches('=').to_owned())
}

/// The user that the headers of a request name.
struct Impersonation {
    user: String,
    groups: Vec<String>,
    uid: String,
    extra: BTreeMap<String, Vec<String>>,
}

impl Impersonation {
    fn read(headers: &HeaderMap) -> Result<Option<Self>, ErrorResponse> {
        let texts = |name: &str| {
            let values = headers.get_all(name).iter();
            values.filter_map(|value| value.to_str().ok()).map(str::to_owned).collect::<Vec<_>>()
        };
        let first = |name: &str| texts(name).into_iter().next().unwrap_or_default();
        let keys = headers.keys().filter_map(|name| name.as_str().strip_prefix(EXTRA));
        let extra = keys.map(|key| {
            let decoded = percent_decode_str(key).decode_utf8_lossy().into_owned();
            (decoded, texts(&format!("{EXTRA}{key}")))
        });
        let wanted =
            Self { user: first(USER), groups: texts(GROUP), uid: first(UID), extra: extra.collect() };
        let has_more = !wanted.groups.is_empty() || !wanted.uid.is_empty() || !wanted.extra.is_empty();
        match (wanted.user.is_empty(), has_more) {
            (false, _) => Ok(Some(wanted)),
            (true, false) => Ok(None),
            (true, true) => {
                let groups = wanted.groups.join(", ");
                let message = format!("requested groups [{groups}] without impersonating a user");
                Err(ErrorResponse::bad_request(&message))
            }
        }
    }

    /// Returns what the sender must be allowed to do.
    fn attributes(&self) -> Vec<ResourceAttributes> {
        let of = |group: &str, resource: &str, name: &str| ResourceAttributes {
            verb: "impersonate".to_owned(),
            group: group.to_owned(),
            resource: resource.to_owned(),
            name: name.to_owned(),
            ..ResourceAttributes::default()
        };
        let mut all = vec![match service_account(&self.user) {
            Some(account) => ResourceAttributes {
                namespace: account.namespace.to_owned(),
                ..of("", "serviceaccounts", account.name)
            },
            None => of("", "users", &self.user),
        }];
        all.extend(self.groups.iter().map(|group| of("", "groups", group)));
        for (key, values) in &self.extra {
            let one = |value: &String| ResourceAttributes {
                subresource: key.clone(),
                ..of("authentication.k8s.io", "userextras", value)
            };
            all.extend(values.iter().map(one));
        }
        if !self.uid.is_empty() {
            all.push(of("authentication.k8s.io", "uids", &self.uid));
        }
        all
    }

    fn into_user(self) -> User {
        let user = match self.groups.is_empty() {
            true => User::new(self.user),
            false => User::with_groups(self.user, self.groups),
        };
        user.with_uid(self.uid).with_extra(self.extra)
    }
}
