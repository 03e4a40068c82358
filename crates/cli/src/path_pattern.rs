//! Patterns of field paths, for `--changed` and `--ignore`.

/// A pattern such as `status.phase`, `/status/phase`, `status.conditions[Ready]`, `status.conditions.*.reason` or `**.lastProbeTime`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct PathPattern(Vec<Part>);

#[derive(Clone, Debug, PartialEq, Eq)]
enum Part {
    Name(String),
    /// `*`: any name.
    Any,
    /// `**`: any number of names.
    AnyNumber,
}

impl PathPattern {
    /// Parses a pattern.
    ///
    /// # Errors
    /// If it has no names, or a bracket is not closed.
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        let names = if text.starts_with('/') { pointer(text) } else { dotted(text)? };
        let part = |name: String| match name.as_str() {
            "*" => Part::Any,
            "**" => Part::AnyNumber,
            _ => Part::Name(name),
        };
        let parts: Vec<_> = names.into_iter().filter(|name| !name.is_empty()).map(part).collect();
        if parts.is_empty() {
            return Err(format!(
                "invalid path {text:?}: expected a field, such as status.phase or /status/phase"
            ));
        }
        Ok(Self(parts))
    }

    /// Returns whether a field is the one that the pattern names, or below it. A path is given by its names.
    pub(crate) fn matches(&self, names: &[&str]) -> bool {
        is_match(&self.0, names)
    }
}

fn is_match(parts: &[Part], names: &[&str]) -> bool {
    match (parts, names) {
        ([], _) => true,
        ([Part::AnyNumber, rest @ ..], _) => {
            (0..=names.len()).any(|skipped| is_match(rest, &names[skipped..]))
        }
        (_, []) => false,
        ([Part::Any, parts @ ..], [_, names @ ..]) => is_match(parts, names),
        ([Part::Name(wanted), parts @ ..], [name, names @ ..]) => wanted == name && is_match(parts, names),
    }
}

fn pointer(text: &str) -> Vec<String> {
    text.split('/').map(|name| name.replace("~1", "/").replace("~0", "~")).collect()
}

/// Splits at dots and brackets: `a.b[c.d/e].f` has the names `a`, `b`, `c.d/e` and `f`.
fn dotted(text: &str) -> Result<Vec<String>, String> {
    let (mut names, mut rest) = (Vec::new(), text);
    while !rest.is_empty() {
        let end = rest.find(['.', '[']).unwrap_or(rest.len());
        names.push(rest[..end].to_owned());
        rest = &rest[end..];
        if let Some(inner) = rest.strip_prefix('[') {
            let end = inner.find(']').ok_or_else(|| {
                format!(
                    "invalid path {text:?} at byte {}: the bracket is not closed",
                    text.len() - rest.len()
                )
            })?;
            names.push(inner[..end].trim_matches(['"', '\'']).to_owned());
            rest = &inner[end + 1..];
        } else if let Some(after) = rest.strip_prefix('.') {
            rest = after;
        }
    }
    Ok(names)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pattern_matches_a_field_and_those_below_it() {
        let path = ["status", "conditions", "Ready", "lastProbeTime"];
        let annotation = ["metadata", "annotations", "a.b/c"];
        for (text, expected) in [
            ("status", true),
            ("/status/conditions", true),
            ("status.conditions[Ready]", true),
            ("status.conditions.Ready.lastProbeTime", true),
            (".status.conditions.*.lastProbeTime", true),
            ("**.lastProbeTime", true),
            ("**.conditions", true),
            ("status.conditions.*.reason", false),
            ("status.conditions[Ready].lastProbeTime.more", false),
            ("spec", false),
            ("conditions", false),
        ] {
            assert_eq!(PathPattern::parse(text).unwrap().matches(&path), expected, "{text}");
        }
        for text in
            ["metadata.annotations[a.b/c]", "/metadata/annotations/a.b~1c", "metadata.annotations['a.b/c']"]
        {
            assert!(PathPattern::parse(text).unwrap().matches(&annotation), "{text}");
        }
    }

    #[test]
    fn an_invalid_pattern_is_refused() {
        assert!(PathPattern::parse("").unwrap_err().contains("expected a field"));
        assert!(PathPattern::parse("/").is_err());
        assert!(PathPattern::parse("a[b").unwrap_err().contains("at byte 1: the bracket is not closed"));
    }
}
