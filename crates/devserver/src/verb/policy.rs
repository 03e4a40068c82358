//! Evaluates the validating admission policies for a request.

use crate::admission::{
    Attributes, Binding, Evaluation, FailurePolicy, GROUP, NotFoundAction, ParamKind, ParamRef, Policy,
    ValidationAction, Violation,
};
use crate::object::{label_selector_matches, metadata};
use crate::registry::Resource;
use crate::storage::{CollectionId, Selection, Span, head};
use crate::verb::{cluster::Cluster, error_response::ErrorResponse, request::Request};
use kube_core::Status;
use serde_json::Value;
use std::sync::Arc;

const POLICIES: &str = "validatingadmissionpolicies";
const BINDINGS: &str = "validatingadmissionpolicybindings";

/// Returns whether there are any bindings of policies.
pub(crate) fn has_bindings(cluster: &Cluster) -> bool {
    !objects(cluster, BINDINGS).is_empty()
}

/// Evaluates all policies that apply to a request. `namespace` is the namespace of the object, if it is in one.
///
/// # Errors
/// If a policy denies the request.
pub(crate) fn enforce(
    cluster: &Cluster,
    request: &Request,
    attributes: &Attributes<'_>,
    namespace: Option<&Value>,
) -> Result<(), ErrorResponse> {
    let bindings = objects(cluster, BINDINGS);
    if bindings.is_empty() {
        return Ok(());
    }
    let mut denials = Vec::new();
    for object in objects(cluster, POLICIES) {
        let Some(policy) = Policy::read(&object) else { continue };
        if !policy.matches(attributes, namespace) {
            continue;
        }
        let name = metadata::name(&object);
        let invocation = Invocation { cluster, attributes, namespace, policy: &policy };
        let is_bound = bindings.iter().filter_map(Binding::read).any(|binding| binding.policy_name == name);
        if let Some(cause) = invocation.unknown_kind().filter(|_| is_bound) {
            let message = format!(
                "ValidatingAdmissionPolicy '{name}' denied request: failed to configure policy: {cause}"
            );
            let failed = (policy.failure_policy == FailurePolicy::Fail).then(|| Violation::failed(cause));
            denials.extend(failed.map(|violation| Denial { message, violation }));
            continue;
        }
        for binding in &bindings {
            let binding_name = metadata::name(binding);
            let Some(binding) = Binding::read(binding).filter(|binding| binding.policy_name == name) else {
                continue;
            };
            let denied = |violation: Violation| Denial {
                message: format!(
                    "ValidatingAdmissionPolicy '{name}' with binding '{binding_name}' denied request: {}",
                    violation.message
                ),
                violation,
            };
            for (action, violation) in invocation.run(&binding) {
                match action {
                    ValidationAction::Deny => denials.push(denied(violation)),
                    ValidationAction::Warn => request.warnings.add(format!(
                        "Validation failed for ValidatingAdmissionPolicy '{name}' with binding '{binding_name}': {}",
                        violation.message
                    )),
                    ValidationAction::Audit => {
                        tracing::info!(policy = name, binding = binding_name, violation.message, "policy violation");
                    }
                }
            }
        }
    }
    denials.into_iter().next().map_or(Ok(()), |denial| Err(denial.response(request, attributes)))
}

/// A policy that denies a request.
struct Denial {
    message: String,
    violation: Violation,
}

impl Denial {
    /// Creates the response, as kube-apiserver does: that of a forbidden request with another code and reason.
    fn response(self, request: &Request, attributes: &Attributes<'_>) -> ErrorResponse {
        let name = match attributes.name {
            "" => "Unknown",
            name => name,
        };
        let refused =
            ErrorResponse::forbidden(&request.resource, name, &self.message).with_cause("", &self.message);
        let status = refused.status();
        let status = Status { code: self.violation.code(), reason: self.violation.reason, ..status.clone() };
        let details = status.details.clone();
        ErrorResponse::from_status(status, details)
    }
}

/// A policy that applies to a request.
#[derive(Clone, Copy)]
struct Invocation<'i> {
    cluster: &'i Cluster,
    attributes: &'i Attributes<'i>,
    namespace: Option<&'i Value>,
    policy: &'i Policy,
}

