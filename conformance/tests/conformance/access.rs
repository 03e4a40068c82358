//! Access control: 403 until a permission is granted, 401 until the token is renewed, 429 until there is capacity.

use crate::maps::Maps;
use k8s_openapi::api::{
    core::v1::{ConfigMap, ServiceAccount},
    flowcontrol::v1::{FlowSchema, PriorityLevelConfiguration},
    rbac::v1::{Role, RoleBinding},
};
use kube::{
    Client,
    api::{Api, DeleteParams, ListParams, PostParams},
};
use kube_conformance::{Badge, CheckedInformer, Proxy, Server, claims, eventually, strategies};
use kube_devserver::{Fault, Verb};
use serde::{Serialize, de::DeserializeOwned};
use serde_json::{Value, json};
use std::{fmt::Debug, time::Duration};

claims! {
    shared: [
        a_cache_syncs_as_soon_as_access_is_granted,
        a_token_that_has_expired_is_refused_until_it_is_renewed,
        a_watch_that_is_refused_with_429_is_retried_without_a_list,
    ],
    alone: [],
}

/// A user without permissions, and a client for it.
struct Visitor {
    maps: Maps<ConfigMap>,
    account: Option<ServiceAccount>,
    badge: Badge,
    proxy: Proxy,
    client: Client,
}

const LONG: Duration = Duration::from_secs(3600);

impl Visitor {
    async fn new(server: &Server, life: Duration) -> Self {
        let (maps, proxy) = (Maps::<ConfigMap>::new(server).await, server.proxy(1).await);
        let (account, badge) = if server.is_real() {
            let accounts: Api<ServiceAccount> = Api::namespaced(server.client(), &maps.namespace);
            let account = make(&accounts, json!({ "metadata": { "name": "visitor" } })).await;
            let token = server.token(&account, life).await.unwrap();
            (Some(account), Badge::new(token))
        } else {
            (None, Badge::new("secret"))
        };
        let client = server.client_with(&badge, &proxy);
        Self { maps, account, badge, proxy, client }
    }

    fn follow(&self) -> CheckedInformer<ConfigMap> {
        CheckedInformer::start(self.maps.source_through(self.client.clone()), strategies()[0].clone())
    }

