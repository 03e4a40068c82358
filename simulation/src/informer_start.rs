//! The start of an informer, with or without a saved cache.

use crate::{
    action::{Damage, NAMESPACES},
    folder::Folder,
    history::{History, Rule},
    planted_bug::PlantedBug,
    scenario::Setup,
    subscriber_check::ObservedObject,
    transport::Transport,
    write_log::{Scope, Versions, WriteLog, namespace},
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

/// The name of the index.
pub(crate) const TIER: &str = "tier";

/// The configuration and the write log.
#[derive(Clone, Copy, Debug)]
pub(crate) struct InformerStart<'b> {
    pub(crate) setup: &'b Setup,
    pub(crate) write_log: &'b WriteLog,
    pub(crate) history: &'b History,
}

/// The restored state.
#[derive(Clone, Debug)]
pub(crate) struct RestoredState {
    pub(crate) version: Option<u64>,
    pub(crate) observed: Arc<[ObservedObject]>,
}

impl InformerStart<'_> {
    /// Creates an informer, and returns it with the restored state.
    pub(crate) fn informer(
        self,
        transport: &Transport,
        client: &Client,
        folder: Option<&mut Folder>,
    ) -> (Informer<ConfigMap>, Option<RestoredState>) {
        let build = |save: Option<Save>| {
            let builder = self.builder(transport.client(client.clone()));
            match save {
                Some(save) => builder.save_to(save).build(),
                None => builder.build(),
            }
        };
        let Some(folder) = folder else { return (build(None).expect("the configuration is valid"), None) };
        let informer = match build(Some(folder.save())) {
            Ok(informer) => informer,
            Err(StartError::Saved(_)) => build(Some(self.refused(folder))).expect("the folder is empty"),
            Err(error) => panic!("{error}"),
        };
        let restored_state = self.check(&informer, folder);
        folder.damage = Damage::None;
        (informer, restored_state)
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
        let receiver = history.clone();
        builder
            .storage(setup.storage)
            .encoding(setup.encoding)
            .managed_fields(ManagedFields::Keep)
            .resync(Duration::from_secs(setup.resync))
            .index(TIER, |map: &ConfigMap| {
                map.metadata.labels.as_ref().and_then(|labels| labels.get(TIER).cloned())
            })
            .on_error(move |report| {
                receiver.note(format_args!(
                    "  fails {:?}: {}; {:?}",
                    report.activity, report.cause, report.retry
                ));
                receiver.count(&format!("failed: {}", report.cause.kind()));
                if let Cause::Inconsistent(differences) = &report.cause {
                    receiver.violate(Rule::CacheEqualsServer, differences.to_string());
                }
            })
    }

    /// Replaces a folder that was rejected, if it may be.
    fn refused(self, folder: &Folder) -> Save {
        self.history.note(format_args!("  the saved cache is rejected"));
        self.history.count("restarts: rejected");
        match folder.damage {
            Damage::OtherResource => return folder.save().start_over(),
            Damage::Flipped(_) => folder.clear(),
            Damage::None | Damage::Truncated(_) | Damage::Unfinished(_) => {
                let detail = format!("rejected after {:?}", folder.damage);
                self.history.violate(Rule::RestoredExisted, detail);
                folder.clear();
            }
        }
        folder.save()
    }

    /// Checks that the restored state existed on the server, and is not older than before.
    fn check(self, informer: &Informer<ConfigMap>, folder: &mut Folder) -> Option<RestoredState> {
        let observed: Vec<ObservedObject> =
            informer.list().iter().map(|map| ObservedObject::of(map)).collect();
        let version = informer.version().and_then(|version| version.to_string().parse().ok());
        let restored = informer.status().restored;
        let objects = restored.map_or(0, |restored| restored.objects);
        let is_confirmed = restored.is_some_and(|restored| restored.is_confirmed) || informer.has_synced();
        let violate = |detail: String| self.history.violate(Rule::RestoredExisted, detail);
        if observed.len() != objects || restored.is_none() && version.is_some() || is_confirmed {
            violate(format!(
                "{restored:?}, and the cache has {} objects of version {version:?}",
                observed.len()
            ));
        }
        if restored.is_some() && folder.damage == Damage::OtherResource {
            violate("the cache of another resource was restored".to_owned());
        }
        let is_intact = matches!(folder.damage, Damage::None | Damage::Unfinished(_));
        if is_intact && version.unwrap_or_default() < folder.version {
            violate(format!("version {} was restored before, and now {version:?}", folder.version));
        }
        folder.version = version.unwrap_or_default();
        self.check_parts(&observed, version);
        restored?;
        self.history.note(format_args!("  {objects} objects of version {version:?} are restored"));
        self.history.count("restarts: restored");
        Some(RestoredState { version, observed: observed.into() })
    }

    /// Checks that each source was restored completely.
    fn check_parts(self, observed: &[ObservedObject], version: Option<u64>) {
        let scope = self.setup.scope();
        let sources = scope.sources();
        for source in &sources {
            let is_of = |key: &str| source.is_none_or(|source| namespace(key) == source);
            let of_source = observed.iter().filter(|observed| is_of(&observed.key));
            let found: Versions =
                of_source.map(|observed| (observed.key.clone(), observed.version)).collect();
            let versions = match (version, sources.len()) {
                (Some(version), 1) => version..=version,
                // The version of the cache is the smallest version of its sources.
                (Some(version), _) => version..=u64::MAX,
                (None, _) => 0..=u64::MAX,
            };
            if !self
                .write_log
                .was_complete_state(&found, versions, |key, state| is_of(key) && scope.matches(key, state))
            {
                let detail =
                    format!("{source:?} is restored at {version:?} as {found:?}, which never existed");
                self.history.violate(Rule::RestoredExisted, detail);
            }
        }
    }
}

impl Setup {
    pub(crate) fn scope(&self) -> Scope {
        let namespaces = self.namespaces.map(|count| NAMESPACES[..count].to_vec());
        Scope { namespaces, only_front: self.is_selective }
    }

    fn config(&self) -> Config {
        let mut config = Config::default();
        if self.planted == Some(PlantedBug::DeadWatchUnnoticed) {
            config.idle_timeout = Duration::from_secs(24 * 3600);
        }
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
