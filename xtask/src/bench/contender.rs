//! Who is measured: one client in one way of using it.

/// A client, in one way of using it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Contender {
    OursJson,
    OursJsonCompact,
    Ours,
    OursLazy,
    OursCompact,
    OursLazyCompact,
    OursStripped,
    OursStrippedLazy,
    OursStrippedCompact,
    KubeList,
    KubeStream,
    KubeListStripped,
    KubeStreamStripped,
    GoJson,
    Go,
    GoStripped,
    /// With a cache that outlives the process.
    OursSaved,
    OursSavedCompact,
    /// Of custom resources.
    OursWidgets,
    OursWidgetsCompact,
    KubeWidgets,
    GoWidgets,
    /// Parts of ours, without a server.
    OursParts,
    KubeParts,
    GoParts,
    /// The server itself, beside our devserver.
    ApiServer,
}

/// The program that a contender is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Program {
    Ours,
    KubeRs,
    ClientGo,
    /// Both ends of a soak, which are no contender.
    Soak,
}

/// The objects that a contender follows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Corpus {
    Pods,
    /// Custom resources, which have no protobuf.
    Widgets,
}

impl Corpus {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Pods => "pods",
            Self::Widgets => "widgets",
        }
    }
}

impl Contender {
    pub(crate) const ALL: [Self; 26] = [
        // Who is held against whom is side by side, because the processors are not as fast at every time.
        Self::KubeStream,
        Self::OursJson,
        Self::OursJsonCompact,
        Self::KubeList,
        Self::GoJson,
        Self::Ours,
        Self::Go,
        Self::OursLazy,
        Self::OursCompact,
        Self::OursLazyCompact,
        Self::OursStripped,
        Self::OursStrippedLazy,
        Self::OursStrippedCompact,
        Self::KubeListStripped,
        Self::KubeStreamStripped,
        Self::GoStripped,
        Self::OursSaved,
        Self::OursSavedCompact,
        Self::OursWidgets,
        Self::OursWidgetsCompact,
        Self::KubeWidgets,
        Self::GoWidgets,
        Self::KubeParts,
        Self::GoParts,
        Self::OursParts,
        Self::ApiServer,
    ];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::OursJson => "whole, json",
            Self::OursJsonCompact => "compact, json",
            Self::Ours => "whole",
            Self::OursLazy => "lazy",
            Self::OursCompact => "compact",
            Self::OursLazyCompact => "compact, lazy",
            Self::OursStripped => "whole, stripped",
            Self::OursStrippedLazy => "lazy, stripped",
            Self::OursStrippedCompact => "compact, stripped",
            Self::KubeList => "kube-rs list",
            Self::KubeStream => "kube-rs stream",
            Self::KubeListStripped => "kube-rs list, stripped",
            Self::KubeStreamStripped => "kube-rs stream, stripped",
            Self::GoJson => "client-go json",
            Self::Go => "client-go",
            Self::GoStripped => "client-go stripped",
            Self::OursSaved => "whole, saved",
            Self::OursSavedCompact => "compact, saved",
            Self::OursWidgets => "whole, untyped",
            Self::OursWidgetsCompact => "compact, untyped",
            Self::KubeWidgets => "kube-rs list, untyped",
            Self::GoWidgets => "client-go untyped",
            Self::OursParts => "ours",
            Self::KubeParts => "kube-rs",
            Self::GoParts => "client-go",
            Self::ApiServer => "kube-apiserver",
        }
    }

    /// Whether it is a client of a server, and not a part on its own.
    pub(crate) fn is_client(self) -> bool {
        !matches!(self, Self::OursParts | Self::KubeParts | Self::GoParts | Self::ApiServer)
    }

    /// Whether it asks for JSON, of which a server holds more than of all else.
    pub(crate) fn wants_json(self) -> bool {
        self.arguments().windows(2).any(|pair| pair == ["--encoding", "json"])
    }

    /// Whether it keeps objects in the small.
    pub(crate) fn is_compact(self) -> bool {
        self.arguments().windows(2).any(|pair| pair == ["--keep", "compact"])
    }

    /// Whether it takes little memory, and little of the server's.
    pub(crate) fn is_small(self) -> bool {
        matches!(self, Self::OursCompact | Self::OursStrippedCompact)
    }

    /// Whether its cache outlives the process.
    pub(crate) fn is_saved(self) -> bool {
        matches!(self, Self::OursSaved | Self::OursSavedCompact)
    }

    /// The objects that it follows.
    pub(crate) fn corpus(self) -> Corpus {
        match self {
            Self::OursWidgets | Self::OursWidgetsCompact | Self::KubeWidgets | Self::GoWidgets => {
                Corpus::Widgets
            }
            _ => Corpus::Pods,
        }
    }

    pub(crate) fn program(self) -> Program {
        match self {
            Self::OursJson | Self::OursJsonCompact | Self::Ours | Self::OursCompact => Program::Ours,
            Self::OursStripped | Self::OursStrippedCompact | Self::OursParts => Program::Ours,
            Self::OursWidgets | Self::OursWidgetsCompact => Program::Ours,
            Self::OursSaved | Self::OursSavedCompact => Program::Ours,
            Self::OursLazy | Self::OursLazyCompact | Self::OursStrippedLazy => Program::Ours,
            Self::KubeList | Self::KubeStream => Program::KubeRs,
            Self::KubeListStripped | Self::KubeStreamStripped | Self::KubeParts => Program::KubeRs,
            Self::KubeWidgets => Program::KubeRs,
            Self::GoJson | Self::Go | Self::GoStripped | Self::GoParts | Self::GoWidgets => Program::ClientGo,
            // It is there where Go is.
            Self::ApiServer => Program::ClientGo,
        }
    }

    /// The options that make a program this contender.
    pub(crate) fn arguments(self) -> Vec<&'static str> {
        let encoding = match self {
            Self::OursJson | Self::OursJsonCompact | Self::GoJson => "json",
            _ if self.program() == Program::KubeRs || self.corpus() == Corpus::Widgets => "json",
            _ => "protobuf",
        };
        let strategy = match self {
            Self::KubeList | Self::KubeListStripped | Self::KubeWidgets => "list",
            _ => "stream",
        };
        let managed_fields = match self {
            Self::OursStripped | Self::OursStrippedLazy | Self::OursStrippedCompact => "drop",
            Self::GoStripped => "drop",
            Self::KubeListStripped | Self::KubeStreamStripped => "drop",
            _ => "keep",
        };
        let mut arguments =
            vec!["--encoding", encoding, "--strategy", strategy, "--managed-fields", managed_fields];
        match self {
            Self::OursJsonCompact
            | Self::OursCompact
            | Self::OursStrippedCompact
            | Self::OursWidgetsCompact
            | Self::OursSavedCompact => {
                arguments.extend(["--keep", "compact"]);
            }
            Self::OursLazy | Self::OursStrippedLazy => arguments.extend(["--form", "lazy"]),
            Self::OursLazyCompact => arguments.extend(["--keep", "compact", "--form", "lazy"]),
            _ => {}
        }
        arguments.extend(["--kind", self.corpus().name()]);
        arguments
    }
}
