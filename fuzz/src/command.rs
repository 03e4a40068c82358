//! Arguments of the command, discovery documents, and text and objects that it prints.

use kube_core::DynamicObject;
use kube_history::Redaction;
use kube_informer_cli::untrusted::{
    changes, clean, clean_json, clean_lines, clean_name, clean_yaml, duration, faults, is_unsafe, kinds,
    resolve, seeds, shown, since, size, time,
};
use serde_json::Value;
use std::{sync::Arc, time::Duration};

/// Checks that a text has no effect on a terminal.
fn check_safe(text: &str) {
    assert!(!text.chars().any(is_unsafe), "{text:?}");
}

/// Untrusted text that is printed.
pub(crate) fn text(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    let safe = clean(&text);
    check_safe(&safe);
    assert_eq!(clean(&safe), safe, "what is safe stays as it is");
    assert_eq!(text.chars().any(is_unsafe), safe != text, "what was safe is as it was");
    let name = clean_name(&text);
    check_safe(&name);
    assert!(name.chars().count() <= 512 * "\\u{e0041}".len() + 2, "a name is short");
    check_safe(&clean_yaml(&Value::from(&*text).to_string()));
    let lines = clean_lines(&text);
    lines.split('\n').for_each(check_safe);
    assert_eq!(lines.split('\n').count(), text.split('\n').count(), "lines stay lines");
    let json = Value::from(&*text).to_string();
    let safe = clean_json(&json);
    check_safe(&safe);
    assert_eq!(
        serde_json::from_str::<Value>(&safe).ok(),
        Some(Value::from(&*text)),
        "JSON means what it meant"
    );
    if let Ok(value) = serde_json::from_str::<Value>(&text) {
        let safe = clean_json(&value.to_string());
        check_safe(&safe);
        assert_eq!(serde_json::from_str::<Value>(&safe).ok(), Some(value), "JSON means what it meant");
    }
}

/// Arguments: durations, seeds, and the contents of a file of faults.
pub(crate) fn words(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    if let Ok(time) = duration(&text) {
        let again = |written: String| duration(&written).unwrap_or_else(|error| panic!("{written}: {error}"));
        let (whole, part) = (time.as_secs(), time.subsec_nanos());
        // Seconds are parsed as floating point, so that values near the maximum may exceed it.
        let near = Duration::from_nanos(200 + (whole >> 21));
        if whole > u64::MAX >> 1 {
            return;
        }
        for read in [again(format!("{whole}.{part:09}")), again(format!("{whole}.{part:09}s"))] {
            assert!(read.abs_diff(time) <= near, "{time:?} {read:?}");
        }
    }
    if let Ok(read) = seeds(&text) {
        let written: Vec<_> = read.iter().map(|(kind, count)| format!("{kind}={count}")).collect();
        assert_eq!(seeds(&written.join(",")).as_ref(), Ok(&read));
    }
    // An error has one line.
    for wrong in [duration(&text).err(), seeds(&text).err()].into_iter().flatten() {
        assert!(wrong.len() < 10 * text.len() + 200, "no more is told than was typed");
        clean_lines(&wrong).split('\n').for_each(check_safe);
    }
    match faults(&text) {
        Ok(count) => assert!(count <= text.len()),
        Err(wrong) => clean_lines(&wrong).split('\n').for_each(check_safe),
    }
}

/// Arguments of the commands that read recordings: times, sizes and paths.
pub(crate) fn times(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    for parse in [time, since] {
        match parse(&text) {
            Ok(read) => assert_eq!(parse(&read.to_string()), Ok(read), "{text:?}"),
            Err(wrong) => {
                clean_lines(&wrong).split('\n').for_each(check_safe);
                // Both candidates of an ambiguous time are times.
                if !wrong.starts_with("invalid")
                    && let Some((_, candidates)) = wrong.rsplit_once(", use ")
                {
                    let candidates: Vec<_> = candidates.split(" or ").map(time).collect();
                    assert!(candidates.len() == 2 && candidates[0] != candidates[1], "{wrong}");
                    assert!(candidates.iter().all(Result::is_ok), "{wrong}: {candidates:?}");
                }
            }
        }
    }
    if let Err(wrong) = size(&text) {
        clean_lines(&wrong).split('\n').for_each(check_safe);
    }
    if let Ok(redaction) = text.parse::<Redaction>() {
        assert_eq!(text.parse().ok(), Some(redaction));
    }
}

/// A discovery document, followed by the name of a kind.
pub(crate) fn names(data: &[u8]) {
    let (document, word) = parts(data);
    let Ok(document) = serde_json::from_slice::<Value>(document) else { return };
    let Some(kinds) = kinds(&document) else { return };
    let word = String::from_utf8_lossy(word);
    match resolve(&document, &word) {
        Ok(found) => assert!(!found.is_empty(), "{word:?} means something"),
        Err(wrong) => clean_lines(&wrong).split('\n').for_each(check_safe),
    }
    for (kind, can_be_watched) in kinds {
        kind.iter().for_each(|name| check_safe(name));
        let [plural, version, group] = kind;
        let is_usual =
            |name: &str| name.chars().all(|letter| letter.is_ascii_lowercase() || letter.is_ascii_digit());
        if can_be_watched && [&plural, &version].into_iter().all(|name| !name.is_empty() && is_usual(name)) {
            let word = format!("{plural}.{version}.{group}").to_lowercase();
            // This may also be a short name of another kind.
            let found = resolve(&document, &word);
            let is_found = found
                .as_ref()
                .is_ok_and(|found| found.iter().any(|[_, at, of]| *at == version && *of == group));
            assert!(is_found || group.chars().any(|letter| letter.is_ascii_uppercase()), "{word}: {found:?}");
        }
    }
}

/// Two states of an object as JSON, one after the other.
pub(crate) fn objects(data: &[u8]) {
    let (old, new) = parts(data);
    let object = |data: &[u8]| serde_json::from_slice::<DynamicObject>(data).ok().map(Arc::new);
    let (Some(old), new) = (object(old), object(new)) else { return };
    assert_eq!(changes(&old, &old), [], "an object is what it is");
    let new = new.unwrap_or_else(|| Arc::clone(&old));
    let (forth, back) = (changes(&old, &new), changes(&new, &old));
    let mut forth: Vec<_> = forth.into_iter().map(|(path, was, is)| (path, is, was)).collect();
    for (path, was, is) in &forth {
        check_safe(path);
        assert_ne!(was, is, "{path}");
    }
    let mut back = back;
    let order = |one: &(String, Option<Value>, Option<Value>)| format!("{one:?}");
    forth.sort_by_cached_key(order);
    back.sort_by_cached_key(order);
    assert_eq!(forth, back, "back is forth, turned round");
    shown(&old, &new).iter().for_each(|line| check_safe(line));
}

/// Splits the input at the first zero byte.
fn parts(data: &[u8]) -> (&[u8], &[u8]) {
    let at = data.iter().position(|byte| *byte == 0).unwrap_or(data.len());
    (&data[..at], data.get(at + 1..).unwrap_or_default())
}
