//! The benchmarks' own programs, which `cargo xtask bench` runs.
//!
//! `replay` is the server, `load` fills a real one, `ours` is our client, `micro` measures parts of it, and
//! `devserver` and `watchers` are the two ends of a server with many watchers.

mod replay;
mod real;
mod ours;
mod micro;
mod watchers;

use std::process::ExitCode;

const USAGE: &str = "usage: kube-informer-bench replay --n N [--seed S] [--kind pods|widgets] [--only json|protobuf]
       kube-informer-bench load --kubeconfig FILE --n N
       kube-informer-bench ours --kubeconfig FILE --n N [--encoding json|protobuf] [--keep whole|compact]
                           [--managed-fields keep|drop] [--strategy stream|list] [--settle SECONDS] [--kind pods|widgets]
       kube-informer-bench devserver
       kube-informer-bench watchers --kubeconfig FILE --n EVENTS --pid PID
       kube-informer-bench micro fanout|slow|readers|queue|fill NUMBER..";

fn main() -> ExitCode {
    let began = ours::Began::now();
    let mut arguments = std::env::args().skip(1);
    let outcome = match arguments.next().as_deref() {
        Some("replay") => replay::run(arguments),
        Some("load") => real::run(arguments),
        Some("ours") => ours::run(began, arguments),
        Some("devserver") => watchers::serve(),
        Some("watchers") => watchers::run(arguments),
        Some("micro") => micro::run(arguments),
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
