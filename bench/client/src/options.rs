//! What a client is started with: `--name value` pairs.

use std::{path::PathBuf, time::Duration};

/// The options of a client; one that has no use for an option ignores it.
#[derive(Clone, Debug)]
pub struct Options {
    /// How to reach the server.
    pub kubeconfig: PathBuf,
    /// How many objects there are.
    pub count: u64,
    /// How long after the sync the memory is looked at.
    pub settle: Duration,
    /// How objects travel.
    pub encoding: Encoding,
    /// Whether `metadata.managedFields` is kept.
    pub managed_fields: ManagedFields,
    /// How the initial state is asked for.
    pub strategy: Strategy,
    /// How objects are kept.
    pub keep: Keep,
    /// Which objects.
    pub kind: Kind,
    /// As what they are seen.
    pub form: Form,
    /// Where the cache is saved, and taken from at the start.
    pub save_to: Option<PathBuf>,
}

/// Which objects are served and kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Pods of about 11 KB of JSON.
    Pods,
    /// Custom resources of about 4 KB of JSON, which have no protobuf.
    Widgets,
}

/// As what objects are seen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// Decoded, with all of their fields.
    Decoded,
    /// As they were sent; a field is decoded when it is read.
    Lazy,
}

/// How objects travel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Encoding {
    /// As JSON.
    Json,
    /// As protobuf.
    Protobuf,
}

/// What becomes of `metadata.managedFields`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ManagedFields {
    /// They are kept.
    Keep,
    /// They are dropped.
    Drop,
}

/// How the initial state is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Strategy {
    /// By a list, in pages of the client's own choice.
    List,
    /// As the beginning of a watch.
    Stream,
}

/// How objects are kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Keep {
    /// As they were decoded.
    Whole,
    /// Packed, and decoded when they are read.
    Compact,
}

impl Options {
    /// Reads the options of this process.
    ///
    /// # Errors
    /// What is wrong with them, in words.
    pub fn parse(arguments: impl IntoIterator<Item = String>) -> Result<Self, String> {
        let mut options = Self {
            kubeconfig: PathBuf::new(),
            count: 0,
            settle: Duration::ZERO,
            encoding: Encoding::Json,
            managed_fields: ManagedFields::Keep,
            strategy: Strategy::Stream,
            keep: Keep::Whole,
            kind: Kind::Pods,
            form: Form::Decoded,
            save_to: None,
        };
        let mut arguments = arguments.into_iter();
        while let Some(name) = arguments.next() {
            let value = arguments.next().ok_or_else(|| format!("{name} needs a value"))?;
            options.set(&name, &value).ok_or_else(|| format!("`{name} {value}` is not understood"))?;
        }
        Ok(options)
    }

    fn set(&mut self, name: &str, value: &str) -> Option<()> {
        match (name, value) {
            ("--kubeconfig", path) => self.kubeconfig = path.into(),
            ("--n", count) => self.count = count.parse().ok()?,
            ("--settle", seconds) => self.settle = Duration::try_from_secs_f64(seconds.parse().ok()?).ok()?,
            ("--encoding", "json") => self.encoding = Encoding::Json,
            ("--encoding", "protobuf") => self.encoding = Encoding::Protobuf,
            ("--managed-fields", "keep") => self.managed_fields = ManagedFields::Keep,
            ("--managed-fields", "drop") => self.managed_fields = ManagedFields::Drop,
            ("--strategy", "list") => self.strategy = Strategy::List,
            ("--strategy", "stream") => self.strategy = Strategy::Stream,
            ("--keep", "whole") => self.keep = Keep::Whole,
            ("--save-to", folder) => self.save_to = Some(folder.into()),
            ("--kind", "pods") => self.kind = Kind::Pods,
            ("--kind", "widgets") => self.kind = Kind::Widgets,
            ("--form", "decoded") => self.form = Form::Decoded,
            ("--form", "lazy") => self.form = Form::Lazy,
            ("--keep", "compact") => self.keep = Keep::Compact,
            _ => return None,
        }
        Some(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(line: &str) -> Result<Options, String> {
        Options::parse(line.split(' ').map(str::to_owned))
    }

    #[test]
    fn options_are_pairs() {
        let options =
            parsed("--n 7 --settle 0.5 --encoding protobuf --keep compact --kind widgets --form lazy")
                .unwrap();
        assert_eq!((options.kind, options.form), (Kind::Widgets, Form::Lazy));
        assert_eq!((options.count, options.settle), (7, Duration::from_millis(500)));
        assert_eq!((options.encoding, options.keep), (Encoding::Protobuf, Keep::Compact));
    }

    #[test]
    fn mistakes_are_named() {
        assert_eq!(parsed("--n").unwrap_err(), "--n needs a value");
        assert_eq!(parsed("--keep all").unwrap_err(), "`--keep all` is not understood");
    }
}
