//! Calls the admission webhooks for a request, and evaluates the policies.

use crate::admission::{
    Attributes, FailurePolicy, GROUP, Operation, Reinvocation, Response, Review, Stage, Webhook,
};
use crate::object::{metadata, normalize, try_fill_defaults};
use crate::registry::Resource;
use crate::storage::{CollectionId, Selection, Span, head};
use crate::verb::{
    cluster::Cluster,
    conversion,
    error_response::ErrorResponse,
    object_part::ObjectPart,
    policy,
    request::{Intent, Request},
};
use kube_core::{Status, response::reason};
use serde::Deserialize;
use serde_json::{Value, json};
use std::sync::Arc;

/// A request that webhooks review.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Admission<'r> {
    pub(crate) cluster: &'r Cluster,
    pub(crate) request: &'r Request,
    pub(crate) operation: Operation,
    pub(crate) part: ObjectPart,
    /// The kind of the options of the request: that of a patch is `UpdateOptions`, too.
    pub(crate) options: &'r str,
    pub(crate) intent: Intent,
}

/// The effect of a mutating webhook on an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Effect {
    NotCalled,
    Unchanged,
    Changed,
}

/// The states of an object in the version that a webhook reviews; `None` if it is that of the request.
#[derive(Debug, Default)]
struct Reviewed {
    version: Option<Arc<Resource>>,
    object: Option<Value>,
    old: Option<Value>,
}

