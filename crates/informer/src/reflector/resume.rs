//! How a reflector goes on from a state that its sink had from the start.

use super::{
    cursor::Failure,
    driver::Reflector,
    sink::Sink,
    telemetry::{Activity, Cause},
};
use crate::source::ListerWatcher;
use kube_core::Resource;
use kube_informer_wire::{ListOptions, ResourceVersion};
use tokio::time::Instant;

impl<K, L, S> Reflector<K, L, S>
where
    K: Resource + Send + Sync + 'static,
    L: ListerWatcher<K>,
    S: Sink<K>,
{
    /// Begins with a watch from this version rather than with the whole state, for a sink that has the state of it.
    ///
    /// The source is first asked at which version it is, by a list of one object. If it is behind this one, no longer has the
    /// changes since, or does not compare, the whole state is asked for as usual; what a sink makes of that is what differs. If the
    /// watch goes on, [`Sink::resumed`] is called as soon as it has come to the version that the source had at first, or has been
    /// silent for a second: what had changed is sent at once.
    #[must_use]
    pub fn resume_from(mut self, version: ResourceVersion) -> Self {
        self.cursor.resume_from(version);
        self
    }

    /// Begins with the whole state, as it is from this version on.
    pub(crate) fn list_from(&mut self, version: ResourceVersion) {
        self.cursor.list_from(version);
    }

    /// Begins with the whole state after all: what the sink has is of something else.
    #[cfg(feature = "saved")]
    pub(crate) fn start_over(&mut self) {
        self.cursor.start_over();
    }

    /// Asks at which version the source is.
    pub(super) async fn probe(&mut self, options: &ListOptions) {
        match self.source.list(options, &mut |_| {}).await {
            Ok(meta) => {
                let server = meta.version.as_ref().map(ToString::to_string);
                self.cursor.probed(meta.version);
                let restored = self.cursor.version().map(tracing::field::display);
                if self.cursor.is_version_unavailable() {
                    tracing::warn!(
                        reflector = self.telemetry.name,
                        restored,
                        server,
                        "the server is behind what was restored; asking for everything"
                    );
                } else {
                    tracing::debug!(reflector = self.telemetry.name, restored, server, "resuming");
                }
            }
            Err(error) => {
                self.cursor.probe_failed(Failure::of(&error), Instant::now());
                self.fail(Activity::List, Cause::Source(&error));
            }
        }
    }

    /// Tells the sink that what it had from the start has been caught up with.
    pub(super) async fn resumed(&mut self) {
        match self.sink.resumed().await {
            Ok(()) => {
                self.cursor.resumed();
                self.resync.arm();
            }
            Err(error) => self.sink_failed(&error),
        }
    }
}
