//! Where pods run: affinity, tolerations and topology.

use crate::validation::field::{Errors, Field};
use crate::validation::selector::{self, NodeValues};
use std::collections::BTreeSet;

const REQUIRED: &str = "requiredDuringSchedulingIgnoredDuringExecution";
const PREFERRED: &str = "preferredDuringSchedulingIgnoredDuringExecution";

/// Checks all fields of a pod that affect scheduling.
pub(super) fn check(e: &mut Errors, spec: &Field<'_, '_>, node_values: NodeValues) {
    e.labels(&spec.get("nodeSelector"));
    let affinity = spec.get("affinity");
    let nodes = affinity.get("nodeAffinity");
    let required = nodes.get(REQUIRED);
    let terms = required.get("nodeSelectorTerms");
    if required.is_set() && terms.is_empty() {
        e.required(&terms, "must have at least one node selector term");
    }
    terms.items().for_each(|term| selector::check_node_term(e, &term, node_values));
    for term in nodes.get(PREFERRED).items() {
        e.in_range(&term.get("weight"), 1, 100);
        if !term.get("weight").is_set() {
            e.invalid(&term.get("weight"), "must be in the range 1-100");
        }
        selector::check_node_term(e, &term.get("preference"), NodeValues::Any);
    }
    for kind in ["podAffinity", "podAntiAffinity"] {
        let pods = affinity.get(kind);
        pods.get(REQUIRED).items().for_each(|term| check_pod_term(e, &term));
        for term in pods.get(PREFERRED).items() {
            let weight = term.get("weight");
            if !(1..=100).contains(&weight.number_or_zero()) {
                e.invalid(&weight, "must be in the range 1-100");
            }
            check_pod_term(e, &term.get("podAffinityTerm"));
        }
    }
    check_tolerations(e, &spec.get("tolerations"));
    check_spread(e, &spec.get("topologySpreadConstraints"));
}

fn check_pod_term(e: &mut Errors, term: &Field<'_, '_>) {
    let labels = term.get("labelSelector");
    selector::check(e, &labels);
    selector::check(e, &term.get("namespaceSelector"));
    term.get("namespaces").items().for_each(|namespace| e.label(&namespace));
    let (keys, others) = (term.get("matchLabelKeys"), term.get("mismatchLabelKeys"));
    for keys in [&keys, &others] {
        if !keys.is_empty() && !labels.is_set() {
            e.forbidden(keys, "must not be specified when labelSelector is not set");
        } else {
            keys.items().for_each(|key| e.qualified_name(&key));
        }
    }
    let selected = selector::keys(&labels);
    for key in keys.items() {
        // The server itself adds one expression for each of the keys.
        if selected.iter().filter(|known| **known == key.text()).count() > 1 {
            e.invalid(&key, "exists in both matchLabelKeys and labelSelector");
        }
        if others.items().any(|other| other.text() == key.text()) {
            e.invalid(&key, "exists in both matchLabelKeys and mismatchLabelKeys");
        }
    }
    let topology = term.get("topologyKey");
    if topology.is_empty() {
        e.required(&topology, "can not be empty");
    } else {
        e.qualified_name(&topology);
    }
}

pub(super) fn check_tolerations(e: &mut Errors, tolerations: &Field<'_, '_>) {
    for toleration in tolerations.items() {
        let (key, operator) = (toleration.get("key"), toleration.get("operator"));
        let (value, effect) = (toleration.get("value"), toleration.get("effect"));
        if !key.is_empty() {
            e.qualified_name(&key);
        } else if operator.text() != "Exists" {
            let detail =
                "operator must be Exists when `key` is empty, which means \"match all values and all keys\"";
            e.invalid(&operator, detail);
        }
        if toleration.get("tolerationSeconds").is_set() && effect.text() != "NoExecute" {
            e.invalid(&effect, "effect must be 'NoExecute' when `tolerationSeconds` is set");
        }
        match operator.text() {
            "Equal" | "" => e.label_value(&value),
            "Exists" => {
                if !value.is_empty() {
                    e.invalid(&value, "value must be empty when `operator` is 'Exists'");
                }
            }
            _ => e.unsupported(&operator, &["Equal", "Exists"]),
        }
        if !effect.is_empty() {
            e.known(&effect, &["NoSchedule", "PreferNoSchedule", "NoExecute"]);
        }
    }
}

fn check_spread(e: &mut Errors, constraints: &Field<'_, '_>) {
    let mut seen = BTreeSet::new();
    for constraint in constraints.items() {
        let (skew, key) = (constraint.get("maxSkew"), constraint.get("topologyKey"));
        let (action, domains) = (constraint.get("whenUnsatisfiable"), constraint.get("minDomains"));
        if skew.number_or_zero() <= 0 {
            e.invalid(&skew, "must be greater than zero");
        }
        e.present(&key);
        e.known(&action, &["DoNotSchedule", "ScheduleAnyway"]);
        if !seen.insert((key.text(), action.text())) {
            e.duplicate(&constraint);
        }
        if domains.number().is_some_and(|number| number <= 0) {
            e.invalid(&domains, "must be greater than zero");
        }
        if domains.is_set() && action.text() != "DoNotSchedule" {
            e.invalid(&domains, "can only use minDomains if whenUnsatisfiable=DoNotSchedule");
        }
        e.optional_one_of(&constraint.get("nodeAffinityPolicy"), &["Honor", "Ignore"]);
        e.optional_one_of(&constraint.get("nodeTaintsPolicy"), &["Honor", "Ignore"]);
        let (labels, keys) = (constraint.get("labelSelector"), constraint.get("matchLabelKeys"));
        selector::check(e, &labels);
        if !keys.is_empty() && !labels.is_set() {
            e.forbidden(&keys, "must not be specified when labelSelector is not set");
        }
        let selected = selector::keys(&labels);
        for key in keys.items() {
            e.qualified_name(&key);
            if selected.contains(&key.text()) {
                e.invalid(&key, "exists in both matchLabelKeys and labelSelector");
            }
        }
    }
}
