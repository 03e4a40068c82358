//! The additional printer columns of a CustomResourceDefinition.

use crate::format::age::age;
use crate::format::table::column::{definition, plain};
use crate::object::path;
use crate::registry::PrinterColumn;
use jiff::Timestamp;
use serde_json::Value;

/// Returns the definition of a column.
pub(super) fn head(column: &PrinterColumn) -> Value {
    let mut head = definition(&column.name, &column.value_type, &column.format, column.priority);
    head["description"] = column.description.as_str().into();
    head
}

/// Returns the cell of an object; `null` if the object has no value for the column.
pub(super) fn cell(column: &PrinterColumn, object: &Value, now: Timestamp) -> Value {
    let Some(found) = find(object, &column.json_path).filter(|found| !found.is_null()) else {
        return Value::Null;
    };
    match column.value_type.as_str() {
        "integer" => found.as_i64().or(found.as_f64().map(|number| number as i64)).into(),
        "number" => found.as_f64().into(),
        "boolean" => found.as_bool().into(),
        "date" => match found.as_str() {
            Some(time) => age(time, now).into(),
            None => "<invalid>".into(),
        },
        _ => plain(found).into(),
    }
}

/// Returns the value at a path that may filter a list, such as
/// `.status.conditions[?(@.type=="Ready")].status`.
fn find<'a>(object: &'a Value, json_path: &str) -> Option<&'a Value> {
    let Some((list, rest)) = json_path.split_once("[?(") else {
        return path::read(object, &json_path.replace("[*]", "[0]"));
    };
    let (condition, after) = rest.split_once(")]")?;
    let (field, wanted) = condition.split_once("==")?;
    let field = field.trim().trim_start_matches('@');
    let wanted = wanted.trim().trim_matches(['"', '\'']);
    let items = path::read(object, list)?.as_array()?;
    let item =
        items.iter().find(|item| path::read(item, field).is_some_and(|value| plain(value) == wanted))?;
    find(item, after)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn check(value_type: &str, json_path: &str, expected: &Value) {
        let column = PrinterColumn {
            name: "Column".to_owned(),
            value_type: value_type.to_owned(),
            format: String::new(),
            description: String::new(),
            priority: 0,
            json_path: json_path.to_owned(),
        };
        let object = json!({
            "metadata": {"creationTimestamp": "1970-01-01T00:00:00Z"},
            "spec": {"size": 3, "share": 0.5, "on": true, "list": ["x", "y"], "name": "n"},
            "status": {"conditions": [{"type": "Ready", "status": "True"}, {"type": "Old", "status": "False"}]},
        });
        assert_eq!(&cell(&column, &object, Timestamp::from_second(90).unwrap()), expected, "{json_path}");
    }

    #[test]
    fn cells_have_the_type_of_their_column() {
        check("integer", ".spec.size", &json!(3));
        check("integer", ".spec.share", &json!(0));
        check("integer", ".spec.name", &Value::Null);
        check("number", ".spec.share", &json!(0.5));
        check("boolean", ".spec.on", &json!(true));
        check("string", ".spec.size", &json!("3"));
        check("string", ".spec.none", &Value::Null);
        check("date", ".metadata.creationTimestamp", &json!("90s"));
        check("date", ".spec.size", &json!("<invalid>"));
    }

    #[test]
    fn paths_can_filter_items() {
        check("string", ".status.conditions[?(@.type==\"Old\")].status", &json!("False"));
        check("string", ".status.conditions[?(@.type=='Ready')].status", &json!("True"));
        check("string", ".status.conditions[?(@.type=='None')].status", &Value::Null);
        check("string", ".spec.list[*]", &json!("x"));
        check("string", ".spec.list[?(", &Value::Null);
    }
}
