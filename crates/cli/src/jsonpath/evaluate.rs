//! Evaluates templates and paths.
//!
//! A missing field has no results; an index beyond the end of a list is an error, as in kubectl.

use super::{
    compare::order,
    expression::{Comparison, JsonPathError, Node, Operator, Path, Step, Template},
};
use serde_json::Value;
use std::{borrow::Cow, cmp::Ordering};

type Results<'v> = Vec<Cow<'v, Value>>;

impl Template {
    /// Returns the text of the template for a value.
    ///
    /// # Errors
    /// If an index is out of bounds, or a filter compares values of different types.
    pub(crate) fn evaluate(&self, value: &Value) -> Result<String, JsonPathError> {
        let mut text = String::new();
        print(&self.nodes, value, &mut text)?;
        Ok(text)
    }
}

impl Path {
    /// Returns the values that the path selects.
    ///
    /// # Errors
    /// If an index is out of bounds, or a filter compares values of different types.
    pub(crate) fn find<'v>(&self, value: &'v Value) -> Result<Results<'v>, JsonPathError> {
        walk(&self.steps, vec![Cow::Borrowed(value)])
    }
}

/// Returns a value as text: strings without quotes, lists and objects as JSON.
pub(crate) fn shown(value: &Value) -> Cow<'_, str> {
    match value {
        Value::String(text) => Cow::Borrowed(text),
        Value::Null => Cow::Borrowed("<nil>"),
        other => Cow::Owned(other.to_string()),
    }
}

fn print(nodes: &[Node], value: &Value, text: &mut String) -> Result<(), JsonPathError> {
    for node in nodes {
        match node {
            Node::Text(literal) => text.push_str(literal),
            Node::Path(path) => {
                for (at, result) in path.find(value)?.iter().enumerate() {
                    if at > 0 {
                        text.push(' ');
                    }
                    text.push_str(&shown(result));
                }
            }
            Node::Range { path, body } => {
                for result in path.find(value)? {
                    print(body, &result, text)?;
                }
            }
        }
    }
    Ok(())
}

fn walk<'v>(steps: &[Step], mut results: Results<'v>) -> Result<Results<'v>, JsonPathError> {
    for step in steps {
        results = apply(step, results)?;
    }
    Ok(results)
}

fn apply<'v>(step: &Step, input: Results<'v>) -> Result<Results<'v>, JsonPathError> {
    let mut found = Vec::new();
    match step {
        Step::Literal(value) => found.push(Cow::Owned(value.clone())),
        Step::Field(name) => found.extend(input.into_iter().filter_map(|value| field(value, name))),
        Step::Wildcard => found.extend(input.into_iter().flat_map(children)),
        Step::Recursive => input.into_iter().for_each(|value| descend(value, &mut found)),
        Step::Index(index) => {
            for value in input {
                let items = list(value)?;
                let length = items.len();
                let at = if *index < 0 { *index + length as i64 } else { *index };
                let item = usize::try_from(at).ok().and_then(|at| items.into_iter().nth(at));
                let missing = || out_of_bounds(at, length);
                found.push(item.ok_or_else(missing)?);
            }
        }
        Step::Slice { start, end, step } => {
            for value in input {
                found.extend(slice(list(value)?, [*start, *end, *step])?);
            }
        }
        Step::Union(paths) => {
            for path in paths {
                found.extend(walk(&path.steps, input.clone())?);
            }
        }
        Step::Filter { left, comparison } => {
            for value in input {
                for item in list(value)? {
                    if is_match(left, comparison.as_ref(), &item)? {
                        found.push(item);
                    }
                }
            }
        }
    }
    Ok(found)
}

fn out_of_bounds(index: i64, length: usize) -> JsonPathError {
    JsonPathError::Evaluation(format!("array index out of bounds: index {index}, length {length}"))
}

fn field<'v>(value: Cow<'v, Value>, name: &str) -> Option<Cow<'v, Value>> {
    match value {
        Cow::Borrowed(value) => value.as_object()?.get(name).map(Cow::Borrowed),
        Cow::Owned(Value::Object(mut fields)) => fields.remove(name).map(Cow::Owned),
        Cow::Owned(_) => None,
    }
}

