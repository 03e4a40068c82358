//! Jobs and cron jobs.

use crate::validation::field::{Errors, Field};
use crate::validation::{cron, pod, selector};
use serde_json::Value;
use std::collections::BTreeSet;

const MANY_COMPLETIONS: i64 = 100_000;

/// Checks a job.
pub(super) fn check(e: &mut Errors, job: &Field<'_, '_>) {
    let (metadata, spec) = (job.get("metadata"), job.get("spec"));
    check_generated_selector(e, job);
    check_spec(e, &spec);
    let selector = spec.get("selector");
    if !selector.is_set() {
        e.required(&selector, "");
    } else {
        let found = e.len();
        selector::check(e, &selector);
        if e.len() == found {
            selector::check_matches(e, &selector, &spec.get("template"));
        }
    }
    let completions = spec.get("completions").number_or_zero();
    if is_indexed(&spec) && completions > 0 {
        let name = format!("{}-{}", metadata.get("name").text(), completions - 1);
        if super::format::broken_label(&name).is_some() {
            let detail = format!("will not able to create pod with invalid DNS label: {name}");
            e.invalid(&metadata.get("name"), &detail);
        }
    }
}

/// Checks the selector and labels that the server sets unless the client does.
fn check_generated_selector(e: &mut Errors, job: &Field<'_, '_>) {
    let (metadata, spec) = (job.get("metadata"), job.get("spec"));
    if spec.get("manualSelector").is_true() || !spec.get("selector").is_set() {
        return;
    }
    let template = spec.get("template");
    let of_template = template.get("metadata");
    let labels = of_template.get("labels");
    for (label, field) in [
        ("controller-uid", "uid"),
        ("job-name", "name"),
        ("batch.kubernetes.io/controller-uid", "uid"),
        ("batch.kubernetes.io/job-name", "name"),
    ] {
        let expected = metadata.get(field).text();
        let label = labels.key(label);
        if !label.is_set() {
            e.required(&labels, &format!("must be '{expected}'"));
        } else if label.text() != expected {
            e.invalid(&label, &format!("must be '{expected}'"));
        }
    }
    let (name, uid) = (metadata.get("name").value(), metadata.get("uid").value());
    let generated = serde_json::json!({"metadata": {"labels": {
        "controller-uid": uid, "batch.kubernetes.io/controller-uid": uid,
        "job-name": name, "batch.kubernetes.io/job-name": name,
    }}});
    let selector = spec.get("selector");
    if !crate::object::label_selector_matches(Some(selector.value()), &generated) {
        e.invalid(&selector, "`selector` not auto-generated");
    }
}

fn is_indexed(spec: &Field<'_, '_>) -> bool {
    spec.get("completionMode").text() == "Indexed"
}

fn check_spec(e: &mut Errors, spec: &Field<'_, '_>) {
    for name in [
        "parallelism",
        "completions",
        "activeDeadlineSeconds",
        "backoffLimit",
        "ttlSecondsAfterFinished",
        "backoffLimitPerIndex",
        "maxFailedIndexes",
    ] {
        e.non_negative(&spec.get(name));
    }
    let manager = spec.get("managedBy");
    if manager.is_set() {
        check_manager(e, &manager);
    }
    e.optional_one_of(&spec.get("completionMode"), &["NonIndexed", "Indexed"]);
    check_indexes(e, spec);
    let policy = spec.get("podFailurePolicy");
    if policy.is_set() {
        check_failure_policy(e, spec, &policy.get("rules"));
    }
    let success = spec.get("successPolicy");
    if success.is_set() {
        if is_indexed(spec) {
            check_success_policy(e, spec, &success.get("rules"));
        } else {
            e.invalid(&success, "requires indexed completion mode");
        }
    }
    let replacement: &[&str] = if policy.is_set() { &["Failed"] } else { &["Failed", "TerminatingOrFailed"] };
    e.optional_one_of(&spec.get("podReplacementPolicy"), replacement);
    let template = spec.get("template");
    pod::check_template(e, &template);
    let of_pods = template.get("spec");
    let restart = of_pods.get("restartPolicy");
    match restart.text() {
        "Always" | "" => e.required(&restart, "valid values: \"OnFailure\", \"Never\""),
        "Never" => {}
        "OnFailure" if policy.is_set() => {
            e.invalid(&restart, "only \"Never\" is supported when podFailurePolicy is specified");
        }
        _ => e.known(&restart, &["OnFailure", "Never"]),
    }
}

