//! How a cache stores its objects.

/// How a cache stores its objects. Subscribers and readers see the same objects either way.
///
/// ```
/// use k8s_openapi::api::core::v1::Pod;
/// use kube_devserver::DevServer;
/// use kube_informer::{Informer, Storage};
///
/// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let server = DevServer::start();
/// let pods = Informer::<Pod>::builder(server.client()).storage(Storage::Encoded).start()?;
/// # pods.synced().await?;
/// # Ok(()) }
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Storage {
    /// Decoded objects: reads cost a reference count. The default.
    #[default]
    Decoded,
    /// The bytes that the server sent; each read decodes them. About a third of the memory of `Decoded`.
    ///
    /// Objects are validated when they arrive, so reads cannot fail. Objects of a source that delivers no bytes
    /// ([`FromFns`](crate::source::FromFns)) are stored decoded.
    ///
    /// To skip the validation, use [`lazy`](crate::informer::InformerBuilder::lazy) instead: a [`Lazy`](crate::Lazy) object is
    /// validated when it is read, and its reads return a `Result`.
    Encoded,
    /// The bytes that the server sent, compressed with zstd and a dictionary that the cache builds from the first objects:
    /// some hundred bytes for a pod. Each read decompresses and decodes, in some tens of microseconds for a pod.
    #[cfg(feature = "compressed")]
    #[cfg_attr(docsrs, doc(cfg(feature = "compressed")))]
    Compressed,
}
