//! Tests that the role of the manager is sufficient and minimal.

use super::{
    World,
    operator::{Context, Dns, MANAGER, WebsiteInformers, manager},
    start_leases,
};
use k8s_openapi::api::rbac::v1::{ClusterRole, ClusterRoleBinding, PolicyRule};
use kube::api::{Api, DeleteParams, Patch, PatchParams, PostParams};
use kube_informer::controller::events::Recorder;
use serde_json::json;
use std::{sync::Arc, time::Duration};
use tokio::time::sleep;

const USER: &str = "system:serviceaccount:ops:website";

impl World {
    /// Binds a role with these rules to the service account of the operator.
    async fn bind(&self, rules: Vec<PolicyRule>) {
        let roles: Api<ClusterRole> = Api::all(self.server.client());
        let bindings: Api<ClusterRoleBinding> = Api::all(self.server.client());
        let role = json!({ "metadata": { "name": MANAGER }, "rules": rules });
        roles.create(&PostParams::default(), &serde_json::from_value(role).unwrap()).await.unwrap();
        let binding = json!({
            "metadata": { "name": MANAGER },
            "roleRef": { "apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": MANAGER },
            "subjects": [{ "kind": "ServiceAccount", "namespace": "ops", "name": "website" }],
        });
        bindings.create(&PostParams::default(), &serde_json::from_value(binding).unwrap()).await.unwrap();
    }
}

/// Returns the rules of the manager of the operator.
fn rules(world: &World) -> Vec<PolicyRule> {
    let client = world.server.client();
    let leases = start_leases(&client);
    let context = Arc::new(Context {
        recorder: Recorder::new(client.clone(), MANAGER),
        informers: WebsiteInformers::start(&client).unwrap(),
        dns: Dns::default(),
        client,
    });
    manager(&context, &leases).rbac_rules()
}

/// Runs the operator with these rules through the life of a website. Returns the first thing that it cannot do.
async fn run_with(rules: Vec<PolicyRule>) -> Result<(), &'static str> {
    let world = World::new().await;
    world.bind(rules).await;
    let operator = world.start_with(world.server.client_as(USER), Dns::default());
    world.create("shop", "one").await;
    // Longer than the first backoffs of a failing reconcile.
    let settled = || async {
        sleep(Duration::from_secs(20)).await;
    };
    settled().await;
    let owned = [
        world.page("shop").await.is_some(),
        world.deployments.get_opt("shop").await.unwrap().is_some(),
        world.is_ready("shop").await.is_some(),
    ];
    if owned != [true; 3] {
        return Err("the website is not created");
    }
    let events: Api<k8s_openapi::api::core::v1::Event> = Api::default_namespaced(world.server.client());
    if events.list(&Default::default()).await.unwrap().items.is_empty() {
        return Err("no event is recorded");
    }
    // A change of an owned object is observed and corrected.
    let scaled = Patch::Merge(json!({ "spec": { "replicas": 7 } }));
    world.deployments.patch("shop", &PatchParams::default(), &scaled).await.unwrap();
    settled().await;
    if world.deployments.get("shop").await.unwrap().spec.replicas != Some(2) {
        return Err("a change of the deployment is not corrected");
    }
    world.websites.delete("shop", &DeleteParams::default()).await.unwrap();
    settled().await;
    if world.websites.get_opt("shop").await.unwrap().is_some() {
        return Err("the website is not cleaned up");
    }
    operator.running.abort();
    Ok(())
}

#[tokio::test(start_paused = true)]
async fn the_rules_of_the_manager_are_sufficient() {
    let rules = rules(&World::new().await);
    assert_eq!(run_with(rules).await, Ok(()));
}

#[tokio::test(start_paused = true)]
async fn the_role_of_the_lease_is_in_its_namespace_and_for_its_name() {
    let world = World::new().await;
    let client = world.server.client();
    let leases = start_leases(&client);
    let context = Arc::new(Context {
        recorder: Recorder::new(client.clone(), MANAGER),
        informers: WebsiteInformers::start(&client).unwrap(),
        dns: Dns::default(),
        client,
    });
    let roles = manager(&context, &leases).role_yaml(MANAGER);
    let role = roles.split("---\n").nth(1).expect("a ClusterRole and a Role");
    let expected = "\
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata:
  name: website-operator
  namespace: default
rules:
  - apiGroups: [\"coordination.k8s.io\"]
    resources: [\"leases\"]
    verbs: [\"create\"]
  - apiGroups: [\"coordination.k8s.io\"]
    resources: [\"leases\"]
    resourceNames: [\"website-operator\"]
    verbs: [\"get\", \"list\", \"watch\", \"update\"]
";
    assert_eq!(role, expected);
}

#[tokio::test(start_paused = true)]
async fn without_rules_the_operator_can_do_nothing() {
    assert_eq!(run_with(Vec::new()).await, Err("the website is not created"));
}

/// Permissions that only rare situations need.
const RARE: [(&str, &str); 4] = [
    // After a conflict of the finalizer.
    ("websites", "get"),
    // For an event that occurs again.
    ("events", "patch"),
    // After a conflict of the Lease.
    ("leases", "get"),
    // To notice the release of the Lease by another replica at once.
    ("leases", "watch"),
];

#[tokio::test(start_paused = true)]
async fn every_permission_is_needed() {
    let all = rules(&World::new().await);
    for (number, rule) in all.iter().enumerate() {
        for resource in rule.resources.iter().flatten() {
            for verb in &rule.verbs {
                // `list` is removed together with `watch`, because an informer can sync with either of them.
                if verb == "list" || RARE.contains(&(resource.as_str(), verb.as_str())) {
                    continue;
                }
                let mut fewer = all.clone();
                // The other resources and verbs of the rule stay.
                let others = |list: &[String], without: &str| -> Vec<String> {
                    list.iter().filter(|item| *item != without).cloned().collect()
                };
                let resources = others(rule.resources.as_deref().unwrap_or_default(), resource);
                fewer[number].resources = Some(resources);
                let mut verbs = others(&rule.verbs, verb);
                verbs.retain(|other| verb != "watch" || other != "list");
                fewer.push(PolicyRule { resources: Some(vec![resource.clone()]), verbs, ..rule.clone() });
                fewer.retain(|rule| !rule.verbs.is_empty() && rule.resources != Some(Vec::new()));
                assert!(run_with(fewer).await.is_err(), "{verb} of {resource} is not needed");
            }
        }
    }
}