fn check_manager(e: &mut Errors, manager: &Field<'_, '_>) {
    if manager.len() > 63 {
        e.too_long(manager, 63);
    }
    let is_part = |text: &str| {
        let is_inner =
            |letter: char| letter.is_ascii_alphanumeric() || "-._~!$&'()*+,;=:@/%".contains(letter);
        !text.is_empty() && text.chars().all(is_inner)
    };
    match manager.text().split_once('/') {
        Some((domain, path)) if !domain.is_empty() && is_part(path) => {
            e.check(manager, super::format::broken_subdomain(domain));
        }
        _ => e.invalid(manager, "must be a domain-prefixed path (such as \"acme.io/foo\")"),
    }
}

fn check_indexes(e: &mut Errors, spec: &Field<'_, '_>) {
    let (parallelism, completions) = (spec.get("parallelism"), spec.get("completions"));
    let (limit, failed) = (spec.get("backoffLimitPerIndex"), spec.get("maxFailedIndexes"));
    if failed.is_set() && !limit.is_set() {
        e.required(&limit, "when maxFailedIndexes is specified");
    }
    if !is_indexed(spec) {
        for field in [&limit, &failed] {
            if field.is_set() {
                e.invalid(field, "requires indexed completion mode");
            }
        }
        return;
    }
    if !completions.is_set() {
        e.required(&completions, "when completion mode is Indexed");
    }
    let is_above = |field: &Field<'_, '_>, most: i64| field.number().is_some_and(|number| number > most);
    if is_above(&parallelism, MANY_COMPLETIONS) {
        e.invalid(&parallelism, "must be less than or equal to 100000 when completion mode is Indexed");
    }
    if completions.number().is_some_and(|most| is_above(&failed, most)) {
        e.invalid(&failed, "must be less than or equal to completions");
    }
    if is_above(&failed, MANY_COMPLETIONS) {
        e.invalid(&failed, "must be less than or equal to 100000");
    }
    if is_above(&completions, MANY_COMPLETIONS) && limit.is_set() {
        if !failed.is_set() {
            e.required(&failed, "must be specified when completions is above 100000");
        }
        for field in [&parallelism, &failed] {
            if is_above(field, 10_000) {
                let detail = "must be less than or equal to 10000 when completions are above 100000 and used with \
                    backoff limit per index";
                e.invalid(field, detail);
            }
        }
    }
}

fn check_failure_policy(e: &mut Errors, spec: &Field<'_, '_>, rules: &Field<'_, '_>) {
    if rules.len() > 20 {
        e.too_many(rules, 20);
    }
    let template = spec.get("template");
    let of_pods = template.get("spec");
    let (containers, inits) = (of_pods.get("containers"), of_pods.get("initContainers"));
    let names: BTreeSet<_> =
        containers.items().chain(inits.items()).map(|one| one.get("name").text()).collect();
    for rule in rules.items() {
        let (action, codes) = (rule.get("action"), rule.get("onExitCodes"));
        e.one_of(&action, &["Count", "FailIndex", "FailJob", "Ignore"]);
        if action.text() == "FailIndex" && !spec.get("backoffLimitPerIndex").is_set() {
            e.invalid(&action, "requires the backoffLimitPerIndex to be set");
        }
        let conditions = rule.get("onPodConditions");
        if conditions.len() > 20 {
            e.too_many(&conditions, 20);
        }
        for condition in conditions.items() {
            e.qualified_name(&condition.get("type"));
            e.one_of(&condition.get("status"), &["False", "True", "Unknown"]);
        }
        match (codes.is_set(), conditions.is_empty()) {
            (true, false) => {
                e.invalid(&rule, "specifying both OnExitCodes and OnPodConditions is not supported");
            }
            (false, true) => {
                e.invalid(&rule, "specifying one of OnExitCodes and OnPodConditions is required");
            }
            (true, true) | (false, false) => {}
        }
        if codes.is_set() {
            check_exit_codes(e, &codes, &names);
        }
    }
}

