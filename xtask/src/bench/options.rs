//! What `cargo xtask bench` is asked for.

use std::path::PathBuf;
use std::time::Duration;

use crate::bench::figure::has_target;
use crate::bench::row::Row;

/// How the benchmarks are run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Options {
    pub(crate) view: View,
    pub(crate) rows: Vec<Row>,
    /// How many objects there are; each number is a run of its own.
    pub(crate) counts: Vec<u64>,
    pub(crate) rounds: usize,
    pub(crate) effort: Effort,
    /// How long after the sync the memory is looked at.
    pub(crate) settle: Duration,
    /// How long a rate is held, and a part is measured.
    pub(crate) hold: Duration,
    pub(crate) profile: Profile,
    pub(crate) server: Server,
    pub(crate) json: Option<PathBuf>,
    pub(crate) svg: Option<PathBuf>,
}

/// What is looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum View {
    /// The rows of the table, client beside client.
    Rows,
    /// How time and memory grow with the number of objects.
    Scale,
}

/// What is repeated.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Effort {
    /// Everything, in every round.
    Even,
    /// What a target rests on, and what is cheap; the rest once.
    ByTarget,
}

/// How the programs are built.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Profile {
    Release,
    /// For those who look at results and not at figures.
    Debug,
}

/// Who is asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Server {
    Replay,
    Real,
}

pub(crate) const HELP: &str = "\
Measures this project beside kube-rs and client-go, and prints ratios from one run.

Usage: cargo xtask bench [ROW..] [options]
       cargo xtask bench scale [options]
       cargo xtask bench compare FILE FILE..

  ROW..          W1 W2 ..; without any, all of them, or with --quick all that have a target
  scale          cold sync, memory and a relist at several numbers of objects, by default once at 10k, 30k, 100k, 300k and 1M;
                 who does not fit into the memory of the machine is left out with a word
  compare A B..  how far the figures of two or more files of `--json`, by which targets are judged, are apart: more
                 than 15 % is marked, and fails
  --quick        10,000 objects, short waits, 3 to 7 rounds of what a target rests on, the rest once: under five minutes
                 after the builds, on an idle machine
  --n N[,N..]    how many objects: 20000, 30k, 1M; several make a run each (default 100k)
  --rounds R     every client runs once a round, in turning order (default 5)
  --settle S     seconds after the sync until the memory is looked at (default 10)
  --real         a kube-apiserver in the place of the replay server, for W1 W2 W3 W5 W8
  --debug        programs without optimisation, to try the rig and not to measure
  --json FILE    write every figure of every round
  --svg FILE     draw the ratios, or the growth

Files are written anew after each client: a run that fails, or is ended with Ctrl-C, leaves what it had,
and says in it that it is not complete.

Clients run one at a time, and are held against what the server says they should have: the run fails where the number
of objects, the hash of (key, uid, version) or the hash of status.podIP differ. A missed target is marked and is no
failure. Peers that cannot be built, because there is no Go, are left out with a word.

Rows:
";

/// Reads the arguments after `bench`.
///
/// # Errors
/// What is wrong with them, in words.
pub(crate) fn parse(arguments: &[String]) -> Result<Options, String> {
    let mut options = full();
    if arguments.iter().any(|argument| argument == "scale") {
        let counts = vec![10_000, 30_000, 100_000, 300_000, 1_000_000];
        options = Options { view: View::Scale, counts, rounds: 1, ..options };
    }
    if arguments.iter().any(|argument| argument == "--quick") {
        options = Options {
            counts: vec![10_000],
            rounds: 3,
            effort: Effort::ByTarget,
            settle: Duration::from_millis(250),
            hold: Duration::from_secs(1),
            ..options
        };
    }
    let mut rest = arguments.iter();
    while let Some(argument) = rest.next() {
        let mut value = || rest.next().ok_or_else(|| format!("{argument} needs a value"));
        match argument.as_str() {
            "--quick" | "scale" => {}
            "--n" => options.counts = counts(value()?)?,
            "--rounds" => options.rounds = number(argument, value()?)? as usize,
            "--settle" => options.settle = Duration::from_secs_f64(number(argument, value()?)?),
            "--json" => options.json = Some(value()?.into()),
            "--svg" => options.svg = Some(value()?.into()),
            "--debug" => options.profile = Profile::Debug,
            "--real" => options.server = Server::Real,
            row => options.rows.push(Row::named(row).ok_or_else(|| unknown(row))?),
        }
    }
    if options.view == View::Scale && (!options.rows.is_empty() || options.server == Server::Real) {
        return Err("`scale` has no rows, and needs the replay server".to_owned());
    }
    if options.rows.is_empty() {
        options.rows = Row::ALL.to_vec();
        if options.effort == Effort::ByTarget {
            options.rows.retain(|row| has_target(*row));
        }
    }
    if options.server == Server::Real {
        options.rows.retain(|row| row.has_real());
    }
    if options.rounds == 0 || options.rows.is_empty() {
        return Err("there is nothing to measure".to_owned());
    }
    Ok(options)
}