impl Admission<'_> {
    /// Calls the mutating webhooks, which may change the object.
    ///
    /// # Errors
    /// If a webhook denies the request, or cannot be called.
    pub(crate) async fn mutate(&self, object: &mut Value, old: Option<&Value>) -> Result<(), ErrorResponse> {
        let webhooks = self.webhooks(Stage::Mutating);
        if webhooks.is_empty() {
            return Ok(());
        }
        self.complete(object);
        let mut effects = Vec::new();
        for webhook in &webhooks {
            effects.push(self.apply(webhook, object, old).await?);
        }
        // A webhook is called once more if a later one has changed the object.
        let last_change = effects.iter().rposition(|effect| *effect == Effect::Changed).unwrap_or(0);
        for (webhook, effect) in webhooks.iter().zip(effects).take(last_change) {
            if webhook.reinvocation_policy == Reinvocation::IfNeeded && effect != Effect::NotCalled {
                self.apply(webhook, object, old).await?;
            }
        }
        Ok(())
    }

    /// Calls a mutating webhook, and applies its patch.
    async fn apply(
        &self,
        webhook: &Webhook,
        object: &mut Value,
        old: Option<&Value>,
    ) -> Result<Effect, ErrorResponse> {
        let Some((response, reviewed)) = self.call(webhook, Some(object), old).await? else {
            return Ok(Effect::NotCalled);
        };
        let object_reviewed = reviewed.object.as_ref().unwrap_or(object);
        let patched = response.patched(object_reviewed).map_err(|cause| internal(&cause))?;
        let Some(mut patched) = patched.filter(|patched| patched != object_reviewed) else {
            return Ok(Effect::Unchanged);
        };
        if let Some(version) = &reviewed.version {
            patched = conversion::between(self.cluster, [version, &self.request.resource], patched).await?;
        }
        if self.part != ObjectPart::Scale {
            let resource = &self.request.resource;
            normalize(resource, &mut patched).map_err(|error| internal(&error.to_string()))?;
            try_fill_defaults(resource, &mut patched).map_err(|error| internal(&error.to_string()))?;
            self.complete(&mut patched);
        }
        *object = patched;
        Ok(Effect::Changed)
    }

    /// Evaluates the validating policies, and calls the validating webhooks.
    ///
    /// # Errors
    /// If a policy or a webhook denies the request, or a webhook cannot be called.
    pub(crate) async fn validate(
        &self,
        object: Option<&Value>,
        old: Option<&Value>,
    ) -> Result<(), ErrorResponse> {
        let webhooks = self.webhooks(Stage::Validating);
        if webhooks.is_empty() && !self.has_policies() {
            return Ok(());
        }
        let object = object.cloned().map(|mut object| {
            self.complete(&mut object);
            object
        });
        if self.has_policies() {
            let options = self.options();
            let attributes = self.attributes(object.as_ref(), old, &options);
            policy::enforce(self.cluster, self.request, &attributes, self.namespace().as_ref())?;
        }
        for webhook in webhooks {
            self.call(&webhook, object.as_ref(), old).await?;
        }
        Ok(())
    }

    /// Returns whether there are any policies.
    fn has_policies(&self) -> bool {
        !self.is_exempt() && policy::has_bindings(self.cluster)
    }

    /// Returns whether a request has no admission: a binding is not the pod that it changes.
    fn is_exempt(&self) -> bool {
        self.request.resource.group == GROUP || self.part == ObjectPart::Binding
    }

    /// Returns whether there are any webhooks or policies.
    pub(crate) fn is_configured(&self) -> bool {
        self.has_policies()
            || [Stage::Mutating, Stage::Validating].into_iter().any(|stage| !self.webhooks(stage).is_empty())
    }

    /// Calls the webhooks and evaluates the policies for a deletion, which cannot be changed.
    ///
    /// # Errors
    /// If a policy or a webhook denies the request, or cannot be called.
    pub(crate) async fn delete(&self, old: &Value) -> Result<(), ErrorResponse> {
        for webhook in self.webhooks(Stage::Mutating) {
            self.call(&webhook, None, Some(old)).await?;
        }
        self.validate(None, Some(old)).await
    }

    /// Returns the webhooks of all configurations, sorted by the name of the configuration.
    fn webhooks(&self, stage: Stage) -> Vec<Webhook> {
        if self.is_exempt() {
            return Vec::new();
        }
        let collection = CollectionId::from((GROUP, stage.plural()));
        let page = self.cluster.store.list(&collection, &Selection::everything(None), &Span::default());
        let records = page.map(|page| page.records).unwrap_or_default();
        records.iter().flat_map(|record| Webhook::all(&record.to_value(&head("", "")))).collect()
    }

    /// Returns the old and the new state of an object for a webhook; `None` if the webhook does not match the request.
    async fn reviewed(
        &self,
        webhook: &Webhook,
        object: Option<&Value>,
        old: Option<&Value>,
    ) -> Result<Option<Reviewed>, ErrorResponse> {
        let own = &self.request.resource;
        let options = self.options();
        let attributes = self.attributes(object, old, &options);
        let others = self.other_versions();
        let Some(matched) = webhook.matched(&attributes, &others, self.namespace().as_ref()) else {
            return Ok(None);
        };
        let version = others.iter().find(|other| std::ptr::eq(&***other, matched)).cloned();
        // A scale has the same form in all versions.
        let Some(version) = version.filter(|_| self.part != ObjectPart::Scale) else {
            return Ok(Some(Reviewed::default()));
        };
        let mut reviewed = Reviewed::default();
        for (state, converted) in [(object, &mut reviewed.object), (old, &mut reviewed.old)] {
            if let Some(state) = state {
                *converted = Some(conversion::between(self.cluster, [own, &version], state.clone()).await?);
            }
        }
        Ok(Some(Reviewed { version: Some(version), ..reviewed }))
    }

    /// Returns the custom resource of the request in its other versions. Built-in kinds are not converted.
    fn other_versions(&self) -> Vec<Arc<Resource>> {
        let own = &self.request.resource;
        if !own.is_custom() {
            return Vec::new();
        }
        let registry = self.cluster.registry();
        let is_other =
            |other: &&Arc<Resource>| other.storage() == own.storage() && other.version != own.version;
        registry.resources().filter(is_other).cloned().collect()
    }

    /// Calls a webhook; `None` if it does not match the request, or cannot be called and is skipped.
    async fn call(
        &self,
        webhook: &Webhook,
        object: Option<&Value>,
        old: Option<&Value>,
    ) -> Result<Option<(Response, Reviewed)>, ErrorResponse> {
        let Self { cluster, request, .. } = self;
        let Some(reviewed) = self.reviewed(webhook, object, old).await? else { return Ok(None) };
        let options = self.options();
        let mut attributes = self.attributes(object, old, &options);
        if let Some(version) = &reviewed.version {
            attributes.resource = version;
            attributes.object = reviewed.object.as_ref();
            attributes.old = reviewed.old.as_ref();
        }
        match (webhook.meets_conditions(&attributes, &cluster.expressions), webhook.failure_policy) {
            (Ok(true), _) => {}
            (Ok(false), _) | (Err(_), FailurePolicy::Ignore) => return Ok(None),
            (Err(cause), FailurePolicy::Fail) => {
                return Err(ErrorResponse::forbidden(&request.resource, attributes.name, &cause));
            }
        }
        let review = Review { uid: cluster.uid(), version: webhook.review_version(), attributes };
        let response =
            match cluster.webhooks.call(&webhook.client_config, webhook.timeout(), &review.to_json()).await {
                Ok(response) => review.read(&response),
                Err(cause) => Err(format!("failed to call webhook: {cause}")),
            };
        match response {
            Ok(response) => {
                response.warnings.iter().for_each(|warning| request.warnings.add(warning.clone()));
                match response.allowed {
                    true => Ok(Some((response, reviewed))),
                    false => Err(denied(&webhook.name, response.status)),
                }
            }
            Err(cause) => match webhook.failure_policy {
                FailurePolicy::Fail => {
                    Err(internal(&format!("failed calling webhook {:?}: {cause}", webhook.name)))
                }
                FailurePolicy::Ignore => {
                    tracing::warn!(webhook = webhook.name, cause, "webhook failed, and is ignored");
                    Ok(None)
                }
            },
        }
    }

    fn attributes<'a>(
        &'a self,
        object: Option<&'a Value>,
        old: Option<&'a Value>,
        options: &'a Value,
    ) -> Attributes<'a> {
        let request = self.request;
        Attributes {
            operation: self.operation,
            resource: &request.resource,
            requested: &request.resource,
            subresource: self.part.subresource(),
            namespace: request.namespace.as_deref(),
            name: match request.name.as_str() {
                // A new object, whose name is generated after the mutating webhooks.
                "" => object.map(metadata::name).unwrap_or_default(),
                name => name,
            },
            object,
            old,
            user: &request.user,
            options,
            dry_run: self.intent == Intent::DryRun,
        }
    }

    /// Returns the namespace of the object; `None` if it is cluster-scoped.
    fn namespace(&self) -> Option<Value> {
        let name = self.request.namespace.as_deref()?;
        let registry = self.cluster.registry();
        let namespaces = registry.resource("", "v1", "namespaces")?;
        Some(self.cluster.read(namespaces, name)?.1)
    }

    /// Returns the options of the request, as a review has them.
    fn options(&self) -> Value {
        let mut options = json!({"kind": self.options, "apiVersion": "meta.k8s.io/v1"});
        for name in ["fieldManager", "fieldValidation"] {
            if let Some(value) = self.request.parameter(name).filter(|value| !value.is_empty()) {
                options[name] = value.into();
            }
        }
        if self.intent == Intent::DryRun {
            options["dryRun"] = json!(["All"]);
        }
        options
    }

    /// Writes the type and the namespace, which reviews require.
    fn complete(&self, object: &mut Value) {
        if self.part == ObjectPart::Scale {
            return;
        }
        self.request.resource.write_type(object);
        if let Some(namespace) = &self.request.namespace {
            object["metadata"]["namespace"] = namespace.as_str().into();
        }
    }
}

/// Creates the error for a request that a webhook denies, as kube-apiserver does: codes below 400 are replaced.
fn denied(webhook: &str, status: Option<Value>) -> ErrorResponse {
    let status = status.and_then(|status| Status::deserialize(status).ok()).unwrap_or_default();
    let denied = format!("admission webhook {webhook:?} denied the request");
    let message = match (status.message.as_str(), status.reason.as_str()) {
        ("", "") => format!("{denied} without explanation"),
        ("", reason) => format!("{denied}: {reason}"),
        (message, _) => format!("{denied}: {message}"),
    };
    let code = status.code.max(400);
    ErrorResponse::from_status(
        Status { code, message, ..Status::failure("", &status.reason) },
        status.details,
    )
}

fn internal(cause: &str) -> ErrorResponse {
    let message = format!("Internal error occurred: {cause}");
    ErrorResponse::new(500, reason::INTERNAL_ERROR, &message).with_cause("", cause)
}
