//! Compares two values.

use serde_json::Value;

/// Returns the path of the first difference between two values, and the difference.
pub(crate) fn difference(one: &Value, two: &Value) -> Option<String> {
    match (one, two) {
        (Value::Object(one), Value::Object(two)) => {
            let names = one.keys().chain(two.keys());
            names.into_iter().find_map(|name| {
                let deeper = match (one.get(name), two.get(name)) {
                    (Some(one), Some(two)) => difference(one, two)?,
                    (one, two) => format!(": {one:?} and {two:?}"),
                };
                Some(format!(".{name}{deeper}"))
            })
        }
        (Value::Array(one), Value::Array(two)) if one.len() == two.len() => {
            let pairs = one.iter().zip(two).enumerate();
            pairs
                .into_iter()
                .find_map(|(index, (one, two))| Some(format!("[{index}]{}", difference(one, two)?)))
        }
        (one, two) => (one != two).then(|| format!(": {one} and {two}")),
    }
}
