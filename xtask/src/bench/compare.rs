//! How far runs are apart in what their targets are judged by: `cargo xtask bench compare`.

use std::collections::BTreeSet;
use std::fmt::Write;
use std::fs;
use std::path::PathBuf;

use anyhow::{Context, Result, ensure};
use serde_json::Value;

use crate::paint::Paint;

/// Runs whose figures are further apart than this do not repeat.
const APART: f64 = 1.15;

/// What one run says of a target.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Reached {
    Number(f64),
    /// It falls behind, or its peers do; there is no number.
    Behind {
        is_met: bool,
    },
}

/// How far runs are from each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Distance {
    /// They repeat.
    Near,
    /// They do not, but what they differ by is little beside what is allowed: one has a fiftieth of it, the other a thirtieth.
    Within,
    Apart,
}

/// A target, and what each run says of it.
#[derive(Debug, Clone, PartialEq)]
struct Compared {
    target: Target,
    reached: Vec<Reached>,
}

/// A target of one run.
#[derive(Debug, Clone, PartialEq)]
struct Target {
    name: String,
    /// The same in all runs, whoever of the peers was there to be held against.
    key: String,
    /// Whether it is a time or a rate that no peer stands beside: as much a figure of the machine, at that hour.
    is_absolute: bool,
    /// What it may be at most, if it is that.
    most: Option<f64>,
    reached: Reached,
}

/// Prints the comparison, and says how many targets are too far apart, of those that are no figures of the machine.
///
/// # Errors
/// A file that is no complete output of `--json`, or runs that have nothing in common.
pub(crate) fn run(files: &[PathBuf]) -> Result<usize> {
    let read = |file: &PathBuf| -> Result<Value> {
        let text = fs::read_to_string(file).with_context(|| format!("cannot read {}", file.display()))?;
        serde_json::from_str(&text).with_context(|| format!("{} is no JSON", file.display()))
    };
    let runs = files.iter().map(read).collect::<Result<Vec<_>>>()?;
    let (compared, alone) = compare(&runs)?;
    print!("{}", table(&compared, Paint::detect()));
    if alone > 0 {
        println!("{alone} more targets are not in all of them");
    }
    let (absolute, ratios): (Vec<_>, Vec<_>) = compared.iter().partition(|one| one.target.is_absolute);
    let count = |some: &[&Compared], distance| some.iter().filter(|one| one.distance() == distance).count();
    let (percent, apart) = ((APART - 1.0) * 100.0, count(&ratios, Distance::Apart));
    println!(
        "{} ratios and sizes: {} no further apart than {percent:.0} %, {} by less than {percent:.0} % of what is allowed, {apart} further",
        ratios.len(),
        count(&ratios, Distance::Near),
        count(&ratios, Distance::Within),
    );
    let near = count(&absolute, Distance::Near);
    println!("{} times and rates of this machine, {near} no further apart", absolute.len());
    Ok(apart)
}

/// The targets that all runs have, and how many there are besides.
fn compare(runs: &[Value]) -> Result<(Vec<Compared>, usize)> {
    let runs = runs.iter().map(targets).collect::<Result<Vec<_>>>()?;
    let keys: BTreeSet<_> = runs.iter().flatten().map(|target| &target.key).collect();
    let of =
        |run: &[Target], key: &str| run.iter().find(|other| other.key == key).map(|target| target.reached);
    let mut compared = Vec::new();
    // In the order of the table.
    for target in runs.first().context("there is nothing to compare")? {
        let reached: Option<Vec<_>> = runs.iter().map(|run| of(run, &target.key)).collect();
        compared.extend(reached.map(|reached| Compared { target: target.clone(), reached }));
    }
    ensure!(!compared.is_empty(), "these runs have no target in common");
    let alone = keys.len() - compared.len();
    Ok((compared, alone))
}

