//! Parts of ours on their own, each in the shape in which the peers measure theirs.

mod source;

mod fanout;

mod slow;

mod parts;

mod labels;

use kube_informer_bench_client::session::say;

/// Measures one part: `fanout HANDLERS EVENTS`, `slow MILLISECONDS SLEEP`, `readers READERS MILLISECONDS`, `queue ITEMS`,
/// `fill ITEMS` or `labels PODS all|none|NAME`.
pub(crate) fn run(arguments: impl Iterator<Item = String>) -> Result<(), String> {
    let words: Vec<_> = arguments.collect();
    let words: Vec<_> = words.iter().map(String::as_str).collect();
    let number = |word: &str| word.parse::<u64>().map_err(|_| format!("`{word}` is no number"));
    let runtime = || tokio::runtime::Runtime::new().map_err(|error| error.to_string());
    let report = match words.as_slice() {
        ["fanout", handlers, events] => {
            runtime()?.block_on(fanout::measure(number(handlers)?, number(events)?))
        }
        ["slow", period, sleep] => runtime()?.block_on(slow::measure(number(period)?, number(sleep)?)),
        ["readers", readers, period] => Ok(parts::readers(number(readers)?, number(period)?)),
        ["queue", items] => Ok(parts::queue(number(items)?)),
        ["fill", items] => Ok(parts::fill(number(items)?)),
        ["labels", pods, kept] => runtime()?.block_on(labels::measure(number(pods)?, kept)),
        _ => Err(format!("there is no part `{}`", words.join(" "))),
    }?;
    say(&report);
    Ok(())
}
