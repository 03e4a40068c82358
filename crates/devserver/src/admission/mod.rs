//! Admission webhooks and policies: their configurations, their selectors, and their calls and evaluations.

mod review;

mod rule;

mod scope;

mod condition;

mod webhook;

mod https;

mod services;

mod policy;

mod validation;

mod policy_validation;

pub(crate) use condition::Expressions;
pub(crate) use policy::{
    Binding, Evaluation, NotFoundAction, ParamKind, ParamRef, Policy, ValidationAction, Violation,
};
pub(crate) use review::{Attributes, Operation, Response, Review};
pub(crate) use services::Services;
pub(crate) use webhook::{ClientConfig, FailurePolicy, Reinvocation, Stage, Webhook};

use crate::invalid::FieldError;
use crate::registry::Resource;
use serde_json::Value;

/// The group of webhook configurations and policies. Their own changes are not reviewed.
pub(crate) const GROUP: &str = "admissionregistration.k8s.io";

/// Returns the errors of a webhook configuration, a policy or a binding; empty for other objects.
pub(crate) fn configuration_errors(resource: &Resource, object: &Value) -> Vec<FieldError> {
    match resource.storage() {
        (GROUP, "mutatingwebhookconfigurations" | "validatingwebhookconfigurations") => {
            validation::configuration_errors(object)
        }
        (GROUP, "validatingadmissionpolicies") => policy_validation::policy_errors(object),
        (GROUP, "validatingadmissionpolicybindings") => policy_validation::binding_errors(object),
        _ => Vec::new(),
    }
}