/// Every target of a run, by a name that says of which objects it is.
fn targets(run: &Value) -> Result<Vec<Target>> {
    let mut found = Vec::new();
    for document in run.as_array().context("there are no documents")? {
        let objects = document["objects"].as_u64().context("a document does not say of how many objects")?;
        let figures = document["figures"].as_array().context("a document has no figures")?;
        ensure!(document["complete"] == true, "a run of {objects} objects is not complete");
        for figure in figures {
            for target in figure["targets"].as_array().into_iter().flatten() {
                let reached = match target["reached"].as_f64() {
                    Some(number) => Reached::Number(number),
                    None => Reached::Behind { is_met: target["met"] == true },
                };
                let words = [&figure["row"], &figure["figure"], &figure["contender"], &target["target"]];
                let [row, key, contender, limit] = words.map(|word| word.as_str().unwrap_or_default());
                let name = format!("{row:<4} {key:<22} {contender:<18} {limit:<36} of {objects}");
                let number: Vec<_> = limit.split(' ').take(2).collect();
                let key = format!("{row} {key} {contender} {} {objects}", number.join(" "));
                let is_time =
                    matches!(figure["unit"].as_str(), Some("Seconds" | "Nanoseconds" | "PerSecond"));
                // A target that is relative names its peers behind an `x`.
                let is_absolute = is_time && !limit.contains("x ");
                found.push(Target { name, key, is_absolute, most: target["most"].as_f64(), reached });
            }
        }
    }
    Ok(found)
}

impl Compared {
    /// The smallest number and the largest; nothing where there are not numbers alone.
    fn ends(&self) -> Option<(f64, f64)> {
        let number = |reached: &Reached| match reached {
            Reached::Number(number) => Some(*number),
            Reached::Behind { .. } => None,
        };
        let numbers = self.reached.iter().map(number).collect::<Option<Vec<_>>>()?;
        let end = |pick: fn(f64, f64) -> f64| numbers.iter().copied().reduce(pick);
        Some((end(f64::min)?, end(f64::max)?))
    }

    fn distance(&self) -> Distance {
        let allowed = self.target.most.unwrap_or(0.0) * (APART - 1.0);
        match self.ends() {
            Some((least, most)) if most <= least * APART => Distance::Near,
            Some((least, most)) if most - least <= allowed => Distance::Within,
            None if self.reached.windows(2).all(|pair| pair[0] == pair[1]) => Distance::Near,
            Some(_) | None => Distance::Apart,
        }
    }
}

