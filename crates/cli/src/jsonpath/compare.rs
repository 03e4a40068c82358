//! The order of values, for filters and for `--sort-by`.

use serde_json::{Number, Value};
use std::cmp::Ordering;

/// Returns the order of two values of the same type; `None` if the types differ.
pub(super) fn order(one: &Value, other: &Value) -> Option<Ordering> {
    match (one, other) {
        (Value::String(one), Value::String(other)) => Some(one.cmp(other)),
        (Value::Bool(one), Value::Bool(other)) => Some(one.cmp(other)),
        (Value::Number(one), Value::Number(other)) => match (one.as_i64(), other.as_i64()) {
            (Some(one), Some(other)) => Some(one.cmp(&other)),
            _ => one.as_f64()?.partial_cmp(&other.as_f64()?),
        },
        (Value::Null, Value::Null) => Some(Ordering::Equal),
        _ => None,
    }
}

/// Orders the values of a column as `kubectl get --sort-by` does: missing values first, then numbers, then texts. Quantities such as
/// `100m` and `2Gi` are compared by their values and are before other texts. The order is total.
pub(crate) fn compare(one: Option<&Value>, other: Option<&Value>) -> Ordering {
    let (one, other) = (one.unwrap_or(&Value::Null), other.unwrap_or(&Value::Null));
    rank(one).cmp(&rank(other)).then_with(|| match (one, other) {
        (Value::Bool(one), Value::Bool(other)) => one.cmp(other),
        (Value::Number(one), Value::Number(other)) => {
            let size = |number: &Number| number.as_f64().unwrap_or_default();
            size(one).total_cmp(&size(other)).then_with(|| one.as_i64().cmp(&other.as_i64()))
        }
        (Value::String(one), Value::String(other)) => match (quantity(one), quantity(other)) {
            (Some(one), Some(other)) => one.total_cmp(&other),
            _ => one.cmp(other),
        },
        _ => Ordering::Equal,
    })
}

fn rank(value: &Value) -> u8 {
    match value {
        Value::Null => 0,
        Value::Bool(_) => 1,
        Value::Number(_) => 2,
        Value::String(text) if quantity(text).is_some() => 3,
        Value::String(_) => 4,
        Value::Array(_) | Value::Object(_) => 5,
    }
}

/// Returns the value of a quantity such as `100m`, `1.5` or `2Gi`.
fn quantity(text: &str) -> Option<f64> {
    let end = text.find(|letter: char| !(letter.is_ascii_digit() || matches!(letter, '.' | '-' | '+')));
    let (number, suffix) = text.split_at(end.unwrap_or(text.len()));
    let power = |unit: &str, base: f64, units: &[&str]| {
        units.iter().position(|known| *known == unit).map(|at| base.powi(at as i32 + 1))
    };
    let factor = match suffix {
        "" => 1.0,
        "n" => 1e-9,
        "u" => 1e-6,
        "m" => 1e-3,
        unit => power(unit, 1000.0, &["k", "M", "G", "T", "P", "E"])
            .or_else(|| power(unit, 1024.0, &["Ki", "Mi", "Gi", "Ti", "Pi", "Ei"]))?,
    };
    Some(number.parse::<f64>().ok()? * factor)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::json;

    #[test]
    fn a_column_is_ordered_as_by_kubectl() {
        let ordered = [
            json!(null),
            json!(false),
            json!(2),
            json!(2.5),
            json!(10),
            json!("100m"),
            json!("1"),
            json!("1500m"),
            json!("1Ki"),
            json!("2Gi"),
            json!("2771584e-9bba"),
            json!("36c3a7c2-e735"),
            json!("pod-10"),
            json!("pod-10a"),
            json!("pod-9"),
        ];
        for (at, value) in ordered.iter().enumerate() {
            assert_eq!(compare(Some(value), Some(value)), Ordering::Equal);
            for later in &ordered[at + 1..] {
                assert_eq!(compare(Some(value), Some(later)), Ordering::Less, "{value} {later}");
            }
        }
        assert_eq!(compare(None, Some(&json!("a"))), Ordering::Less);
    }

    proptest! {
        /// Sorting needs a total order.
        #[test]
        fn the_order_is_total(texts in prop::collection::vec("[aKim01.-]{0,5}", 3)) {
            let values: Vec<Value> =
                texts.iter().map(|text| serde_json::from_str(text).unwrap_or_else(|_| json!(text))).collect();
            let order = |one: usize, other: usize| compare(Some(&values[one]), Some(&values[other]));
            prop_assert_eq!(order(0, 1), order(1, 0).reverse());
            if order(0, 1).is_le() && order(1, 2).is_le() {
                prop_assert!(order(0, 2).is_le(), "{:?}", values);
            }
        }
    }
}