    /// Grants read access to the config maps of the namespace.
    async fn grant(&self) {
        let roles: Api<Role> = Api::namespaced(self.maps.client.clone(), &self.maps.namespace);
        let rule = json!({ "apiGroups": [""], "resources": ["configmaps"], "verbs": ["list", "watch"] });
        make(&roles, json!({ "metadata": { "name": "reader" }, "rules": [rule] })).await;
        let bindings: Api<RoleBinding> = Api::namespaced(self.maps.client.clone(), &self.maps.namespace);
        let binding = json!({
            "metadata": { "name": "reader" },
            "subjects": [self.subject()],
            "roleRef": { "apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "reader" },
        });
        make(&bindings, binding).await;
    }

    fn subject(&self) -> Value {
        json!({ "kind": "ServiceAccount", "name": "visitor", "namespace": self.maps.namespace })
    }

    /// Returns the response of the server to this user.
    async fn code(&self) -> u16 {
        let api: Api<ConfigMap> = Api::namespaced(self.client.clone(), &self.maps.namespace);
        match api.list(&ListParams::default()).await {
            Ok(_) => 200,
            Err(kube::Error::Api(status)) => status.code,
            Err(error) => panic!("{error:?}"),
        }
    }

    async fn hears(&self, code: u16) {
        eventually("another answer", async || match self.code().await {
            answer if answer == code => Ok(()),
            answer => Err(answer.to_string()),
        })
        .await;
    }
}

async fn make<K>(api: &Api<K>, object: Value) -> K
where
    K: Clone + Debug + DeserializeOwned + Serialize,
{
    api.create(&PostParams::default(), &serde_json::from_value(object).unwrap()).await.unwrap()
}

async fn a_cache_syncs_as_soon_as_access_is_granted(server: &Server) {
    let visitor = Visitor::new(server, LONG).await;
    visitor.maps.create("secretive").await;
    let refusal = server.as_dev().map(|server| server.faults().inject(Fault::answer(403).of("configmaps")));
    let informer = visitor.follow();
    informer.failed_with("forbidden").await;
    assert!(informer.store.is_empty());
    match &refusal {
        Some(refusal) => refusal.withdraw(),
        None => visitor.grant().await,
    }
    informer.settled(&visitor.maps.api, &ListParams::default()).await;
    assert_eq!(informer.store.len(), 1);
    assert_eq!(informer.counts().replaces, 1);
    informer.stop().await;
}

async fn a_token_that_has_expired_is_refused_until_it_is_renewed(server: &Server) {
    let visitor = Visitor::new(server, Duration::from_secs(8)).await;
    if server.is_real() {
        visitor.grant().await;
        visitor.hears(200).await;
    }
    let informer = visitor.follow();
    visitor.maps.create("one").await;
    informer.settled(&visitor.maps.api, &ListParams::default()).await;
    if server.as_dev().is_some() {
        visitor.badge.renew("outdated");
    }
    // An open watch continues; the token is checked when the next one is opened.
    visitor.hears(401).await;
    visitor.maps.create("two").await;
    informer.settled(&visitor.maps.api, &ListParams::default()).await;
    visitor.proxy.cut();
    informer.failed_with("unauthorized").await;
    visitor.maps.create("three").await;
    visitor.badge.renew(match &visitor.account {
        Some(account) => server.token(account, LONG).await.unwrap(),
        None => "secret".to_owned(),
    });
    informer.settled(&visitor.maps.api, &ListParams::default()).await;
    assert!(informer.counts().replaces <= 2, "{:#?}", informer.reports());
    informer.stop().await;
}

/// R30: a 429 response does not lead to a list.
async fn a_watch_that_is_refused_with_429_is_retried_without_a_list(server: &Server) {
    let visitor = Visitor::new(server, LONG).await;
    if server.is_real() {
        visitor.grant().await;
        visitor.hears(200).await;
    }
    let informer = visitor.follow();
    informer.synced().await;
    visitor.maps.create("before").await;
    informer.settled(&visitor.maps.api, &ListParams::default()).await;
    let levels: Api<PriorityLevelConfiguration> = Api::all(server.client());
    let schemas: Api<FlowSchema> = Api::all(server.client());
    let name = format!("no-room-{}", visitor.maps.namespace);
    let mut crowd = Vec::new();
    let refusal = match server.as_dev() {
        Some(server) => Some(server.faults().inject(Fault::answer(429).on(Verb::Watch).of("configmaps"))),
        None => {
            make(&levels, no_room(&name)).await;
            make(&schemas, schema(&name, &visitor)).await;
            crowd.extend((0..8).map(|_| Crowd::enter(&visitor)));
            visitor.hears(429).await;
            None
        }
    };
    visitor.proxy.cut();
    visitor.maps.create("meanwhile").await;
    informer.failed_with("too_many_requests").await;
    match &refusal {
        Some(refusal) => refusal.withdraw(),
        None => {
            crowd.clear();
            schemas.delete(&name, &DeleteParams::default()).await.unwrap();
            levels.delete(&name, &DeleteParams::default()).await.unwrap();
        }
    }
    informer.settled(&visitor.maps.api, &ListParams::default()).await;
    assert_eq!(informer.lists(), 1, "{:#?}", informer.reports());
    informer.stop().await;
}

/// Occupies the only seat with consecutive requests, each of which waits some seconds for a future version.
struct Crowd(tokio::task::JoinHandle<()>);

impl Crowd {
    fn enter(visitor: &Visitor) -> Self {
        let api: Api<ConfigMap> = Api::namespaced(visitor.client.clone(), &visitor.maps.namespace);
        Self(tokio::spawn(async move {
            let mut pace = tokio::time::interval(Duration::from_millis(5));
            loop {
                // Most of these requests are rejected, too.
                let _ = api.list(&ListParams::default().at(&u32::MAX.to_string())).await;
                pace.tick().await;
            }
        }))
    }
}

impl Drop for Crowd {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// Creates a priority level with one seat, which rejects further requests.
fn no_room(name: &str) -> Value {
    let limited = json!({
        "nominalConcurrencyShares": 0,
        "lendablePercent": 0,
        "borrowingLimitPercent": 0,
        "limitResponse": { "type": "Reject" },
    });
    json!({ "metadata": { "name": name }, "spec": { "type": "Limited", "limited": limited } })
}

/// Assigns all requests of the user to the priority level.
fn schema(name: &str, visitor: &Visitor) -> Value {
    let account = json!({ "name": "visitor", "namespace": visitor.maps.namespace });
    let rule = json!({
        "subjects": [{ "kind": "ServiceAccount", "serviceAccount": account }],
        "resourceRules": [{ "verbs": ["*"], "apiGroups": ["*"], "resources": ["*"], "namespaces": ["*"] }],
    });
    json!({
        "metadata": { "name": name },
        "spec": {
            "priorityLevelConfiguration": { "name": name },
            "matchingPrecedence": 2,
            "distinguisherMethod": { "type": "ByUser" },
            "rules": [rule],
        },
    })
}