fn table(compared: &[Compared], paint: Paint) -> String {
    let mut text = String::new();
    for one in compared {
        let show = |reached: &Reached| match reached {
            Reached::Number(number) if *number >= 1000.0 => format!("{number:.0}"),
            Reached::Number(number) => format!("{number:.3}"),
            Reached::Behind { is_met: false } => "falls behind".to_owned(),
            Reached::Behind { is_met: true } => "peers behind".to_owned(),
        };
        let reached: Vec<_> = one.reached.iter().map(|reached| format!("{:>12}", show(reached))).collect();
        let apart = match one.ends() {
            Some((least, most)) if least != most => format!("{:+.1} %", (most / least - 1.0) * 100.0),
            Some(_) => "+0.0 %".to_owned(),
            None => String::new(),
        };
        let mark = match (one.distance(), one.target.is_absolute) {
            (Distance::Near, _) => paint.green("near"),
            (Distance::Within | Distance::Apart, true) => "of the machine".to_owned(),
            (Distance::Within, false) => paint.green("within"),
            (Distance::Apart, false) => paint.red("APART"),
        };
        _ = writeln!(text, "{:<92} {}  {apart:>9}  {mark}", one.target.name, reached.join(" "));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    /// A run in which targets were judged by these; a target without a number is of who falls behind.
    fn run(reached: &[(&str, Option<f64>)]) -> Value {
        let figure = |(contender, reached): &(&str, Option<f64>)| {
            let targets = json!([{ "target": "<= 0.5x client-go", "most": 0.5, "reached": reached }]);
            json!({ "row": "W8", "figure": "p99_5k", "contender": contender, "targets": targets })
        };
        let figures: Vec<_> = reached.iter().map(figure).collect();
        json!([{ "objects": 7, "complete": true, "figures": figures }])
    }

    /// Of each target that runs have in common, whether they are near each other.
    fn near(runs: &[Value]) -> Vec<bool> {
        compare(runs).unwrap().0.iter().map(|one| one.distance() == Distance::Near).collect()
    }

    #[test]
    fn fifteen_percent_are_near_and_more_is_apart() {
        let first = run(&[("whole", Some(1.0)), ("compact", Some(1.0)), ("saved", Some(1.16))]);
        let second = run(&[("whole", Some(1.149)), ("compact", Some(1.16)), ("saved", Some(1.0))]);
        assert_eq!(near(&[first.clone(), second]), [true, false, false]);
        assert_eq!(near(&[first.clone(), first]), [true; 3]);
    }

    #[test]
    fn what_is_little_beside_the_limit_is_within_it() {
        let distance = |one, other| {
            let runs = [one, other].map(|reached| run(&[("whole", Some(reached))]));
            compare(&runs).unwrap().0[0].distance()
        };
        assert_eq!(distance(0.01, 0.08), Distance::Within);
        assert_eq!(distance(0.01, 0.09), Distance::Apart);
        assert_eq!(distance(0.6, 0.68), Distance::Near);
    }

    #[test]
    fn of_several_runs_the_two_furthest_from_each_other_count() {
        let runs = [0.9, 1.0, 1.1].map(|reached| run(&[("whole", Some(reached))]));
        assert_eq!(near(&runs[..2]), [true]);
        assert_eq!(near(&runs), [false]);
    }

    #[test]
    fn to_fall_behind_twice_is_the_same_and_once_is_not() {
        let (behind, fit) = (run(&[("whole", None)]), run(&[("whole", Some(1.0))]));
        assert_eq!(near(&[behind.clone(), behind.clone()]), [true]);
        assert_eq!(near(&[behind.clone(), fit]), [false]);
        let text = table(&compare(&[behind.clone(), behind]).unwrap().0, Paint::Plain);
        assert!(text.contains("falls behind") && text.contains("near"), "{text}");
    }

    #[test]
    fn what_is_not_in_all_runs_is_counted_and_not_compared() {
        let (one, two) = (run(&[("whole", Some(1.0))]), run(&[("whole", Some(1.0)), ("compact", Some(2.0))]));
        let (compared, alone) = compare(&[one.clone(), two]).unwrap();
        assert_eq!((compared.len(), alone), (1, 1));
        assert!(compare(&[one, json!([])]).is_err());
    }

    #[test]
    fn a_peer_that_was_left_out_once_leaves_the_target_what_it_is() {
        let (one, mut other) = (run(&[("whole", Some(1.0))]), run(&[("whole", Some(2.0))]));
        other[0]["figures"][0]["targets"][0]["target"] = "<= 0.5x kube-rs list and client-go".into();
        assert_eq!(near(&[one.clone(), other.clone()]), [false]);
        other[0]["figures"][0]["targets"][0]["target"] = "<= 0.6x client-go".into();
        assert!(compare(&[one, other]).is_err());
    }

    #[test]
    fn times_without_a_peer_are_known_by_unit_and_target() {
        let figure = |unit: &str, target: &str| {
            let targets = json!([{ "target": target, "reached": 1.0, "met": true }]);
            let figure =
                json!({ "row": "W9", "figure": "f", "contender": "ours", "unit": unit, "targets": targets });
            let run = json!([{ "objects": 7, "complete": true, "figures": [figure] }]);
            compare(&[run.clone(), run]).unwrap().0[0].target.is_absolute
        };
        assert!(figure("PerSecond", ">= 1.00M/s"));
        assert!(figure("Nanoseconds", "<= 200 ns"));
        assert!(!figure("Seconds", "<= 0.8x client-go"));
        assert!(!figure("Bytes", "<= 800 B"));
        assert!(!figure("Times", "<= 1.15x"));
    }

    #[test]
    fn a_run_that_was_cut_off_is_not_compared() {
        let mut cut = run(&[("whole", Some(1.0))]);
        cut[0]["complete"] = false.into();
        let error = compare(&[cut.clone(), cut]).unwrap_err();
        assert_eq!(error.to_string(), "a run of 7 objects is not complete");
    }
}