fn full() -> Options {
    Options {
        view: View::Rows,
        rows: Vec::new(),
        counts: vec![100_000],
        rounds: 5,
        effort: Effort::Even,
        settle: Duration::from_secs(10),
        hold: Duration::from_secs(10),
        profile: Profile::Release,
        server: Server::Replay,
        json: None,
        svg: None,
    }
}

/// What CI runs: everything works, and all clients hold the same.
pub(crate) fn smoke() -> Options {
    Options {
        rows: vec![Row::W1, Row::W2, Row::W6, Row::W7, Row::W15],
        counts: vec![200],
        rounds: 1,
        settle: Duration::ZERO,
        hold: Duration::from_millis(200),
        profile: Profile::Debug,
        ..full()
    }
}

fn counts(text: &str) -> Result<Vec<u64>, String> {
    let one = |text: &str| {
        let (digits, factor) = match text.strip_suffix(['k', 'K']) {
            Some(digits) => (digits, 1_000),
            None => text.strip_suffix('M').map_or((text, 1), |digits| (digits, 1_000_000)),
        };
        let number = digits.parse::<u64>().ok().filter(|number| *number > 0);
        number.map(|number| number * factor).ok_or_else(|| format!("`{text}` is no number of objects"))
    };
    text.split(',').map(one).collect()
}

fn number(name: &str, text: &str) -> Result<f64, String> {
    let number = text.parse::<f64>().ok().filter(|number| (0.0..1e9).contains(number));
    number.ok_or_else(|| format!("{name} needs a number, not `{text}`"))
}

fn unknown(argument: &str) -> String {
    let rows = Row::ALL.map(Row::name).join(", ");
    format!("`{argument}` is neither an option nor a row; the rows are {rows}, or `scale`")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(line: &str) -> Result<Options, String> {
        parse(&line.split_whitespace().map(str::to_owned).collect::<Vec<_>>())
    }

    #[test]
    fn all_rows_run_unless_some_are_named() {
        assert_eq!(parsed("").unwrap().rows, Row::ALL);
        assert_eq!(parsed("w3 W1 --quick").unwrap().rows, [Row::W3, Row::W1]);
        assert_eq!(parsed("--quick").unwrap().rows, Row::ALL[..14]);
        assert_eq!(parsed("--quick W15").unwrap().rows, [Row::W15]);
    }

    #[test]
    fn what_is_said_goes_before_what_quick_means() {
        let options = parsed("--n 30k,1M,7 --quick --rounds 1").unwrap();
        assert_eq!((options.counts, options.rounds), (vec![30_000, 1_000_000, 7], 1));
    }

    #[test]
    fn scale_has_numbers_of_its_own_and_no_rows() {
        let options = parsed("scale --rounds 3").unwrap();
        assert_eq!((options.view, options.counts.len(), options.rounds), (View::Scale, 5, 3));
        assert_eq!(parsed("scale --n 7").unwrap().counts, [7]);
        assert!(parsed("scale W1").unwrap_err().starts_with("`scale` has no rows"));
        assert!(parsed("scale --real").unwrap_err().starts_with("`scale` has no rows"));
    }

    #[test]
    fn a_real_server_has_not_all_rows() {
        assert_eq!(parsed("--real W1 W6").unwrap().rows, [Row::W1]);
        assert_eq!(parsed("--real W6").unwrap_err(), "there is nothing to measure");
    }

    #[test]
    fn mistakes_are_named() {
        for (line, wanted) in [
            ("W99", "`W99` is neither an option nor a row; the rows are W1, W2"),
            ("--n", "--n needs a value"),
            ("--n 0", "`0` is no number of objects"),
            ("--rounds many", "--rounds needs a number, not `many`"),
        ] {
            let said = parsed(line).unwrap_err();
            assert!(said.starts_with(wanted), "{said}");
        }
    }
}
