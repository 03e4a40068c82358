//! Admission webhooks: their configurations, the reviews that they receive, and how they are called.

mod review;

mod webhook;

mod https;

mod services;

mod validation;

pub(crate) use review::{Attributes, Operation, Response, Review};
pub(crate) use services::Services;
pub(crate) use validation::configuration_errors;
pub(crate) use webhook::{FailurePolicy, Reinvocation, Stage, Webhook};

/// The group of webhook configurations. Their own changes are not reviewed.
pub(crate) const GROUP: &str = "admissionregistration.k8s.io";
