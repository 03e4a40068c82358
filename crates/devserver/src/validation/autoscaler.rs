//! Horizontal autoscalers.

use crate::validation::field::{Errors, Field};
use crate::validation::resources;

/// Checks an autoscaler, in the form of any version.
pub(super) fn check(e: &mut Errors, object: &Field<'_, '_>) {
    let spec = object.get("spec");
    let (least, most) = (spec.get("minReplicas"), spec.get("maxReplicas"));
    if least.number().is_some_and(|number| number < 1) {
        e.invalid(&least, "must be greater than or equal to 1");
    }
    match most.number_or_zero() {
        0 => e.required(&most, "must be set and greater than 0"),
        number if number < 0 => e.invalid(&most, "must be greater than or equal to 1"),
        _ => {}
    }
    if least.number().is_some_and(|least| most.number_or_zero() < least) {
        e.invalid(&most, "must be greater than or equal to `minReplicas`");
    }
    check_reference(e, &spec.get("scaleTargetRef"));
    let utilization = spec.get("targetCPUUtilizationPercentage");
    if utilization.number().is_some_and(|percent| percent < 1) {
        e.invalid(&utilization, "must be greater than 0");
    }
    spec.get("metrics").items().for_each(|metric| check_metric(e, &metric));
    let behavior = spec.get("behavior");
    for direction in ["scaleUp", "scaleDown"] {
        let rules = behavior.get(direction);
        if rules.is_set() {
            check_rules(e, &rules);
        }
    }
}

fn check_reference(e: &mut Errors, reference: &Field<'_, '_>) {
    for name in ["kind", "name"] {
        if e.present(&reference.get(name)) {
            e.path_segment(&reference.get(name));
        }
    }
    let version = reference.get("apiVersion");
    if version.text().matches('/').count() > 1 {
        e.invalid(&version, "unexpected GroupVersion string");
    } else if is_without_group(version.text()) && is_custom(reference) {
        e.invalid(&version, "apiVersion must specify API group");
    }
}

/// Returns whether a version names no group: `v1`, `/v1` and nothing at all.
fn is_without_group(version: &str) -> bool {
    version.split_once('/').is_none_or(|(group, _)| group.is_empty())
}

/// Returns whether a kind is not one of the core group.
fn is_custom(reference: &Field<'_, '_>) -> bool {
    reference.get("kind").text() != "ReplicationController"
}

fn check_metric(e: &mut Errors, metric: &Field<'_, '_>) {
    const SOURCES: [(&str, &str); 5] = [
        ("ContainerResource", "containerResource"),
        ("External", "external"),
        ("Object", "object"),
        ("Pods", "pods"),
        ("Resource", "resource"),
    ];
    let kind = metric.get("type");
    e.one_of(&kind, &SOURCES.map(|(kind, _)| kind));
    for (name, field) in SOURCES {
        let source = metric.get(field);
        let is_named = kind.text() == name;
        match (is_named, source.is_set()) {
            (true, true) => check_source(e, field, &source),
            (true, false) => e.required(&source, "must populate information for the given metric source"),
            (false, true) => e.forbidden(&source, "must populate the given metric source only"),
            (false, false) => {}
        }
    }
}

fn check_source(e: &mut Errors, kind: &str, source: &Field<'_, '_>) {
    let target = source.get("target");
    let (value, average, utilization) =
        (target.get("value"), target.get("averageValue"), target.get("averageUtilization"));
    check_target(e, &target);
    let one_of = |e: &mut Errors, a: &Field<'_, '_>, b: &Field<'_, '_>| match (a.is_set(), b.is_set()) {
        (false, false) => e.required(a, "must set either a target raw value or a target utilization"),
        (true, true) => e.forbidden(b, "may not set both a target raw value and a target utilization"),
        (true, false) | (false, true) => {}
    };
    match kind {
        "object" => {
            check_reference(e, &source.get("describedObject"));
            check_identifier(e, &source.get("metric"));
            if !value.is_set() && !average.is_set() {
                e.required(&average, "must set either a target value or averageValue");
            }
        }
        "external" => {
            check_identifier(e, &source.get("metric"));
            one_of(e, &average, &value);
        }
        "pods" => {
            check_identifier(e, &source.get("metric"));
            if !average.is_set() {
                e.required(&average, "must specify a positive target averageValue");
            }
        }
        "resource" => {
            e.present(&source.get("name"));
            one_of(e, &utilization, &average);
        }
        _ => {
            let (name, container) = (source.get("name"), source.get("container"));
            if e.present(&name) {
                resources::check_name(e, &name, name.text(), resources::ResourceUser::Container);
            }
            if e.present(&container) {
                e.label(&container);
            }
            one_of(e, &utilization, &average);
        }
    }
}

fn check_target(e: &mut Errors, target: &Field<'_, '_>) {
    e.one_of(&target.get("type"), &["Utilization", "Value", "AverageValue"]);
    for name in ["value", "averageValue"] {
        let value = target.get(name);
        if value.is_set() && resources::amount(&value) <= 0 {
            e.invalid(&value, "must be positive");
        }
    }
    let utilization = target.get("averageUtilization");
    if utilization.number().is_some_and(|percent| percent < 1) {
        e.invalid(&utilization, "must be greater than 0");
    }
}

fn check_identifier(e: &mut Errors, metric: &Field<'_, '_>) {
    if e.present(&metric.get("name")) {
        e.path_segment(&metric.get("name"));
    }
}

fn check_rules(e: &mut Errors, rules: &Field<'_, '_>) {
    e.in_range(&rules.get("stabilizationWindowSeconds"), 0, 3600);
    e.optional_one_of(&rules.get("selectPolicy"), &["Disabled", "Max", "Min"]);
    let policies = rules.get("policies");
    if policies.is_empty() {
        e.required(&policies, "must specify at least one Policy");
    }
    for policy in policies.items() {
        e.known(&policy.get("type"), &["Percent", "Pods"]);
        let (value, period) = (policy.get("value"), policy.get("periodSeconds"));
        if value.number_or_zero() <= 0 {
            e.invalid(&value, "must be greater than zero");
        }
        if !(1..=1800).contains(&period.number_or_zero()) {
            e.invalid(&period, "must be greater than zero and less than or equal to 1800");
        }
    }
    resources::check_not_negative(e, &rules.get("tolerance"));
}
