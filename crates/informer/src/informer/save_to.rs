//! Asks for a cache to be saved.

use super::{
    builder::Builder,
    save::{Place, Save},
    start_error::StartError,
};
use kube_core::Resource;
use kube_informer_wire::ManagedFields;

impl<K: Resource + Send + Sync + 'static> Builder<K> {
    /// Saves the cache to a folder, so that it outlives the process.
    ///
    /// When the informer is [built](Self::build), the state that was saved there can be read at once, and followers are told of it; see
    /// [`Replay`](crate::subscription::Replay) for those who know it already. Once started, the watch goes on from the version of that
    /// state, and only what has changed since is told. Where the server has forgotten that version, all is listed, and what differs is
    /// told: objects that did not change are not decoded. [`Status::restored`](super::Status::restored) says how old it was, and
    /// whether the server has been caught up with; until then the informer [has not synced](super::Informer::has_synced).
    ///
    /// Changes are written in the background. A process that is killed at any moment leaves a state that the server had. A disk that
    /// is full or read-only is logged and shows in [`Status::saving`](super::Status::saving), and does not stop the informer.
    ///
    /// ```
    /// use k8s_openapi::api::core::v1::ConfigMap;
    /// use kube_devserver::DevServer;
    /// use kube_informer::Informer;
    ///
    /// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let server = DevServer::start(); // in place of a cluster
    /// # let folder = std::env::temp_dir().join(format!("save-to-example-{}", std::process::id()));
    /// let maps = Informer::<ConfigMap>::new(server.client()).save_to(&folder).start()?;
    /// maps.synced().await?;
    /// let count = maps.len();
    /// maps.stop().await;
    ///
    /// // Another life: everything is there before the server is asked.
    /// let maps = Informer::<ConfigMap>::new(server.client()).save_to(&folder).build()?;
    /// let restored = maps.status().restored.expect("it was saved");
    /// assert!(maps.len() == count && restored.objects == count && !restored.is_confirmed);
    /// maps.start();
    /// maps.synced().await?;
    /// assert!(maps.status().restored.is_some_and(|restored| restored.is_confirmed));
    /// # maps.stop().await; std::fs::remove_dir_all(&folder)?;
    /// # Ok(()) }
    /// ```
    pub fn save_to(mut self, save: impl Into<Save>) -> Self {
        self.save = Some(save.into());
        self
    }

    /// Where it is saved, if it is.
    pub(super) fn place(&self, name: &str) -> Result<Option<Place>, StartError> {
        let (Some(save), Some(target)) = (&self.save, &self.target) else { return Ok(None) };
        let without = self.managed_fields == ManagedFields::Drop;
        let manner = (name.to_owned(), self.fifo.has_transform(), without);
        let narrowed = |header: kube_informer_saved::Header| {
            let header = self.labels.iter().fold(header, |header, labels| header.labels(labels));
            let header = self.fields.iter().fold(header, |header, fields| header.fields(fields));
            self.shard.iter().fold(header, |header, (index, of)| header.shard(format!("{index}/{of}")))
        };
        Place::new::<K>(save.clone(), target, manner, narrowed).map(Some)
    }
}
