//! The program `informer`.

fn main() -> std::process::ExitCode {
    kube_informer_cli::main()
}
