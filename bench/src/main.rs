//! The benchmarks' own programs: `replay`, the server, and `ours`, our client. `cargo xtask bench` runs them.

mod replay;
mod ours;

use std::process::ExitCode;

const USAGE: &str = "usage: kube-informer-bench replay --n N [--seed S] [--only json|protobuf]
       kube-informer-bench ours --kubeconfig FILE --n N [--encoding json|protobuf] [--keep whole|compact]
                           [--managed-fields keep|drop] [--strategy stream|list] [--settle SECONDS]";

fn main() -> ExitCode {
    let began = ours::Began::now();
    let mut arguments = std::env::args().skip(1);
    let outcome = match arguments.next().as_deref() {
        Some("replay") => replay::run(arguments),
        Some("ours") => ours::run(began, arguments),
        _ => Err(USAGE.to_owned()),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(wrong) => {
            eprintln!("kube-informer-bench: {wrong}");
            ExitCode::FAILURE
        }
    }
}