fn check_exit_codes(e: &mut Errors, codes: &Field<'_, '_>, names: &BTreeSet<&str>) {
    let (operator, container) = (codes.get("operator"), codes.get("containerName"));
    e.one_of(&operator, &["In", "NotIn"]);
    if container.is_set() && !names.contains(container.text()) {
        let detail = "must be one of the container or initContainer names in the pod template";
        e.invalid(&container, detail);
    }
    let values = codes.get("values");
    if values.is_empty() {
        e.invalid(&values, "at least one value is required");
    } else if values.len() > 255 {
        e.too_many(&values, 255);
    }
    let numbers: Vec<_> = values.items().map(|value| value.number_or_zero()).collect();
    let mut seen = BTreeSet::new();
    for value in values.items() {
        if operator.text() == "In" && value.number() == Some(0) {
            e.invalid(&value, "must not be 0 for the In operator");
        }
        if !seen.insert(value.number_or_zero()) {
            e.duplicate(&value);
        }
    }
    if !numbers.is_sorted() {
        e.invalid(&values, "must be ordered");
    }
}

fn check_success_policy(e: &mut Errors, spec: &Field<'_, '_>, rules: &Field<'_, '_>) {
    let completions = spec.get("completions").number_or_zero();
    if rules.is_empty() {
        e.required(rules, "at least one rules must be specified when the successPolicy is specified");
    } else if rules.len() > 20 {
        e.too_many(rules, 20);
    }
    for rule in rules.items() {
        let (count, indexes) = (rule.get("succeededCount"), rule.get("succeededIndexes"));
        if !count.is_set() && !indexes.is_set() {
            e.required(&rule, "at least one of succeededCount or succeededIndexes must be specified");
        }
        let mut total = None;
        if indexes.is_set() {
            total = indexes_total(indexes.text(), completions);
            if total.is_none() {
                e.invalid(&indexes, "error parsing succeededIndexes");
            }
        }
        e.non_negative(&count);
        if count.number().is_some_and(|number| number > completions) {
            let detail =
                format!("must be less than or equal to {completions} (the number of specified completions)");
            e.invalid(&count, &detail);
        }
        if let (Some(number), Some(total)) = (count.number(), total)
            && number > total
        {
            let detail = format!(
                "must be less than or equal to {total} (the number of indexes in the specified succeededIndexes field)"
            );
            e.invalid(&count, &detail);
        }
    }
}

/// Returns how many indexes a text such as `0,2-4` names; `None` if it is invalid.
fn indexes_total(text: &str, completions: i64) -> Option<i64> {
    if text.is_empty() {
        return Some(0);
    }
    let (mut total, mut last) = (0, -1);
    for interval in text.split(',') {
        let mut ends =
            interval.split('-').map(|end| end.parse::<i64>().ok().filter(|end| *end < completions));
        let first = ends.next()??;
        let end = match ends.next() {
            Some(end) => end.filter(|end| *end > first)?,
            None => first,
        };
        if ends.next().is_some() || first <= last {
            return None;
        }
        total += end - first + 1;
        last = end;
    }
    Some(total)
}

/// Checks what an update of a job changes.
pub(super) fn check_update(e: &mut Errors, old: &Field<'_, '_>, new: &Field<'_, '_>) {
    let (old_spec, spec) = (old.get("spec"), new.get("spec"));
    let completions = spec.get("completions");
    if !is_indexed(&spec) {
        e.unchanged(old_spec.get("completions").value(), &completions);
    } else if old_spec.get("completions").value() != completions.value()
        && completions.is_set()
        && completions.value() != spec.get("parallelism").value()
    {
        e.invalid(&completions, "can only be modified in tandem with spec.parallelism");
    }
    for name in ["podFailurePolicy", "backoffLimitPerIndex", "managedBy", "successPolicy"] {
        e.unchanged(old_spec.get(name).value(), &spec.get(name));
    }
    check_template_update(e, old, new);
}

