//! How time and memory grow with the number of objects: `cargo xtask bench scale`.

mod fit;
mod document;
mod table;
mod chart;

use anyhow::Result;

use crate::bench::document::Setting;
use crate::bench::files::Files;
use crate::bench::measured::Rounds;
use crate::bench::memory;
use crate::bench::round::{self, Rig};

/// Measures each number of objects, of those clients that fit into the memory of this machine.
pub(crate) fn run(rig: Rig<'_>) -> Result<()> {
    let (options, memory) = (rig.options, memory::all());
    let mut files = Files::new(options.json.as_deref(), options.svg.as_deref(), chart::chart);
    let mut documents = Vec::new();
    for &count in &options.counts {
        let plan = fit::plan((count, options.rounds), memory, rig.programs);
        for missing in fit::left_out(&plan, rig.programs) {
            println!("{} of {count} objects would not fit into memory, and is left out", missing.name());
        }
        let mut keep = |setting: &Setting, rounds: &Rounds| {
            files.put(document::document(setting, rounds), setting.is_complete)
        };
        if plan.is_empty() {
            continue;
        }
        let (setting, rounds) = round::all(rig, count, &plan, &mut keep)?;
        documents.push(document::document(&setting, &rounds));
        println!("\n{}", table::table(&documents));
        println!("{}", setting.machine);
    }
    Ok(())
}
