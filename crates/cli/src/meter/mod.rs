//! The metrics of the library, and the resource usage of the process.

mod process;
mod metric_values;

pub(crate) use metric_values::MetricValues;
pub(crate) use process::Usage;
