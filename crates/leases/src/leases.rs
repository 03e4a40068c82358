//! The entry point: builds, starts and stops the leases of a replica.

use crate::changes::Changes;
use crate::clock::{Clock, SystemClock};
use crate::config::{Config, Mode};
use crate::driver::{Channels, Driver, Snapshot};
use crate::error::{ConfigError, LeaseError};
use crate::lease_api::LeaseApi;
use crate::range::{ShardKey, shard_hash, shard_of};
use crate::status::Status;
use crate::term::Shard;
use crate::timing::Timing;
use k8s_openapi::api::rbac::v1::PolicyRule;
use kube_client::Client;
use std::hash::{BuildHasher, RandomState};
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::watch;

/// The leases of a replica: a leader election, or the shards of a group.
///
/// Clones refer to the same leases. When the last clone is dropped, the leases stop as with [`Leases::stop`].
#[derive(Clone, Debug)]
pub struct Leases {
    config: Arc<Config>,
    snapshots: watch::Receiver<Snapshot>,
    stop: Arc<watch::Sender<bool>>,
}

/// The settings of leases.
#[derive(Clone, Debug)]
#[must_use = "leases do nothing until they are started"]
pub struct LeasesBuilder {
    name: String,
    namespace: Option<String>,
    identity: Option<String>,
    mode: Mode,
    timing: Timing,
    drain_timeout: Duration,
    clock: Arc<dyn Clock>,
}

impl Leases {
    /// Creates a leader election on the Lease `name`.
    ///
    /// The Lease is compatible with client-go's LeaderElector: candidates of both can take turns.
    pub fn leader(name: impl Into<String>) -> LeasesBuilder {
        LeasesBuilder::new(name.into(), Mode::Leader)
    }

    /// Creates a group of `count` shards that its members divide evenly.
    ///
    /// All members must use the same number. The Leases are `name`, `name-shard-0` and so on, and one `name-member-…` for each member.
    pub fn shards(name: impl Into<String>, count: u32) -> LeasesBuilder {
        LeasesBuilder::new(name.into(), Mode::Shards { count, key: ShardKey::default() })
    }

    /// Returns the name of the leader election or of the group.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.config.name
    }

    /// Returns the namespace of the Leases.
    #[must_use]
    pub fn namespace(&self) -> &str {
        &self.config.namespace
    }

    /// Returns the RBAC rules that this replica needs in the namespace of the Leases; see [`LeasesBuilder::role`].
    #[must_use]
    pub fn rules(&self) -> Vec<PolicyRule> {
        self.config.rules()
    }

    /// Returns the identity of this replica.
    #[must_use]
    pub fn identity(&self) -> &str {
        &self.config.identity
    }

    /// Returns true if `other` is a clone of these leases, and not another replica or group.
    #[must_use]
    pub fn is_same(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.config, &other.config)
    }

    /// Returns the number of shards; 1 for a leader.
    #[must_use]
    pub fn shard_count(&self) -> u32 {
        self.config.shard_count()
    }

    /// Returns the field of objects that is hashed; `None` for a leader.
    #[must_use]
    pub fn shard_key(&self) -> Option<ShardKey> {
        match self.config.mode {
            Mode::Leader => None,
            Mode::Shards { key, .. } => Some(key),
        }
    }

    /// Waits until a shard is held, and returns it. For a leader this is the leadership.
    ///
    /// # Errors
    /// [`LeaseError`] if a problem has to be solved first, such as missing permissions, or the leases were stopped. The replica
    /// continues to try; call this again to wait on.
    pub async fn acquired(&self) -> Result<Shard, LeaseError> {
        let mut snapshots = self.snapshots.clone();
        loop {
            {
                let snapshot = snapshots.borrow_and_update();
                if let Some(shard) = snapshot.terms.values().filter_map(Shard::new).find(Shard::is_held) {
                    return Ok(shard);
                }
                if let Some(problem) = &snapshot.problem {
                    return Err(problem.clone());
                }
            }
            snapshots.changed().await.map_err(|_| LeaseError::Stopped)?;
        }
    }

    /// Returns the shards on which work may start.
    #[must_use]
    pub fn held(&self) -> Vec<Shard> {
        let terms = self.snapshots.borrow().terms.clone();
        terms.values().filter_map(Shard::new).filter(Shard::is_held).collect()
    }

    /// Returns the shard with this index if work on it may start.
    #[must_use]
    pub fn held_shard(&self, index: u32) -> Option<Shard> {
        let term = self.snapshots.borrow().terms.get(&index).cloned()?;
        Shard::new(&term).filter(Shard::is_held)
    }

    /// Returns the shard of a namespace or uid, whichever the group is sharded by, if work on it may start.
    #[must_use]
    pub fn held_shard_of(&self, namespace_or_uid: &str) -> Option<Shard> {
        self.held_shard(shard_of(shard_hash(namespace_or_uid), self.shard_count()))
    }

    /// Subscribes to changes of the held shards, starting with those that are held.
    #[must_use]
    pub fn changes(&self) -> Changes {
        Changes::new(self.snapshots.clone())
    }

    /// Returns the state of the replica and of its group.
    #[must_use]
    pub fn status(&self) -> Status {
        self.snapshots.borrow().status.clone()
    }

    /// Waits until a condition on the state of the replica and of its group holds, and returns the state.
    ///
    /// # Errors
    /// [`LeaseError::Stopped`] if the leases were stopped before.
    pub async fn wait_for(&self, condition: impl Fn(&Status) -> bool) -> Result<Status, LeaseError> {
        let mut snapshots = self.snapshots.clone();
        let is_done = |snapshot: &Snapshot| snapshot.is_stopped || condition(&snapshot.status);
        let snapshot = snapshots.wait_for(is_done).await.map_err(|_| LeaseError::Stopped)?;
        if condition(&snapshot.status) { Ok(snapshot.status.clone()) } else { Err(LeaseError::Stopped) }
    }

    /// Returns the problem because of which no leases can be acquired.
    #[must_use]
    pub fn problem(&self) -> Option<LeaseError> {
        self.snapshots.borrow().problem.clone()
    }

    /// Starts to drain and to release everything, so that successors take over at once. Call [`Leases::stopped`] to wait for it.
    pub fn stop(&self) {
        self.stop.send_replace(true);
    }

    /// Waits until everything was released, or could not be released in time after [`Leases::stop`].
    pub async fn stopped(&self) {
        let mut snapshots = self.snapshots.clone();
        // An error means that the task has ended.
        let _ = snapshots.wait_for(|snapshot| snapshot.is_stopped).await;
    }
}

