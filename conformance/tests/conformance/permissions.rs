//! What users may do: the messages of refusals, roles, impersonation, reviews and tokens of service accounts.

use crate::maps::ask;
use http::{Request, request::Builder};
use kube::Client;
use kube_conformance::{Server, claims, eventually};
use serde_json::{Value, json};

claims! {
    shared: [
        a_refusal_names_the_user_the_verb_and_the_resource,
        a_role_allows_the_requests_that_match_its_rules,
        a_binding_to_a_missing_role_is_named,
        an_apply_that_creates_needs_the_verb_create,
        a_user_cannot_grant_permissions_that_it_lacks,
        impersonation_needs_the_verb_impersonate,
        reviews_report_the_permissions_of_users,
        invalid_reviews_are_refused,
        a_service_account_gets_a_token,
    ],
    alone: [],
}

const RBAC: &str = "/apis/rbac.authorization.k8s.io/v1";
const REVIEWS: &str = "/apis/authorization.k8s.io/v1";

/// A namespace, and a user in it who has the permissions of its roles.
struct Office {
    client: Client,
    namespace: String,
    user: String,
}

impl Office {
    async fn new(server: &Server) -> Self {
        let namespace = server.namespace().await;
        let user = format!("system:serviceaccount:{namespace}:website");
        Self { client: server.client(), namespace, user }
    }

    fn path(&self, rest: &str) -> String {
        format!("/api/v1/namespaces/{}/{rest}", self.namespace)
    }

    /// Sends a request as the user.
    async fn ask(&self, request: Builder, body: Value) -> Value {
        self.ask_as(&self.user, request, body).await
    }

    async fn ask_as(&self, user: &str, request: Builder, body: Value) -> Value {
        ask(&self.client, request.header("impersonate-user", user), body).await
    }

    /// Creates a role with these rules and gives it to a user; waits until the server knows it.
    async fn grant(&self, name: &str, subject: Value, rules: Value) {
        let role = json!({ "metadata": { "name": name }, "rules": rules });
        self.make(&format!("{RBAC}/namespaces/{}/roles", self.namespace), role).await;
        self.bind(name, subject).await;
    }

    async fn bind(&self, name: &str, subject: Value) {
        let role = json!({ "apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": name });
        let binding = json!({ "metadata": { "name": name }, "subjects": [subject], "roleRef": role });
        self.make(&format!("{RBAC}/namespaces/{}/rolebindings", self.namespace), binding).await;
    }

    async fn make(&self, path: &str, body: Value) -> Value {
        let made = ask(&self.client, Request::post(path), body).await;
        assert!(made["code"].is_null(), "{made}");
        made
    }

    /// Waits until the answer to a question about the user is this one; a real server notices new roles after a moment.
    async fn until_allowed(&self, user: &str, attributes: Value) {
        let body = json!({ "spec": { "user": user, "resourceAttributes": attributes } });
        eventually("the permission", async || {
            let review =
                ask(&self.client, Request::post(format!("{REVIEWS}/subjectaccessreviews")), body.clone())
                    .await;
            if review["status"]["allowed"] == true { Ok(()) } else { Err(review.to_string()) }
        })
        .await;
    }

    fn account(&self) -> Value {
        json!({ "kind": "ServiceAccount", "name": "website", "namespace": self.namespace })
    }
}

fn pods(office: &Office, verb: &str) -> Value {
    json!({ "verb": verb, "resource": "pods", "namespace": office.namespace })
}