/// The template of a job that has not started, or is suspended, can get other scheduling directives; that of a suspended job
/// other resources.
fn check_template_update(e: &mut Errors, old: &Field<'_, '_>, new: &Field<'_, '_>) {
    let (old_spec, spec) = (old.get("spec"), new.get("spec"));
    let (before, after) = (old_spec.get("template"), spec.get("template"));
    if before.value() == after.value() {
        return;
    }
    let status = old.get("status");
    let is_suspended = old_spec.get("suspend").is_true();
    let suspended = |condition: &Field<'_, '_>| {
        condition.get("type").text() == "Suspended" && condition.get("status").text() == "True"
    };
    let has_stopped = status.get("conditions").items().any(|condition| suspended(&condition));
    let is_idle = is_suspended
        && status.get("active").number_or_zero() == 0
        && (!status.get("startTime").is_set() || has_stopped);
    let fixed = |template: &Value| {
        let mut template = template.clone();
        if !is_idle {
            return template;
        }
        let remove = |template: &mut Value, pointer: &str, names: &[&str]| {
            if let Some(Value::Object(fields)) = template.pointer_mut(pointer) {
                names.iter().for_each(|name| drop(fields.remove(*name)));
            }
        };
        remove(&mut template, "/spec", &["nodeSelector", "tolerations", "schedulingGates"]);
        remove(&mut template, "/metadata", &["labels", "annotations"]);
        remove(&mut template, "/spec/affinity", &["nodeAffinity"]);
        for list in ["containers", "initContainers"] {
            let containers = template["spec"].get_mut(list).and_then(Value::as_array_mut);
            for container in containers.into_iter().flatten().filter_map(Value::as_object_mut) {
                container.remove("resources");
            }
        }
        if template.pointer("/spec/affinity") == Some(&serde_json::json!({})) {
            remove(&mut template, "/spec", &["affinity"]);
        }
        template
    };
    if fixed(before.value()) != fixed(after.value()) {
        e.invalid(&after, "field is immutable");
    }
}

/// Checks a cron job.
pub(super) fn check_cron(e: &mut Errors, object: &Field<'_, '_>, old: Option<&Field<'_, '_>>) {
    let spec = object.get("spec");
    let (schedule, zone) = (spec.get("schedule"), spec.get("timeZone"));
    if e.present(&schedule) {
        let may_have_zone = old.is_some_and(|old| old.get("spec").get("schedule").text().contains("TZ"));
        if let Some(broken) = cron::broken(schedule.text()) {
            e.invalid(&schedule, &broken);
        }
        if schedule.text().contains("TZ") && (!may_have_zone || zone.is_set()) {
            e.invalid(&schedule, "cannot use TZ or CRON_TZ in schedule, use timeZone field instead");
        }
    }
    let has_new_zone = old.is_none_or(|old| old.get("spec").get("timeZone").value() != zone.value());
    if zone.is_set() && has_new_zone && !cron::is_time_zone(zone.text()) {
        e.invalid(&zone, &format!("unknown time zone {}", zone.text()));
    }
    for name in ["startingDeadlineSeconds", "successfulJobsHistoryLimit", "failedJobsHistoryLimit"] {
        e.non_negative(&spec.get(name));
    }
    e.one_of(&spec.get("concurrencyPolicy"), &["Allow", "Forbid", "Replace"]);
    let template = spec.get("jobTemplate");
    let job = template.get("spec");
    check_spec(e, &job);
    if job.get("selector").is_set() {
        e.invalid(&job.get("selector"), "`selector` will be auto-generated");
    }
    if job.get("manualSelector").is_true() {
        e.unsupported(&job.get("manualSelector"), &["nil", "false"]);
    }
}