fn children(value: Cow<'_, Value>) -> Results<'_> {
    match value {
        Cow::Borrowed(Value::Array(items)) => items.iter().map(Cow::Borrowed).collect(),
        Cow::Borrowed(Value::Object(fields)) => fields.values().map(Cow::Borrowed).collect(),
        Cow::Owned(Value::Array(items)) => items.into_iter().map(Cow::Owned).collect(),
        Cow::Owned(Value::Object(fields)) => fields.into_iter().map(|(_, value)| Cow::Owned(value)).collect(),
        Cow::Borrowed(_) | Cow::Owned(_) => Vec::new(),
    }
}

/// Collects a value and the lists and objects within it.
fn descend<'v>(value: Cow<'v, Value>, found: &mut Results<'v>) {
    if !(value.is_object() || value.is_array()) {
        return;
    }
    found.push(value.clone());
    children(value).into_iter().for_each(|child| descend(child, found));
}

fn list(value: Cow<'_, Value>) -> Result<Results<'_>, JsonPathError> {
    match &*value {
        Value::Null => Ok(Vec::new()),
        Value::Array(_) => Ok(children(value)),
        Value::Object(_) => Err(JsonPathError::Evaluation("an object is not a list".to_owned())),
        other => Err(JsonPathError::Evaluation(format!("{other} is not a list"))),
    }
}

fn slice(items: Results<'_>, [start, end, step]: [Option<i64>; 3]) -> Result<Results<'_>, JsonPathError> {
    let length = items.len() as i64;
    let from_end = |index: i64| if index < 0 { index + length } else { index };
    let (start, end) = (from_end(start.unwrap_or(0)), from_end(end.unwrap_or(length)));
    let step = match step.unwrap_or(1) {
        step @ 1.. => usize::try_from(step).unwrap_or(usize::MAX),
        step => {
            return Err(JsonPathError::Evaluation(format!("the step of a slice is {step}, not positive")));
        }
    };
    if start == end {
        return Ok(Vec::new());
    }
    if !(0..length).contains(&start) {
        return Err(out_of_bounds(start, items.len()));
    }
    if !(0..=length).contains(&end) {
        return Err(out_of_bounds(end - 1, items.len()));
    }
    let count = usize::try_from(end - start).map_err(|_| {
        JsonPathError::Evaluation(format!("the slice starts at {start}, after its end {end}"))
    })?;
    let start = usize::try_from(start).unwrap_or_default();
    Ok(items.into_iter().skip(start).take(count).step_by(step).collect())
}

fn is_match(left: &Path, comparison: Option<&Comparison>, item: &Value) -> Result<bool, JsonPathError> {
    let left = left.find(item)?;
    let Some(Comparison { operator, right }) = comparison else { return Ok(!left.is_empty()) };
    let right = right.find(item)?;
    let (Some(one), Some(other)) = (left.first(), right.first()) else { return Ok(false) };
    if left.len() > 1 || right.len() > 1 {
        return Err(JsonPathError::Evaluation("a filter compares more than one value".to_owned()));
    }
    let Some(order) = order(one, other) else {
        return Err(JsonPathError::Evaluation(format!("cannot compare {one} with {other}")));
    };
    Ok(match operator {
        Operator::Equal => order == Ordering::Equal,
        Operator::NotEqual => order != Ordering::Equal,
        Operator::Less => order == Ordering::Less,
        Operator::LessOrEqual => order != Ordering::Greater,
        Operator::Greater => order == Ordering::Greater,
        Operator::GreaterOrEqual => order != Ordering::Less,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn list_of_pods() -> Value {
        json!({"kind": "List", "items": [
            {"metadata": {"name": "a", "labels": {"app.io/name": "x"}}, "status": {"phase": "Running", "n": 3,
                "conditions": [{"type": "Ready", "status": "True"}, {"type": "Up", "status": "False"}]}},
            {"metadata": {"name": "b"}, "status": {"phase": "Pending", "n": 10, "nothing": null,
                "conditions": [{"type": "Ready", "status": "False", "reason": "Crash"}]}},
            {"metadata": {"name": "c"}, "status": {"phase": "Running", "ok": true, "ratio": 1.5}},
        ]})
    }

    /// Each template with the text that kubectl prints for it.
    #[test]
    fn templates_print_what_kubectl_prints() {
        let table = [
            ("{.items[*].metadata.name}", "a b c"),
            ("{.items[0].metadata.name}", "a"),
            ("{.items[-1].metadata.name}", "c"),
            ("{.items[0:2].metadata.name}", "a b"),
            ("{.items[::2].metadata.name}", "a c"),
            ("{.items[-2:].metadata.name}", "b c"),
            ("{.items[0,2].metadata.name}", "a c"),
            ("{.items[*]['metadata.name','status.phase']}", ""),
            ("{.items[0].metadata['name','labels']}", r#"a {"app.io/name":"x"}"#),
            (r"{.items[0].metadata.labels.app\.io/name}", "x"),
            (r#"{.items[0].metadata.labels["app.io/name"]}"#, "x"),
            ("{..name}", "a b c"),
            ("{$.kind}", "List"),
            ("{@.kind}", "List"),
            ("kind: {.kind}!", "kind: List!"),
            (
                r#"{range .items[*]}{.metadata.name}{"\t"}{.status.phase}{"\n"}{end}"#,
                "a\tRunning\nb\tPending\nc\tRunning\n",
            ),
            ("{range .items[*]}[{range .status.conditions[*]}{.type},{end}]{end}", "[Ready,Up,][Ready,][]"),
            (r#"{.items[?(@.status.phase=="Running")].metadata.name}"#, "a c"),
            (r#"{.items[?(@.status.phase!="Running")].metadata.name}"#, "b"),
            ("{.items[?(@.status.n>3)].metadata.name}", "b"),
            ("{.items[?(@.status.n>=3)].metadata.name}", "a b"),
            ("{.items[?(@.status.n<10)].metadata.name}", "a"),
            ("{.items[?(@.status.ok==true)].metadata.name}", "c"),
            ("{.items[?(@.metadata.labels)].metadata.name}", "a"),
            (r#"{.items[*].status.conditions[?(@.type=="Ready")].status}"#, "True False"),
            (r#"{.items[?(@.status.conditions[?(@.reason=="Crash")])].metadata.name}"#, "b"),
            ("{.items[2].status.ratio} {.items[2].status.ok} {.items[0].status.n}", "1.5 true 3"),
            ("{.missing.field}", ""),
            ("{.items[0].status.conditions[0]}", r#"{"status":"True","type":"Ready"}"#),
            ("{.items[0].metadata.*}", r#"{"app.io/name":"x"} a"#),
            ("no braces", "no braces"),
        ];
        for (template, expected) in table {
            let text = Template::parse(template).unwrap().evaluate(&list_of_pods()).unwrap();
            assert_eq!(text, expected, "{template}");
        }
    }

    #[test]
    fn what_cannot_be_evaluated_is_an_error() {
        let table = [
            ("{.items[3].metadata}", "array index out of bounds: index 3, length 3"),
            ("{.items[-4].metadata}", "array index out of bounds: index -1, length 3"),
            ("{.items[2:9].metadata}", "array index out of bounds: index 8, length 3"),
            ("{.items[2:1]}", "the slice starts at 2, after its end 1"),
            ("{.items[0:2:0]}", "the step of a slice is 0, not positive"),
            ("{.kind[0]}", "\"List\" is not a list"),
            ("{.items[?(@.status.phase==3)]}", "cannot compare \"Running\" with 3"),
        ];
        for (template, expected) in table {
            let error = Template::parse(template).unwrap().evaluate(&list_of_pods()).unwrap_err();
            assert_eq!(error.to_string(), format!("cannot evaluate the JSONPath: {expected}"), "{template}");
        }
        let empty = Template::parse("{.items[*].metadata.name}").unwrap().evaluate(&json!({"items": []}));
        assert_eq!(empty.unwrap(), "");
    }
}