async fn a_refusal_names_the_user_the_verb_and_the_resource(server: &Server) {
    let office = Office::new(server).await;
    let (namespace, user) = (&office.namespace, &office.user);
    let apps = format!("/apis/apps/v1/namespaces/{namespace}/deployments");
    let table = [
        (
            Request::get(office.path("pods")),
            "pods",
            format!("list resource \"pods\" in API group \"\" in the namespace {namespace:?}"),
        ),
        (
            Request::get(office.path("pods/a")),
            "pods \"a\"",
            format!("get resource \"pods\" in API group \"\" in the namespace {namespace:?}"),
        ),
        (
            Request::delete(office.path("pods")),
            "pods",
            format!("deletecollection resource \"pods\" in API group \"\" in the namespace {namespace:?}"),
        ),
        (
            Request::post(office.path("pods")),
            "pods",
            format!("create resource \"pods\" in API group \"\" in the namespace {namespace:?}"),
        ),
        (
            Request::put(office.path("pods/a/status")),
            "pods \"a\"",
            format!("update resource \"pods/status\" in API group \"\" in the namespace {namespace:?}"),
        ),
        (
            Request::get(format!("{apps}?watch=1")),
            "deployments.apps",
            format!("watch resource \"deployments\" in API group \"apps\" in the namespace {namespace:?}"),
        ),
        (
            Request::get(format!("{apps}/a/scale")),
            "deployments.apps \"a\"",
            format!(
                "get resource \"deployments/scale\" in API group \"apps\" in the namespace {namespace:?}"
            ),
        ),
        (
            Request::get("/api/v1/pods"),
            "pods",
            "list resource \"pods\" in API group \"\" at the cluster scope".to_owned(),
        ),
        (
            Request::get("/api/v1/nodes/a"),
            "nodes \"a\"",
            "get resource \"nodes\" in API group \"\" at the cluster scope".to_owned(),
        ),
        (
            Request::get("/api/v1/namespaces/x"),
            "namespaces \"x\"",
            "get resource \"namespaces\" in API group \"\" in the namespace \"x\"".to_owned(),
        ),
        (
            Request::get("/apis/nothing.example/v1/things"),
            "things.nothing.example",
            "list resource \"things\" in API group \"nothing.example\" at the cluster scope".to_owned(),
        ),
    ];
    for (request, what, rest) in table {
        let answer = office.ask(request, Value::Null).await;
        let expected = format!("{what} is forbidden: User {user:?} cannot {rest}");
        assert_eq!(answer["message"], expected);
        assert_eq!((&answer["code"], &answer["reason"]), (&json!(403), &json!("Forbidden")), "{answer}");
    }
    let answer = office.ask(Request::get("/metrics"), Value::Null).await;
    assert_eq!(answer["message"], format!("forbidden: User {user:?} cannot get path \"/metrics\""));
    for open in ["/version", "/api", "/apis", "/api/v1", "/openapi/v3"] {
        let answer = office.ask(Request::get(open), Value::Null).await;
        assert!(answer["code"].is_null(), "{open} {answer}");
    }
}

async fn a_role_allows_the_requests_that_match_its_rules(server: &Server) {
    let office = Office::new(server).await;
    let rules = json!([
        { "apiGroups": [""], "resources": ["configmaps"], "verbs": ["get", "list", "create"] },
        { "apiGroups": ["apps"], "resources": ["*/status"], "verbs": ["*"] },
        { "apiGroups": [""], "resources": ["secrets"], "resourceNames": ["one"], "verbs": ["get", "list"] },
    ]);
    office.grant("worker", json!({ "kind": "ServiceAccount", "name": "website" }), rules).await;
    let maps = json!({ "verb": "list", "resource": "configmaps", "namespace": office.namespace });
    office.until_allowed(&office.user, maps).await;
    let code = async |request: Builder| {
        let answer = office.ask(request, Value::Null).await;
        answer["code"].as_u64().unwrap_or(200)
    };
    let apps = format!("/apis/apps/v1/namespaces/{}/deployments", office.namespace);
    let table = [
        (Request::get(office.path("configmaps")), 200),
        (Request::get(office.path("configmaps/a")), 404),
        (Request::delete(office.path("configmaps/a")), 403),
        (Request::get("/api/v1/configmaps"), 403),
        (Request::get(format!("{apps}/a/status")), 404),
        (Request::get(format!("{apps}/a")), 403),
        (Request::get(office.path("secrets/one")), 404),
        (Request::get(office.path("secrets/two")), 403),
        (Request::get(office.path("secrets")), 403),
        (Request::get(office.path("secrets?fieldSelector=metadata.name%3Done")), 200),
        (Request::get(office.path("secrets?fieldSelector=metadata.name%3Dtwo")), 403),
    ];
    for (request, expected) in table {
        let uri = format!("{:?}", request.uri_ref());
        assert_eq!(code(request).await, expected, "{uri}");
    }
}

async fn a_binding_to_a_missing_role_is_named(server: &Server) {
    let office = Office::new(server).await;
    office.bind("worker", office.account()).await;
    let end = ": RBAC: role.rbac.authorization.k8s.io \"worker\" not found";
    eventually("the reason", async || {
        let answer = office.ask(Request::get(office.path("pods")), Value::Null).await;
        let text = answer["message"].as_str().unwrap_or_default();
        if text.ends_with(end) { Ok(()) } else { Err(answer.to_string()) }
    })
    .await;
}

