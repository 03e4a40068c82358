//! Components that are measured without a server, in the same way as those of the other projects.

mod source;
mod fanout;
mod slow_handler;
mod store_and_queue;
mod label_selection;
mod controller;

use clap::Subcommand;
use kube_informer_bench_client::session::print_line;

/// The component to measure.
#[derive(Subcommand, Debug)]
pub(crate) enum Component {
    /// Decoded events to several handlers
    Fanout { handlers: u64, events: u64 },
    /// Nine handlers next to one that sleeps at each event
    Slow { milliseconds: u64, sleep: u64 },
    /// Writes to a store while threads list it
    Readers { readers: u64, milliseconds: u64 },
    /// Add, get and done of a work queue
    Queue { items: u64 },
    /// Add to a work queue with many items
    Fill { items: u64 },
    /// A controller: reconciles of all objects, then 1,000 events per second
    Controller { rounds: u64, milliseconds: u64 },
    /// Selection of compressed pods by label; `cached` is `all`, `none` or the name of a label
    Labels { pods: u64, cached: String },
}

/// Measures one component and prints the result.
pub(crate) fn run(component: &Component) -> Result<(), String> {
    let runtime = || tokio::runtime::Runtime::new().map_err(|error| error.to_string());
    let report = match component {
        Component::Fanout { handlers, events } => runtime()?.block_on(fanout::measure(*handlers, *events))?,
        Component::Slow { milliseconds, sleep } => {
            runtime()?.block_on(slow_handler::measure(*milliseconds, *sleep))?
        }
        Component::Readers { readers, milliseconds } => store_and_queue::readers(*readers, *milliseconds),
        Component::Queue { items } => store_and_queue::queue(*items),
        Component::Fill { items } => store_and_queue::fill(*items),
        Component::Controller { rounds, milliseconds } => {
            runtime()?.block_on(controller::measure(*rounds, *milliseconds))?
        }
        Component::Labels { pods, cached } => runtime()?.block_on(label_selection::measure(*pods, cached))?,
    };
    print_line(&report);
    Ok(())
}
