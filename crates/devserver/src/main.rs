//! The server as a program, for people and for programs in other languages.

use kube_devserver::{Churn, Controllers, DevServer, Kubelet};
use std::{error::Error, path::PathBuf, process::ExitCode};

const USAGE: &str = "\
A Kubernetes API without a cluster.

Usage: kube-devserver [options]

  --listen ADDRESS     where to listen; 127.0.0.1:6443 unless given
  --tls NAME           speak TLS, with a new certificate for NAME, localhost and the address; may be repeated
  --token-file PATH    demand the bearer token in this file
  --allow-host NAME    without a token: also answer requests for this host name; may be repeated
  --kubeconfig PATH    write a kubeconfig there, unless the file has other contents
  --pods N             begin with N realistic pods
  --rate R             change R of them a second
  --seed S             which pods; 1 unless given
  --kubelet N          begin with N nodes, and report the pods on all nodes as running
  --controllers WHICH  built-in (the default), or none beside a kube-controller-manager
  --control            let faults be injected over HTTP, below /devserver
  --help               print this

An address that is not loopback needs --tls and --token-file.";

/// What the command line asks for.
#[derive(Debug, PartialEq)]
struct Options {
    listen: String,
    names: Vec<String>,
    token_file: Option<PathBuf>,
    hosts: Vec<String>,
    kubeconfig: Option<PathBuf>,
    pods: u64,
    rate: f64,
    seed: u64,
    kubelet: Option<usize>,
    controllers: Controllers,
    control: bool,
}

fn main() -> ExitCode {
    let arguments: Vec<_> = std::env::args().skip(1).collect();
    if arguments.iter().any(|argument| argument == "--help" || argument == "-h") {
        println!("{USAGE}");
        return ExitCode::SUCCESS;
    }
    let ran = parse(&arguments).map_err(Into::into).and_then(|options| run(&options));
    match ran {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprint!("kube-devserver: {error}");
            let mut cause = error.source();
            while let Some(error) = cause {
                eprint!(": {error}");
                cause = error.source();
            }
            eprintln!();
            ExitCode::FAILURE
        }
    }
}

#[tokio::main]
async fn run(options: &Options) -> Result<(), Box<dyn Error>> {
    let mut builder = DevServer::builder().listen(&options.listen);
    if !options.names.is_empty() {
        builder = builder.tls(&options.names);
    }
    if let Some(path) = &options.token_file {
        builder = builder.token(std::fs::read_to_string(path)?.trim());
    }
    if options.control {
        builder = builder.control();
    }
    for host in &options.hosts {
        builder = builder.allow_host(host);
    }
    if let Some(nodes) = options.kubelet {
        builder = builder.kubelet(Kubelet::nodes(nodes));
    }
    let server = builder.controllers(options.controllers).start().await?;
    if let Some(path) = &options.kubeconfig {
        server.write_kubeconfig(path).map_err(|error| format!("cannot write {}: {error}", path.display()))?;
        println!("kubeconfig {}", path.display());
    }
    let churn = Churn::pods(options.pods).seed(options.seed).rate(options.rate);
    let churning = (options.pods > 0).then(|| server.churn(churn));
    if let Some(churning) = &churning {
        println!("{} pods, checksum {}", options.pods, churning.checksum());
    }
    println!("listening on {}", server.url().unwrap_or_default());
    tokio::signal::ctrl_c().await?;
    if let Some(churning) = churning {
        churning.stop().await;
    }
    server.stop().await;
    Ok(())
}

fn parse(arguments: &[String]) -> Result<Options, String> {
    let mut options = Options {
        listen: "127.0.0.1:6443".to_owned(),
        names: Vec::new(),
        token_file: None,
        hosts: Vec::new(),
        kubeconfig: None,
        pods: 0,
        rate: 0.0,
        seed: 1,
        kubelet: None,
        controllers: Controllers::BuiltIn,
        control: false,
    };
    let mut rest = arguments.iter();
    while let Some(option) = rest.next() {
        if option == "--control" {
            options.control = true;
            continue;
        }
        let mut value = || rest.next().ok_or_else(|| format!("{option} needs a value"));
        match option.as_str() {
            "--listen" => value()?.clone_into(&mut options.listen),
            "--tls" => options.names.push(value()?.to_owned()),
            "--token-file" => options.token_file = Some(value()?.into()),
            "--allow-host" => options.hosts.push(value()?.to_owned()),
            "--kubeconfig" => options.kubeconfig = Some(value()?.into()),
            "--pods" => options.pods = number(option, value()?)?,
            "--rate" => options.rate = number(option, value()?)?,
            "--kubelet" => options.kubelet = Some(number(option, value()?)?),
            "--controllers" => {
                options.controllers = match value()?.as_str() {
                    "built-in" => Controllers::BuiltIn,
                    "none" => Controllers::None,
                    other => return Err(format!("--controllers is built-in or none, not {other:?}")),
                }
            }
            "--seed" => options.seed = number(option, value()?)?,
            _ => return Err(format!("unknown option {option}; --help tells what there is")),
        }
    }
    Ok(options)
}

fn number<N: std::str::FromStr>(option: &str, text: &str) -> Result<N, String> {
    text.parse().map_err(|_| format!("{option} needs a number, not {text:?}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(line: &str) -> Result<Options, String> {
        parse(&line.split_whitespace().map(str::to_owned).collect::<Vec<_>>())
    }

    #[test]
    fn options_are_read() {
        let options = parsed("--listen [::1]:0 --tls a --tls b --pods 5 --rate 1.5 --control").unwrap();
        assert_eq!((options.listen.as_str(), options.names.len()), ("[::1]:0", 2));
        assert_eq!((options.pods, options.rate, options.seed, options.control), (5, 1.5, 1, true));
    }

    #[test]
    fn wrong_options_are_told() {
        let table = [
            ("--port 1", "unknown option --port; --help tells what there is"),
            ("--listen", "--listen needs a value"),
            ("--pods many", "--pods needs a number, not \"many\""),
        ];
        for (line, message) in table {
            assert_eq!(parsed(line).unwrap_err(), message);
        }
    }
}