async fn an_apply_that_creates_needs_the_verb_create(server: &Server) {
    let office = Office::new(server).await;
    let rules = json!([{ "apiGroups": [""], "resources": ["configmaps"], "verbs": ["patch"] }]);
    office.grant("worker", office.account(), rules).await;
    let patch =
        json!({ "verb": "patch", "resource": "configmaps", "namespace": office.namespace, "name": "a" });
    office.until_allowed(&office.user, patch).await;
    let config = json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": "a" } });
    let request = || {
        let path = office.path("configmaps/a?fieldManager=me");
        Request::patch(path).header("content-type", "application/apply-patch+yaml")
    };
    let refused = office.ask(request(), config.clone()).await;
    let expected = format!(
        "configmaps \"a\" is forbidden: User {:?} cannot create resource \"configmaps\" in API group \"\" in the namespace {:?}",
        office.user, office.namespace
    );
    assert_eq!(refused["message"], expected);
    office.make(&office.path("configmaps"), json!({ "metadata": { "name": "a" } })).await;
    assert_eq!(office.ask(request(), config).await["kind"], "ConfigMap");
}

async fn a_user_cannot_grant_permissions_that_it_lacks(server: &Server) {
    let office = Office::new(server).await;
    let rules = json!([
        { "apiGroups": ["rbac.authorization.k8s.io"], "resources": ["roles", "rolebindings"], "verbs": ["create"] },
        { "apiGroups": [""], "resources": ["pods"], "verbs": ["get"] },
    ]);
    office.grant("worker", office.account(), rules).await;
    office.until_allowed(&office.user, pods(&office, "get")).await;
    let roles = format!("{RBAC}/namespaces/{}/roles", office.namespace);
    let role = |name: &str, verbs: &[&str]| json!({ "metadata": { "name": name }, "rules": [{ "apiGroups": [""], "resources": ["pods"], "verbs": verbs }] });
    let allowed = office.ask(Request::post(&roles), role("less", &["get"])).await;
    assert_eq!(allowed["kind"], "Role", "{allowed}");
    let refused = office.ask(Request::post(&roles), role("more", &["get", "delete", "list"])).await;
    let expected = format!(
        "roles.rbac.authorization.k8s.io \"more\" is forbidden: user {:?} (groups=[\"system:serviceaccounts\" \
         \"system:serviceaccounts:{}\" \"system:authenticated\"]) is attempting to grant RBAC permissions not currently held:\n\
         {{APIGroups:[\"\"], Resources:[\"pods\"], Verbs:[\"delete\" \"list\"]}}",
        office.user, office.namespace
    );
    assert_eq!(refused["message"], expected);
}

async fn impersonation_needs_the_verb_impersonate(server: &Server) {
    let office = Office::new(server).await;
    let path = "/apis/authentication.k8s.io/v1/selfsubjectreviews";
    let who = office.ask(Request::post(path), json!({})).await;
    let groups = json!([
        "system:serviceaccounts",
        format!("system:serviceaccounts:{}", office.namespace),
        "system:authenticated"
    ]);
    assert_eq!(who["status"]["userInfo"], json!({ "username": office.user, "groups": groups }));
    let request = Request::post(path).header("impersonate-group", "a").header("impersonate-group", "b");
    let who = office.ask_as("bob", request, json!({})).await;
    assert_eq!(
        who["status"]["userInfo"],
        json!({ "username": "bob", "groups": ["a", "b", "system:authenticated"] })
    );
    let nobody = ask(&office.client, Request::post(path).header("impersonate-group", "a"), json!({})).await;
    let code = if server.is_older_than(36) { 500 } else { 400 };
    assert_eq!(nobody["code"], code, "{nobody}");
}