impl LeasesBuilder {
    fn new(name: String, mode: Mode) -> Self {
        Self {
            name,
            namespace: None,
            identity: None,
            mode,
            timing: Timing::default(),
            drain_timeout: Duration::from_secs(20),
            clock: Arc::new(SystemClock),
        }
    }

    /// Sets the namespace of the Leases. The default is that of the client: in a pod, the namespace of the pod.
    pub fn namespace(self, namespace: impl Into<String>) -> Self {
        Self { namespace: Some(namespace.into()), ..self }
    }

    /// Sets the identity, which must differ for each process. The default is the name of the pod and a random suffix.
    ///
    /// A process that was killed and starts again with the same identity waits until its old Lease has expired.
    pub fn identity(self, identity: impl Into<String>) -> Self {
        Self { identity: Some(identity.into()), ..self }
    }

    /// Sets the time after which others consider a Lease that is not renewed expired. The default is 15 s.
    ///
    /// Leases are renewed at a third of it, or at half of the renew deadline if that is shorter.
    pub fn lease_duration(mut self, duration: Duration) -> Self {
        self.timing.lease_duration = duration;
        self
    }

    /// Sets the time after the last successful renewal at which work is cancelled. The default is 10 s.
    ///
    /// The ratio of the lease duration to it is the ratio of clock rates that mutual exclusion tolerates.
    pub fn renew_deadline(mut self, duration: Duration) -> Self {
        self.timing.renew_deadline = duration;
        self
    }

    /// Sets the time between attempts after a failure. The default is 2 s.
    pub fn retry_period(mut self, duration: Duration) -> Self {
        self.timing.retry_period = duration;
        self
    }

    /// Sets the time that work in progress has to end before it is cancelled and its shard released. The default is 20 s.
    pub fn drain_timeout(self, duration: Duration) -> Self {
        Self { drain_timeout: duration, ..self }
    }

    /// Sets the field of objects that is hashed. The default is the namespace. It has no effect on a leader.
    pub fn shard_by(mut self, key: ShardKey) -> Self {
        if let Mode::Shards { key: current, .. } = &mut self.mode {
            *current = key;
        }
        self
    }

    /// Sets the clock, for tests under paused time.
    pub fn clock(self, clock: impl Clock) -> Self {
        Self { clock: Arc::new(clock), ..self }
    }

    /// Returns the manifest of the Role that replicas need, for Leases in `namespace`.
    #[must_use]
    pub fn role(&self, namespace: &str) -> String {
        self.config(namespace).role()
    }

    /// Starts a task that acquires and renews the leases.
    ///
    /// # Errors
    /// [`ConfigError`] if a setting is invalid. Problems with the API server are reported by [`Leases::acquired`].
    ///
    /// # Panics
    /// Outside of a Tokio runtime.
    pub fn start(self, client: Client) -> Result<Leases, ConfigError> {
        let config = self.config(client.default_namespace());
        config.validate()?;
        let config = Arc::new(config);
        let (snapshots, receiver) = watch::channel(Snapshot::default());
        let (stop, stop_receiver) = watch::channel(false);
        let channels = Channels { snapshots, stop: stop_receiver };
        let driver = Driver::new(&config, LeaseApi::new(client, &config), self.clock, channels);
        tokio::spawn(driver.run());
        Ok(Leases { config, snapshots: receiver, stop: Arc::new(stop) })
    }

    fn config(&self, default_namespace: &str) -> Config {
        let random = || format!("{:08x}", RandomState::new().hash_one(std::process::id()) >> 32);
        let default_identity = || {
            let host = ["POD_NAME", "HOSTNAME"].into_iter().find_map(|name| std::env::var(name).ok());
            let host = host.filter(|host| !host.is_empty()).unwrap_or_else(|| "replica".to_owned());
            format!("{host}-{}", random())
        };
        Config {
            name: self.name.clone(),
            namespace: self.namespace.clone().unwrap_or_else(|| default_namespace.to_owned()),
            identity: self.identity.clone().unwrap_or_else(default_identity),
            instance: format!("{}{}", random(), random()),
            mode: self.mode,
            timing: self.timing,
            drain_timeout: self.drain_timeout,
        }
    }
}
