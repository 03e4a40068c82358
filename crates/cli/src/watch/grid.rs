//! Cells in columns, three spaces apart as kubectl prints them.

use crate::args::Column;
use crate::jsonpath::{JsonPathError, shown};
use crate::safe::clean;
use serde_json::Value;

/// The spaces between two columns, and the minimum width of a column with them.
const GAP: usize = 3;
const MIN_WIDTH: usize = 6;

/// Returns the lines of a table. All cells of a column but the last are padded to the widest one.
pub(super) fn lines(rows: &[Vec<String>]) -> Vec<String> {
    let mut widths = Vec::new();
    rows.iter().for_each(|row| widen(&mut widths, row));
    rows.iter().map(|row| line(row, &widths)).collect()
}

/// Makes columns as wide as the cells of a row.
pub(super) fn widen(widths: &mut Vec<usize>, row: &[String]) {
    widths.resize(widths.len().max(row.len()), 0);
    for (width, cell) in widths.iter_mut().zip(row) {
        *width = (*width).max(cell.chars().count());
    }
}

/// Returns a row with padded cells.
pub(super) fn line(row: &[String], widths: &[usize]) -> String {
    let last = row.len().saturating_sub(1);
    let cells = row.iter().zip(widths).enumerate();
    cells
        .map(|(at, (cell, width))| match at {
            at if at == last => cell.clone(),
            _ => format!("{cell:<width$}", width = (width + GAP).max(MIN_WIDTH)),
        })
        .collect()
}

/// Returns the headers of custom columns.
pub(super) fn headers(columns: &[Column]) -> Vec<String> {
    columns.iter().map(|column| clean(&column.header)).collect()
}

/// Returns the cells of an object: the values of each path with commas between them, or `<none>`.
pub(super) fn cells(columns: &[Column], object: &Value) -> Result<Vec<String>, JsonPathError> {
    let cell = |column: &Column| {
        let found = column.path.find(object)?;
        let values: Vec<_> =
            found.iter().filter(|value| !value.is_null()).map(|value| clean(&shown(value))).collect();
        Ok(if values.is_empty() { "<none>".to_owned() } else { values.join(",") })
    };
    columns.iter().map(cell).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::jsonpath::Path;
    use serde_json::json;

    #[test]
    fn columns_have_three_spaces_between_them() {
        let rows = [
            vec!["NAME".into(), "AGE".into()],
            vec!["front-1".into(), "5d".into()],
            vec!["ä".into(), String::new()],
        ];
        assert_eq!(lines(&rows), ["NAME      AGE", "front-1   5d", "ä         "]);
        assert_eq!(lines(&[vec!["0".into(), "1/1".into(), "a".into()]]), ["0     1/1   a"]);
    }

    #[test]
    fn a_cell_has_all_values_of_its_path() {
        let columns = ["metadata.name", ".spec.ports[*].port", ".missing", ".nothing"];
        let columns: Vec<_> = columns
            .iter()
            .map(|path| Column { header: "A".into(), path: Path::parse(path).unwrap() })
            .collect();
        let object = json!({"metadata": {"name": "a\u{1b}"}, "spec": {"ports": [{"port": 1}, {"port": 2}]}, "nothing": null});
        assert_eq!(cells(&columns, &object).unwrap(), ["a\\u{1b}", "1,2", "<none>", "<none>"]);
    }
}
