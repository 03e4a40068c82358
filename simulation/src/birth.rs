//! How an informer begins: from nothing, or from what another has saved.

use crate::{
    act::{Damage, NAMESPACES},
    ear::Seen,
    folder::Folder,
    history::{History, Rule},
    scenario::Setup,
    tap::Tap,
    truth::{Scope, Truth, Versions, namespace},
};
use k8s_openapi::api::core::v1::ConfigMap;
use kube::Client;
use kube_informer::{
    Informer,
    informer::{InformerBuilder, Save, StartError},
    reflector::{Cause, Config, Consistency},
    wire::ManagedFields,
};
use std::{sync::Arc, time::Duration};

/// The index that every informer has.
pub(crate) const TIER: &str = "tier";

/// What is needed to begin.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Birth<'b> {
    pub(crate) setup: &'b Setup,
    pub(crate) truth: &'b Truth,
    pub(crate) history: &'b History,
}

/// What was there before the server was asked.
#[derive(Clone, Debug)]
pub(crate) struct Warm {
    pub(crate) version: Option<u64>,
    pub(crate) seen: Arc<[Seen]>,
}

impl Birth<'_> {
    /// An informer that has not been started, and what was restored.
    pub(crate) fn informer(
        self,
        (tap, client): (&Tap, &Client),
        folder: Option<&mut Folder>,
    ) -> (Informer<ConfigMap>, Option<Warm>) {
        let build = |save: Option<Save>| {
            let builder = self.builder(tap.client(client.clone()));
            match save {
                Some(save) => builder.save_to(save).build(),
                None => builder.build(),
            }
        };
        let Some(folder) = folder else { return (build(None).expect("the setup is sound"), None) };
        let informer = match build(Some(folder.save())) {
            Ok(informer) => informer,
            Err(StartError::Saved(_)) => build(Some(self.refused(folder))).expect("nothing is there"),
            Err(error) => panic!("{error}"),
        };
        let warm = self.check(&informer, folder);
        folder.damage = Damage::None;
        (informer, warm)
    }

    fn builder(self, client: Client) -> InformerBuilder<ConfigMap> {
        let Self { setup, history, .. } = self;
        let mut builder = Informer::<ConfigMap>::builder(client).config(setup.config());
        let scope = setup.scope();
        if let Some(namespaces) = &scope.namespaces {
            builder = builder.namespaces(namespaces.iter().copied());
        }
        if scope.only_front {
            builder = builder.labels("tier=front");
        }
        let hears = history.clone();
        builder
            .storage(setup.keep)
            .encoding(setup.encoding)
            .managed_fields(ManagedFields::Keep)
            .resync(Duration::from_secs(setup.resync))
            .index(TIER, |map: &ConfigMap| {
                map.metadata.labels.as_ref().and_then(|labels| labels.get(TIER).cloned())
            })
            .on_error(move |report| {
                hears.note(format_args!(
                    "  fails {:?}: {}; {:?}",
                    report.activity, report.cause, report.retry
                ));
                hears.count(&format!("failed: {}", report.cause.kind()));
                if let Cause::Inconsistent(differences) = &report.cause {
                    hears.breach(Rule::CacheIsServer, differences.to_string());
                }
            })
    }

    /// The folder was refused, and is given up.
    fn refused(self, folder: &Folder) -> Save {
        self.history.note(format_args!("  what is saved is refused"));
        self.history.count("restarts: refused");
        match folder.damage {
            Damage::OfAnother => return folder.save().start_over(),
            Damage::Flipped(_) => folder.clear(),
            Damage::None | Damage::Torn(_) | Damage::Unfinished(_) => {
                let detail = format!("refused after {:?}", folder.damage);
                self.history.breach(Rule::Restored, detail);
                folder.clear();
            }
        }
        folder.save()
    }

    /// What was restored is a state that the server had, and not older than what was saved.
    fn check(self, informer: &Informer<ConfigMap>, folder: &mut Folder) -> Option<Warm> {
        let seen: Vec<Seen> = informer.list().iter().map(|map| Seen::of(map)).collect();
        let version = informer.version().and_then(|version| version.to_string().parse().ok());
        let restored = informer.status().restored;
        let objects = restored.map_or(0, |restored| restored.objects);
        let is_confirmed = restored.is_some_and(|restored| restored.is_confirmed) || informer.has_synced();
        let breach = |detail: String| self.history.breach(Rule::Restored, detail);
        if seen.len() != objects || restored.is_none() && version.is_some() || is_confirmed {
            breach(format!("{restored:?}, and there are {} objects of version {version:?}", seen.len()));
        }
        if restored.is_some() && folder.damage == Damage::OfAnother {
            breach("what is of another was restored".to_owned());
        }
        let kept = matches!(folder.damage, Damage::None | Damage::Unfinished(_));
        if kept && version.unwrap_or_default() < folder.version {
            breach(format!("version {} was restored before, and now it is {version:?}", folder.version));
        }
        folder.version = version.unwrap_or_default();
        self.check_parts(&seen, version);
        restored?;
        self.history.note(format_args!("  {objects} objects of version {version:?} are restored"));
        self.history.count("restarts: warm");
        Some(Warm { version, seen: seen.into() })
    }

    /// Each source by itself was restored whole.
    fn check_parts(self, seen: &[Seen], version: Option<u64>) {
        let scope = self.setup.scope();
        let sources = scope.sources();
        for source in &sources {
            let is_of = |key: &str| source.is_none_or(|source| namespace(key) == source);
            let of_source = seen.iter().filter(|seen| is_of(&seen.key));
            let found: Versions = of_source.map(|seen| (seen.key.clone(), seen.version)).collect();
            let versions = match (version, sources.len()) {
                (Some(version), 1) => version..=version,
                // What is older is not the least of them; of what there is nothing, nothing is known.
                (Some(version), _) => version..=u64::MAX,
                (None, _) => 0..=u64::MAX,
            };
            if !self.truth.held(&found, versions, |key, state| is_of(key) && scope.passes(key, state)) {
                let detail = format!("of {source:?} at {version:?} {found:?} is restored, which never was");
                self.history.breach(Rule::Restored, detail);
            }
        }
    }
}

impl Setup {
    pub(crate) fn scope(&self) -> Scope {
        let namespaces = self.namespaces.map(|count| NAMESPACES[..count].to_vec());
        Scope { namespaces, only_front: self.selects }
    }

    fn config(&self) -> Config {
        let mut config = Config::default();
        config.strategy = self.strategy;
        config.page_size = std::num::NonZeroU64::new(self.page_size);
        config.consistency = if self.is_checked { Consistency::Checked } else { Consistency::Trusted };
        if !self.is_patient {
            config.backoff.initial = Duration::from_millis(50);
            config.backoff.cap = Duration::from_secs(1);
        }
        config
    }
}
