//! The permissions of users: roles and bindings, impersonation, tokens and reviews.

use crate::probe::{Answer, MAPS, Probe, named, read, refusal};
use http::Request;
use kube::client::Body;
use kube_devserver::{DevServer, User};
use serde_json::{Value, json};

const GROUP: &str = "/apis/rbac.authorization.k8s.io/v1";
const WEBSITE: &str = "system:serviceaccount:ops:website";

/// The clients of an administrator and of a user, for a server with the namespace `ops`.
struct Clients {
    admin: Probe,
    user: Probe,
}

impl Clients {
    async fn new(user: impl Into<User>) -> Self {
        let server = DevServer::start();
        let client = server.client_as(user);
        let admin = Probe::of(server);
        admin.make("/api/v1/namespaces", named("ops")).await;
        Self { admin, user: Probe { server: DevServer::start(), client } }
    }

    async fn role(&self, rules: Value) {
        let path = format!("{GROUP}/namespaces/ops/roles");
        self.admin.make(&path, json!({ "metadata": { "name": "worker" }, "rules": rules })).await;
    }

    async fn bind(&self, subject: Value) {
        let role = json!({ "apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "worker" });
        let binding = json!({ "metadata": { "name": "worker" }, "subjects": [subject], "roleRef": role });
        self.admin.make(&format!("{GROUP}/namespaces/ops/rolebindings"), binding).await;
    }

    async fn bind_in_cluster(&self, role: &str, subject: Value) {
        let role = json!({ "apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": role });
        let binding = json!({ "metadata": { "name": "all" }, "subjects": [subject], "roleRef": role });
        self.admin.make(&format!("{GROUP}/clusterrolebindings"), binding).await;
    }
}

fn message(answer: &Answer) -> &str {
    assert_eq!(refusal(answer), (403, "Forbidden"));
    answer.1["message"].as_str().unwrap()
}

const OPS_MAPS: &str = "/api/v1/namespaces/ops/configmaps";

#[tokio::test]
async fn a_user_without_roles_can_only_use_discovery() {
    let clients = Clients::new(WEBSITE).await;
    let user = &clients.user;
    assert_eq!(
        message(&user.get(OPS_MAPS).await),
        format!(
            r#"configmaps is forbidden: User "{WEBSITE}" cannot list resource "configmaps" in API group "" in the namespace "ops""#
        )
    );
    assert_eq!(
        message(&user.get("/apis/apps/v1/namespaces/ops/deployments/web/scale").await),
        format!(
            r#"deployments.apps "web" is forbidden: User "{WEBSITE}" cannot get resource "deployments/scale" in API group "apps" in the namespace "ops""#
        )
    );
    assert_eq!(
        message(&user.get("/api/v1/nodes").await),
        format!(
            r#"nodes is forbidden: User "{WEBSITE}" cannot list resource "nodes" in API group "" at the cluster scope"#
        )
    );
    assert_eq!(
        message(&user.get("/api/v1/namespaces/ops").await),
        format!(
            r#"namespaces "ops" is forbidden: User "{WEBSITE}" cannot get resource "namespaces" in API group "" in the namespace "ops""#
        )
    );
    assert_eq!(
        message(&user.get("/metrics").await),
        format!(r#"forbidden: User "{WEBSITE}" cannot get path "/metrics""#)
    );
    for open in ["/version", "/api", "/apis", "/api/v1", "/openapi/v3", "/healthz"] {
        assert_eq!(user.get(open).await.0, 200, "{open}");
    }
    // The permissions of other users are not limited.
    assert_eq!(clients.admin.get(OPS_MAPS).await.0, 200);
}

#[tokio::test]
async fn a_role_allows_the_requests_that_match_its_rules() {
    let clients = Clients::new(WEBSITE).await;
    clients
        .role(json!([
            { "apiGroups": [""], "resources": ["configmaps"], "verbs": ["get", "list", "create"] },
            { "apiGroups": ["apps"], "resources": ["deployments/status"], "verbs": ["*"] },
            { "apiGroups": [""], "resources": ["secrets"], "resourceNames": ["one"], "verbs": ["get", "watch"] },
        ]))
        .await;
    clients.bind(json!({ "kind": "ServiceAccount", "name": "website" })).await;
    let user = &clients.user;
    user.make(OPS_MAPS, named("a")).await;
    assert_eq!(user.get(OPS_MAPS).await.0, 200);
    assert_eq!(user.get(&format!("{OPS_MAPS}/a")).await.0, 200);
    assert_eq!(user.delete(&format!("{OPS_MAPS}/a")).await.0, 403);
    assert_eq!(user.put(&format!("{OPS_MAPS}/a"), named("a")).await.0, 403);
    assert_eq!(user.get(MAPS).await.0, 403);
    assert_eq!(user.get("/api/v1/configmaps").await.0, 403);
    let deployments = "/apis/apps/v1/namespaces/ops/deployments";
    assert_eq!(user.get(&format!("{deployments}/web/status")).await.0, 404);
    assert_eq!(user.get(&format!("{deployments}/web")).await.0, 403);
    let secrets = "/api/v1/namespaces/ops/secrets";
    assert_eq!(user.get(&format!("{secrets}/one")).await.0, 404);
    assert_eq!(user.get(&format!("{secrets}/two")).await.0, 403);
    let watch =
        |name: &str| format!("{secrets}?watch=1&timeoutSeconds=1&fieldSelector=metadata.name%3D{name}");
    assert_eq!(user.get(&watch("one")).await.0, 200);
    assert_eq!(user.get(&watch("two")).await.0, 403);
    // Each request is checked against the current rules.
    clients.admin.delete(&format!("{GROUP}/namespaces/ops/rolebindings/worker")).await;
    assert_eq!(user.get(OPS_MAPS).await.0, 403);
}

#[tokio::test]
async fn a_missing_role_is_reported_with_its_name() {
    let clients = Clients::new("alice").await;
    clients.bind(json!({ "kind": "User", "name": "alice" })).await;
    let text = clients.user.get(OPS_MAPS).await;
    assert!(
        message(&text)
            .ends_with(r#"in the namespace "ops": RBAC: role.rbac.authorization.k8s.io "worker" not found"#),
        "{text:?}"
    );
}

#[tokio::test]
async fn default_cluster_roles_apply_and_can_be_extended() {
    let clients = Clients::new(User::new("alice").group("developers")).await;
    let user = &clients.user;
    clients.bind_in_cluster("view", json!({ "kind": "Group", "name": "developers" })).await;
    assert_eq!(user.get("/api/v1/pods").await.0, 200);
    assert_eq!(user.get("/api/v1/secrets").await.0, 403);
    assert_eq!(user.post(OPS_MAPS, named("a")).await.0, 403);
    let added = json!({
        "metadata": { "name": "more", "labels": { "rbac.authorization.k8s.io/aggregate-to-view": "true" } },
        "rules": [{ "apiGroups": [""], "resources": ["secrets"], "verbs": ["list"] }],
    });
    clients.admin.make(&format!("{GROUP}/clusterroles"), added).await;
    assert_eq!(user.get("/api/v1/secrets").await.0, 200);
}

#[tokio::test]
async fn creating_by_apply_needs_the_verb_create() {
    let clients = Clients::new("alice").await;
    clients.role(json!([{ "apiGroups": [""], "resources": ["configmaps"], "verbs": ["patch"] }])).await;
    clients.bind(json!({ "kind": "User", "name": "alice" })).await;
    let path = format!("{OPS_MAPS}/a?fieldManager=me");
    let config =
        json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": "a" }, "data": { "x": "1" } });
    let apply =
        || clients.user.ask_as("application/apply-patch+yaml", http::Method::PATCH, &path, Some(&config));
    assert_eq!(
        message(&apply().await),
        r#"configmaps "a" is forbidden: User "alice" cannot create resource "configmaps" in API group "" in the namespace "ops""#
    );
    clients.admin.make(OPS_MAPS, named("a")).await;
    assert_eq!(apply().await.0, 200);
}

#[tokio::test]
async fn a_user_cannot_grant_permissions_that_it_lacks() {
    let clients = Clients::new("alice").await;
    clients
        .role(json!([
            { "apiGroups": ["rbac.authorization.k8s.io"], "resources": ["roles", "rolebindings"], "verbs": ["*"] },
            { "apiGroups": [""], "resources": ["pods"], "verbs": ["get"] },
        ]))
        .await;
    clients.bind(json!({ "kind": "User", "name": "alice" })).await;
    let roles = format!("{GROUP}/namespaces/ops/roles");
    let role = |name: &str, verbs: &[&str]| json!({ "metadata": { "name": name }, "rules": [{ "apiGroups": [""], "resources": ["pods"], "verbs": verbs }] });
    // The verb `*` on roles includes `escalate`.
    clients.user.make(&roles, role("mine", &["get", "delete"])).await;
    let narrow = json!([
        { "apiGroups": ["rbac.authorization.k8s.io"], "resources": ["roles", "rolebindings"], "verbs": ["create", "update"] },
        { "apiGroups": [""], "resources": ["pods"], "verbs": ["get"] },
    ]);
    clients.admin.patch(&format!("{roles}/worker"), json!({ "rules": narrow })).await;
    clients.user.make(&roles, role("less", &["get"])).await;
    assert_eq!(
        message(&clients.user.post(&roles, role("more", &["get", "delete", "list"])).await),
        "roles.rbac.authorization.k8s.io \"more\" is forbidden: user \"alice\" (groups=[\"system:authenticated\"]) is \
         attempting to grant RBAC permissions not currently held:\n{APIGroups:[\"\"], Resources:[\"pods\"], Verbs:[\"delete\" \"list\"]}"
    );
    let binding = json!({
        "metadata": { "name": "mine" },
        "subjects": [{ "kind": "User", "name": "alice" }],
        "roleRef": { "apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "mine" },
    });
    assert_eq!(clients.user.post(&format!("{GROUP}/namespaces/ops/rolebindings"), binding).await.0, 403);
}

async fn impersonate(probe: &Probe, path: &str, headers: &[(&str, &str)]) -> Answer {
    let mut request = Request::get(path);
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    read(probe.send(request.body(Body::empty()).unwrap()).await).await
}

#[tokio::test]
async fn impersonation_needs_the_verb_impersonate() {
    let clients = Clients::new("alice").await;
    let as_bob = [("impersonate-user", "bob"), ("impersonate-group", "developers")];
    assert_eq!(
        message(&impersonate(&clients.user, OPS_MAPS, &as_bob).await),
        r#"users "bob" is forbidden: User "alice" cannot impersonate resource "users" in API group "" at the cluster scope"#
    );
    // An administrator is allowed to, and then has the permissions of bob.
    assert_eq!(
        message(&impersonate(&clients.admin, OPS_MAPS, &as_bob).await),
        r#"configmaps is forbidden: User "bob" cannot list resource "configmaps" in API group "" in the namespace "ops""#
    );
    clients.bind_in_cluster("view", json!({ "kind": "Group", "name": "developers" })).await;
    assert_eq!(impersonate(&clients.admin, OPS_MAPS, &as_bob).await.0, 200);
    assert_eq!(impersonate(&clients.admin, OPS_MAPS, &as_bob[..1]).await.0, 403);
    assert_eq!(refusal(&impersonate(&clients.admin, OPS_MAPS, &as_bob[1..]).await), (400, "BadRequest"));
    let account = [("impersonate-user", WEBSITE)];
    clients
        .role(json!([{ "apiGroups": [""], "resources": ["serviceaccounts"], "verbs": ["impersonate"] }]))
        .await;
    clients.bind(json!({ "kind": "User", "name": "alice" })).await;
    let refused = impersonate(&clients.user, OPS_MAPS, &account).await;
    assert!(message(&refused).contains(&format!("User {WEBSITE:?} cannot list")), "{refused:?}");
}

#[tokio::test]
async fn reviews_report_the_permissions_of_users() {
    let clients = Clients::new(WEBSITE).await;
    clients.role(json!([{ "apiGroups": [""], "resources": ["pods"], "verbs": ["list"] }])).await;
    clients.bind(json!({ "kind": "ServiceAccount", "name": "website" })).await;
    let pods = |verb: &str| json!({ "verb": verb, "resource": "pods", "namespace": "ops" });
    let reviews = "/apis/authorization.k8s.io/v1";
    let own = |verb: &str| json!({ "spec": { "resourceAttributes": pods(verb) } });
    let own_path = format!("{reviews}/selfsubjectaccessreviews");
    let allowed = clients.user.make(&own_path, own("list")).await;
    let reason =
        r#"RBAC: allowed by RoleBinding "worker/ops" of Role "worker" to ServiceAccount "website/ops""#;
    assert_eq!(allowed["status"], json!({ "allowed": true, "reason": reason }));
    assert_eq!(clients.user.make(&own_path, own("get")).await["status"], json!({ "allowed": false }));
    assert_eq!(clients.admin.make(&own_path, own("get")).await["status"], json!({ "allowed": true }));

    let of = |user: &str| json!({ "spec": { "resourceAttributes": pods("list"), "user": user } });
    let path = format!("{reviews}/subjectaccessreviews");
    assert_eq!(clients.admin.make(&path, of(WEBSITE)).await["status"]["allowed"], true);
    assert_eq!(clients.admin.make(&path, of("bob")).await["status"]["allowed"], false);
    assert_eq!(clients.user.post(&path, of("bob")).await.0, 403);
    assert_eq!(refusal(&clients.admin.post(&path, own("list")).await), (422, "Invalid"));
    assert_eq!(refusal(&clients.admin.post(&own_path, json!({ "spec": {} })).await), (422, "Invalid"));
    assert_eq!(clients.admin.get(&path).await.0, 405);

    let local = |namespace: &str| format!("{reviews}/namespaces/{namespace}/localsubjectaccessreviews");
    let mut review = of(WEBSITE);
    review["metadata"] = json!({ "namespace": "ops" });
    assert_eq!(clients.admin.make(&local("ops"), review).await["status"]["allowed"], true);
    let mut other = of(WEBSITE);
    other["metadata"] = json!({ "namespace": "default" });
    assert_eq!(refusal(&clients.admin.post(&local("default"), other).await), (422, "Invalid"));

    let rules = clients
        .user
        .make(&format!("{reviews}/selfsubjectrulesreviews"), json!({ "spec": { "namespace": "ops" } }))
        .await;
    let rules = rules["status"]["resourceRules"].as_array().unwrap();
    assert!(
        rules.contains(&json!({ "apiGroups": [""], "resources": ["pods"], "verbs": ["list"] })),
        "{rules:?}"
    );

    let who = clients.user.make("/apis/authentication.k8s.io/v1/selfsubjectreviews", json!({})).await;
    assert_eq!(
        who["status"]["userInfo"],
        json!({ "username": WEBSITE, "groups": ["system:serviceaccounts", "system:serviceaccounts:ops", "system:authenticated"] })
    );
}

#[tokio::test(start_paused = true)]
async fn a_token_of_a_service_account_expires_and_ends_with_the_account() {
    let probe = Probe::new();
    let accounts = "/api/v1/namespaces/default/serviceaccounts";
    let account = probe.make(accounts, named("robot")).await;
    let path = format!("{accounts}/robot/token");
    let token = |seconds: u64| json!({ "spec": { "expirationSeconds": seconds } });
    let review = |token: &Value| {
        let body = json!({ "spec": { "token": token } });
        let probe = &probe;
        async move { probe.make("/apis/authentication.k8s.io/v1/tokenreviews", body).await["status"].clone() }
    };
    assert_eq!(refusal(&probe.post(&path, token(10)).await), (422, "Invalid"));
    assert_eq!(probe.post(&format!("{accounts}/nobody/token"), token(600)).await.0, 404);
    let made = probe.make(&path, token(600)).await;
    let first = &made["status"]["token"];
    let status = review(first).await;
    assert_eq!(status["authenticated"], true, "{status}");
    assert_eq!(status["user"]["username"], "system:serviceaccount:default:robot");
    assert_eq!(status["user"]["uid"], account["metadata"]["uid"]);
    tokio::time::advance(std::time::Duration::from_secs(601)).await;
    assert_eq!(review(first).await, json!({ "user": {} }));
    let second = probe.make(&path, token(600)).await;
    assert_eq!(review(&second["status"]["token"]).await["authenticated"], true);
    probe.delete(&format!("{accounts}/robot")).await;
    probe.make(accounts, named("robot")).await;
    assert_eq!(review(&second["status"]["token"]).await, json!({ "user": {} }));
}

#[tokio::test]
async fn a_socket_identifies_users_by_their_tokens() {
    let builder = DevServer::builder().listen("127.0.0.1:0").token("secret");
    let server = builder.user("alice", "alices").start().await.unwrap();
    let ask = |token: &str| {
        let mut config = kube::Config::new(server.url().unwrap().parse().unwrap());
        config.auth_info.token = Some(token.to_owned().into());
        let client = kube::Client::try_from(config).unwrap();
        async move {
            let request = Request::get(MAPS).body(Body::empty()).unwrap();
            read(client.send(request).await.unwrap()).await
        }
    };
    assert_eq!(ask("secret").await.0, 200);
    assert!(message(&ask("alices").await).contains("User \"alice\" cannot list"));
    assert_eq!(refusal(&ask("wrong").await), (401, "Unauthorized"));
    server.stop().await;
}