impl Invocation<'_> {
    /// Evaluates the policy with each parameter of a binding, and returns the violations with their actions.
    fn run(self, binding: &Binding) -> Vec<(ValidationAction, Violation)> {
        let Self { cluster, attributes, namespace, policy } = self;
        if !binding.matches(attributes, namespace) {
            return Vec::new();
        }
        let params = match self.params(binding.param_ref.as_ref()) {
            Ok(params) => params,
            Err(cause) => {
                let violation = Violation::failed(format!("failed to configure binding: {cause}"));
                return match policy.failure_policy {
                    FailurePolicy::Fail => vec![(ValidationAction::Deny, violation)],
                    FailurePolicy::Ignore => Vec::new(),
                };
            }
        };
        let mut found = Vec::new();
        for param in &params {
            let expressions = &cluster.expressions;
            let is_namespace = attributes.resource.is("", "namespaces");
            let namespace = namespace.filter(|_| !is_namespace);
            let evaluation = Evaluation { attributes, namespace, param: param.as_ref(), expressions };
            let verdict = policy.evaluate(evaluation);
            for violation in verdict.violations {
                found.extend(binding.validation_actions.iter().map(|action| (*action, violation.clone())));
            }
            let failed = verdict.failed_annotations.into_iter();
            found.extend(failed.map(|violation| (ValidationAction::Deny, violation)));
        }
        found
    }

    /// Returns the parameters of a binding; one `None` if the policy or the binding has none.
    fn params(self, reference: Option<&ParamRef>) -> Result<Vec<Option<Value>>, String> {
        let (Some(kind), Some(reference)) = (&self.policy.param_kind, reference) else {
            return Ok(vec![None]);
        };
        let resource = self.resource(kind)?;
        let namespace = match (resource.is_namespaced(), reference.namespace.as_str()) {
            (true, "") => Some(self.attributes.namespace.ok_or(
                "cannot use namespaced paramRef in policy binding that matches cluster-scoped resources",
            )?),
            (true, namespace) => Some(namespace),
            (false, "") => None,
            (false, _) => {
                return Err(
                    "paramRef.namespace must not be provided for a cluster-scoped `paramKind`".to_owned()
                );
            }
        };
        let selection = Selection::everything(namespace);
        let collection = CollectionId::from(resource.storage());
        let page = self.cluster.store.list(&collection, &selection, &Span::default());
        let records = page.map(|page| page.records).unwrap_or_default();
        let objects =
            records.iter().map(|record| record.to_value(&head(&resource.api_version(), &resource.kind)));
        let is_selected = |object: &Value| match &reference.selector {
            Some(selector) if reference.name.is_empty() => label_selector_matches(Some(selector), object),
            Some(_) | None => metadata::name(object) == reference.name,
        };
        let params: Vec<_> = objects.filter(is_selected).map(Some).collect();
        match (params.is_empty(), reference.parameter_not_found_action) {
            (true, NotFoundAction::Deny) => {
                Err("no params found for policy binding with `Deny` parameterNotFoundAction".to_owned())
            }
            (true, NotFoundAction::Allow) | (false, _) => Ok(params),
        }
    }

    /// Returns an error if no resource has the kind of the parameters.
    fn unknown_kind(self) -> Option<String> {
        self.policy.param_kind.as_ref().and_then(|kind| self.resource(kind).err())
    }

    fn resource(self, kind: &ParamKind) -> Result<Arc<Resource>, String> {
        let registry = self.cluster.registry();
        let mut resources = registry.resources();
        let found = resources.find(|one| one.kind == kind.kind && one.api_version() == kind.api_version);
        found.cloned().ok_or_else(|| {
            let (group, version) = kind.api_version.split_once('/').unwrap_or(("", &kind.api_version));
            format!(
                "failed to find resource referenced by paramKind: '{group}/{version}, Kind={}'",
                kind.kind
            )
        })
    }
}

/// Returns the stored objects of a resource, sorted by name.
fn objects(cluster: &Cluster, plural: &str) -> Vec<Value> {
    let collection = CollectionId::from((GROUP, plural));
    let page = cluster.store.list(&collection, &Selection::everything(None), &Span::default());
    let records = page.map(|page| page.records).unwrap_or_default();
    records.iter().map(|record| record.to_value(&head("", ""))).collect()
}