async fn reviews_report_the_permissions_of_users(server: &Server) {
    let office = Office::new(server).await;
    let rules = json!([{ "apiGroups": [""], "resources": ["pods"], "verbs": ["list"] }]);
    office.grant("worker", office.account(), rules).await;
    office.until_allowed(&office.user, pods(&office, "list")).await;
    let own = format!("{REVIEWS}/selfsubjectaccessreviews");
    let review = async |verb: &str| {
        let body = json!({ "spec": { "resourceAttributes": pods(&office, verb) } });
        office.ask(Request::post(&own), body).await["status"].clone()
    };
    let reason = format!(
        "RBAC: allowed by RoleBinding \"worker/{0}\" of Role \"worker\" to ServiceAccount \"website/{0}\"",
        office.namespace
    );
    assert_eq!(review("list").await, json!({ "allowed": true, "reason": reason }));
    assert_eq!(review("get").await, json!({ "allowed": false }));
    let path = json!({ "spec": { "nonResourceAttributes": { "verb": "get", "path": "/version" } } });
    assert_eq!(office.ask(Request::post(&own), path).await["status"]["allowed"], true);
    let local = format!("{REVIEWS}/namespaces/{}/localsubjectaccessreviews", office.namespace);
    let body = json!({ "metadata": { "namespace": office.namespace }, "spec": { "user": office.user, "resourceAttributes": pods(&office, "list") } });
    assert_eq!(office.make(&local, body).await["status"]["allowed"], true);
    let body = json!({ "spec": { "namespace": office.namespace } });
    let rules = office.ask(Request::post(format!("{REVIEWS}/selfsubjectrulesreviews")), body).await;
    let sorted = |list: &Value| {
        let mut texts: Vec<_> = list
            .as_array()
            .unwrap()
            .iter()
            .map(|rule| {
                let field = |name: &str| {
                    let mut all: Vec<_> =
                        rule[name].as_array().into_iter().flatten().map(ToString::to_string).collect();
                    all.sort();
                    all.join(" ")
                };
                format!(
                    "{} {} {} {}",
                    field("verbs"),
                    field("apiGroups"),
                    field("resources"),
                    field("nonResourceURLs")
                )
            })
            .collect();
        // Kubernetes 1.37 also permits every user to read these.
        texts.retain(|rule| !rule.contains("clustertrustbundles"));
        texts.sort();
        texts
    };
    assert_eq!(
        sorted(&rules["status"]["resourceRules"]),
        [
            r#""create" "authentication.k8s.io" "selfsubjectreviews" "#,
            r#""create" "authorization.k8s.io" "selfsubjectaccessreviews" "selfsubjectrulesreviews" "#,
            r#""list" "" "pods" "#,
        ]
    );
    assert_eq!(sorted(&rules["status"]["nonResourceRules"]).len(), 3, "{rules}");
}

async fn invalid_reviews_are_refused(server: &Server) {
    let office = Office::new(server).await;
    let local = format!("{REVIEWS}/namespaces/{}/localsubjectaccessreviews", office.namespace);
    let path = json!({ "verb": "get", "path": "/version" });
    let both = json!({ "resourceAttributes": pods(&office, "get"), "nonResourceAttributes": path });
    let table = [
        (format!("{REVIEWS}/selfsubjectaccessreviews"), json!({ "spec": {} }), 422),
        (format!("{REVIEWS}/selfsubjectaccessreviews"), json!({ "spec": both }), 422),
        (
            format!("{REVIEWS}/selfsubjectaccessreviews"),
            json!({ "metadata": { "name": "a" }, "spec": { "nonResourceAttributes": path } }),
            422,
        ),
        (
            format!("{REVIEWS}/subjectaccessreviews"),
            json!({ "spec": { "nonResourceAttributes": path } }),
            422,
        ),
        (
            local.clone(),
            json!({ "metadata": { "namespace": office.namespace }, "spec": { "user": "a", "nonResourceAttributes": path } }),
            422,
        ),
        (
            local,
            json!({ "metadata": { "namespace": office.namespace }, "spec": { "user": "a", "resourceAttributes": { "verb": "get" } } }),
            422,
        ),
        (format!("{REVIEWS}/selfsubjectrulesreviews"), json!({ "spec": {} }), 400),
    ];
    for (path, body, code) in table {
        let answer = ask(&office.client, Request::post(&path), body.clone()).await;
        assert_eq!(answer["code"], code, "{path} {body} {answer}");
    }
    let list =
        ask(&office.client, Request::get(format!("{REVIEWS}/subjectaccessreviews")), Value::Null).await;
    assert_eq!(list["code"], 405, "{list}");
}

async fn a_service_account_gets_a_token(server: &Server) {
    let office = Office::new(server).await;
    let accounts = office.path("serviceaccounts");
    let account = office.make(&accounts, json!({ "metadata": { "name": "robot" } })).await;
    let path = format!("{accounts}/robot/token");
    let short =
        ask(&office.client, Request::post(&path), json!({ "spec": { "expirationSeconds": 10 } })).await;
    assert_eq!(short["code"], 422, "{short}");
    let made = office.make(&path, json!({ "spec": { "expirationSeconds": 600 } })).await;
    assert_eq!(made["kind"], "TokenRequest");
    assert_eq!(made["spec"]["expirationSeconds"], 600);
    let reviews = "/apis/authentication.k8s.io/v1/tokenreviews";
    let review = office.make(reviews, json!({ "spec": { "token": made["status"]["token"] } })).await;
    let status = &review["status"];
    assert_eq!(status["authenticated"], true, "{review}");
    assert_eq!(status["user"]["username"], format!("system:serviceaccount:{}:robot", office.namespace));
    assert_eq!(status["user"]["uid"], account["metadata"]["uid"]);
    let wrong = office.make(reviews, json!({ "spec": { "token": "wrong" } })).await;
    assert_ne!(wrong["status"]["authenticated"], true, "{wrong}");
}
