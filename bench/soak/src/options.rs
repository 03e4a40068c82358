//! What both programs are started with: `--name value` pairs.

/// How large the load is.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Options {
    /// How to reach the server; the server has no use for it.
    pub(crate) kubeconfig: String,
    pub(crate) informers: u64,
    /// How many objects there are in all.
    pub(crate) objects: u64,
    /// How many writes a second.
    pub(crate) rate: f64,
    /// How informers wait after a failure.
    pub(crate) waits: Waits,
}

/// How informers wait after a failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Waits {
    /// A second at most, twice that with jitter, as one sets it for a server that is known to fail often and briefly.
    Short,
    /// As they do unless told otherwise: half a minute and more, if failures are less than two minutes apart.
    Default,
}

impl Options {
    pub(crate) fn parse(mut arguments: impl Iterator<Item = String>) -> Result<Self, String> {
        let (kubeconfig, waits) = (String::new(), Waits::Short);
        let mut options = Self { kubeconfig, informers: 50, objects: 100_000, rate: 5_000.0, waits };
        while let Some(name) = arguments.next() {
            let value = arguments.next().ok_or_else(|| format!("{name} needs a value"))?;
            let wrong = || format!("`{name} {value}` is not understood");
            match name.as_str() {
                "--kubeconfig" => options.kubeconfig = value,
                "--informers" => options.informers = value.parse().map_err(|_| wrong())?,
                "--objects" => options.objects = value.parse().map_err(|_| wrong())?,
                "--waits" if value == "short" => options.waits = Waits::Short,
                "--waits" if value == "default" => options.waits = Waits::Default,
                "--rate" => options.rate = value.parse().map_err(|_| wrong())?,
                _ => return Err(wrong()),
            }
        }
        if options.informers == 0 || options.objects < options.informers {
            return Err("each informer needs an object".to_owned());
        }
        Ok(options)
    }

    /// The namespace of one informer.
    pub(crate) fn namespace(number: u64) -> String {
        format!("soak-{number}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(line: &str) -> Result<Options, String> {
        Options::parse(line.split_whitespace().map(str::to_owned))
    }

    #[test]
    fn options_are_pairs() {
        let options = parsed("--informers 5 --objects 50 --rate 12.5 --waits default").unwrap();
        assert_eq!(options.waits, Waits::Default);
        assert_eq!((options.informers, options.objects, options.rate), (5, 50, 12.5));
    }

    #[test]
    fn mistakes_are_named() {
        assert_eq!(parsed("--rate").unwrap_err(), "--rate needs a value");
        assert_eq!(parsed("--rate many").unwrap_err(), "`--rate many` is not understood");
        assert_eq!(parsed("--waits long").unwrap_err(), "`--waits long` is not understood");
        assert_eq!(parsed("--objects 3 --informers 4").unwrap_err(), "each informer needs an object");
    }
}
