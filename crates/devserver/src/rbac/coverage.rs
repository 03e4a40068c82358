//! Finds the rules of a role that its author does not have.

use crate::rbac::rule::{ALL, PolicyRule};

/// Returns the parts of `wanted` that no rule of `held` covers, one for each resource.
pub(crate) fn uncovered(held: &[PolicyRule], wanted: &[PolicyRule]) -> Vec<PolicyRule> {
    let parts = wanted.iter().flat_map(parts);
    let missing = parts.filter(|part| !held.iter().any(|own| covers(own, part)));
    let mut compact: Vec<PolicyRule> = Vec::new();
    for part in missing {
        let is_same =
            |one: &&mut PolicyRule| PolicyRule { verbs: part.verbs.clone(), ..(*one).clone() } == part;
        match compact.iter_mut().find(is_same) {
            Some(one) => one.verbs.extend(part.verbs),
            None => compact.push(part),
        }
    }
    compact
}

/// Writes a rule as messages of the API server do.
impl std::fmt::Display for PolicyRule {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let fields = [
            ("APIGroups", &self.api_groups),
            ("Resources", &self.resources),
            ("NonResourceURLs", &self.non_resource_urls),
            ("ResourceNames", &self.resource_names),
            ("Verbs", &self.verbs),
        ];
        let quoted =
            |values: &[String]| values.iter().map(|one| format!("{one:?}")).collect::<Vec<_>>().join(" ");
        let fields: Vec<_> = fields
            .iter()
            .filter(|(_, values)| !values.is_empty())
            .map(|(name, values)| format!("{name}:[{}]", quoted(values)))
            .collect();
        write!(f, "{{{}}}", fields.join(", "))
    }
}

/// Splits a rule into rules with one value in each field.
fn parts(rule: &PolicyRule) -> Vec<PolicyRule> {
    let one = |value: &String| vec![value.clone()];
    let mut parts = Vec::new();
    for verb in &rule.verbs {
        for group in &rule.api_groups {
            for resource in &rule.resources {
                let part = PolicyRule {
                    verbs: one(verb),
                    api_groups: one(group),
                    resources: one(resource),
                    ..PolicyRule::default()
                };
                match rule.resource_names.is_empty() {
                    true => parts.push(part),
                    false => parts.extend(
                        rule.resource_names
                            .iter()
                            .map(|name| PolicyRule { resource_names: one(name), ..part.clone() }),
                    ),
                }
            }
        }
        let urls = rule.non_resource_urls.iter();
        parts.extend(urls.map(|url| PolicyRule {
            verbs: one(verb),
            non_resource_urls: one(url),
            ..PolicyRule::default()
        }));
    }
    parts
}

/// Returns true if a rule covers another rule that has a single value in each field.
fn covers(own: &PolicyRule, part: &PolicyRule) -> bool {
    let has = |own: &[String], wanted: &[String]| {
        own.iter().any(|one| one == ALL) || wanted.iter().all(|one| own.contains(one))
    };
    if let [url] = part.non_resource_urls.as_slice() {
        return has(&own.verbs, &part.verbs) && own.allows_path(url);
    }
    let covers_resource = |wanted: &String| {
        let parent = wanted.split_once('/').map(|(_, subresource)| format!("*/{subresource}"));
        let has_parent = parent.is_some_and(|parent| own.resources.contains(&parent));
        has(&own.resources, std::slice::from_ref(wanted)) || has_parent
    };
    let covers_names = own.resource_names.is_empty()
        || (!part.resource_names.is_empty() && has(&own.resource_names, &part.resource_names));
    has(&own.verbs, &part.verbs)
        && has(&own.api_groups, &part.api_groups)
        && part.resources.iter().all(covers_resource)
        && covers_names
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn rules_that_the_author_does_not_have_are_listed() {
        let rules = |rules| serde_json::from_value::<Vec<PolicyRule>>(rules).unwrap();
        let held = rules(json!([
            { "verbs": ["get", "list"], "apiGroups": [""], "resources": ["pods"] },
            { "verbs": ["*"], "apiGroups": ["apps"], "resources": ["*"], "resourceNames": ["a"] },
            { "verbs": ["get"], "nonResourceURLs": ["/api/*"] },
        ]));
        let table = [
            (
                json!({ "verbs": ["get"], "apiGroups": [""], "resources": ["pods"], "resourceNames": ["x"] }),
                "",
            ),
            (
                json!({ "verbs": ["get", "create", "delete"], "apiGroups": [""], "resources": ["pods"] }),
                "{APIGroups:[\"\"], Resources:[\"pods\"], Verbs:[\"create\" \"delete\"]}",
            ),
            (
                json!({ "verbs": ["get"], "apiGroups": ["apps"], "resources": ["x"], "resourceNames": ["a"] }),
                "",
            ),
            (
                json!({ "verbs": ["get"], "apiGroups": ["apps"], "resources": ["x"] }),
                "{APIGroups:[\"apps\"], Resources:[\"x\"], Verbs:[\"get\"]}",
            ),
            (json!({ "verbs": ["get"], "nonResourceURLs": ["/api/v1"] }), ""),
            (
                json!({ "verbs": ["get"], "nonResourceURLs": ["/metrics"] }),
                "{NonResourceURLs:[\"/metrics\"], Verbs:[\"get\"]}",
            ),
        ];
        for (wanted, expected) in table {
            let missing = uncovered(&held, &rules(json!([wanted])));
            let text: Vec<_> = missing.iter().map(ToString::to_string).collect();
            assert_eq!(text.join("\n"), expected, "{wanted}");
        }
    }
}
