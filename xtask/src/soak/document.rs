//! A run as JSON, as far as it has come.

use std::path::Path;

use anyhow::Result;
use serde_json::{Value, json};

use crate::file;
use crate::soak::options::Options;
use crate::soak::sample::Sample;
use crate::soak::verdict::Verdict;

/// Writes a run to a file; one that is cut off leaves what it had.
pub(crate) fn write(
    file: &Path,
    options: &Options,
    samples: &[Sample],
    (verdict, machine): (Option<&Verdict>, &str),
) -> Result<()> {
    file::put(file, &format!("{:#}\n", document(options, samples, (verdict, machine))))
}

fn document(options: &Options, samples: &[Sample], (verdict, machine): (Option<&Verdict>, &str)) -> Value {
    json!({
        "informers": options.informers,
        "objects": options.objects,
        "rate": options.rate,
        "seconds": options.time.as_secs_f64(),
        "seconds_between_faults": options.faults.as_secs_f64(),
        "waits": options.waits.name(),
        "bound_per_hour": options.bound,
        "machine": machine,
        "complete": verdict.is_some(),
        "verdict": verdict.map(Verdict::document),
        "lines": samples.iter().map(Sample::document).collect::<Vec<_>>(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::soak::options::parse;

    #[test]
    fn a_run_without_verdict_is_not_complete() {
        let options = parse(&[]).unwrap();
        let document = document(&options, &[], (None, "a machine"));
        assert_eq!((&document["complete"], &document["verdict"]), (&json!(false), &Value::Null));
        assert_eq!((&document["informers"], &document["machine"]), (&json!(50), &json!("a machine")));
    }
}
