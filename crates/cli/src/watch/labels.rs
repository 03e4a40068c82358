//! The labels that `-L` and `--show-labels` select.

use crate::args::Columns;
use crate::safe::clean_name;
use std::collections::BTreeMap;

/// The labels that are shown.
#[derive(Clone, Debug, Default)]
pub(super) struct Labels {
    /// The names of the labels with a column each.
    names: Vec<String>,
    has_all: bool,
}

/// The labels of an object.
type Map = BTreeMap<String, String>;

impl Labels {
    pub(super) fn new(args: &Columns) -> Self {
        Self { names: args.labels.clone(), has_all: args.show_labels }
    }

    /// Returns the headers: the last part of each name in upper case, and `LABELS`.
    pub(super) fn headers(&self) -> Vec<String> {
        let header = |name: &String| name.rsplit('/').next().unwrap_or_default().to_uppercase();
        self.names.iter().map(header).chain(self.has_all.then(|| "LABELS".to_owned())).collect()
    }

    /// Returns the cells below the headers.
    pub(super) fn cells(&self, labels: Option<&Map>) -> Vec<String> {
        let value = |name: &String| labels.and_then(|labels| labels.get(name)).map(|value| clean_name(value));
        let all = self.has_all.then(|| all(labels).unwrap_or_else(|| "<none>".to_owned()));
        self.names.iter().map(|name| value(name).unwrap_or_default()).chain(all).collect()
    }

    /// Returns the labels for a line, such as `app=web,tier=front`; `None` if no labels are shown or the object has none of them.
    pub(super) fn text(&self, labels: Option<&Map>) -> Option<String> {
        if self.has_all {
            return all(labels);
        }
        let labels = labels?;
        let pair = |name: &String| Some((name.clone(), labels.get(name)?.clone()));
        all(Some(&self.names.iter().filter_map(pair).collect()))
    }
}

fn all(labels: Option<&Map>) -> Option<String> {
    let pair = |(name, value): (&String, &String)| format!("{}={}", clean_name(name), clean_name(value));
    let mut pairs: Vec<_> = labels?.iter().map(pair).collect();
    // kubectl sorts the pairs, not the names.
    pairs.sort_unstable();
    (!pairs.is_empty()).then(|| pairs.join(","))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_are_columns_as_in_kubectl() {
        let map = |pairs: &[(&str, &str)]| -> Map {
            pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
        };
        let labels = Labels { names: vec!["app.kubernetes.io/name".into(), "tier".into()], has_all: true };
        assert_eq!(labels.headers(), ["NAME", "TIER", "LABELS"]);
        let some = map(&[("tier", "front"), ("a", "b")]);
        assert_eq!(labels.cells(Some(&some)), ["", "front", "a=b,tier=front"]);
        assert_eq!(labels.cells(None), ["", "", "<none>"]);
        assert_eq!(labels.cells(Some(&map(&[("app", "x"), ("app.io/a", "y")])))[2], "app.io/a=y,app=x");
        let one = Labels { names: vec!["tier".into()], has_all: false };
        assert_eq!(one.text(Some(&some)).as_deref(), Some("tier=front"));
        assert_eq!((one.text(Some(&map(&[]))), Labels::default().text(Some(&some))), (None, None));
    }
}
