//! A running server, and its builder.

use crate::churn::{Churn, Churning, make_namespace};
use crate::fault::Faults;
use crate::history::{Loaded, Past};
use crate::http::{
    AllowedHosts, Control, Gateway, Guard, Loopback, RequestRecord, SocketSettings, Tls, Token, listen,
};
use crate::kubeconfig;
use crate::kubelet::{self, Kubelet, Outcome};
use crate::rbac::User;
use crate::registry::Registry;
use crate::saved_state::SavedState;
use crate::storage::{DataError, StoreSnapshot};
use crate::verb::{Cluster, Controllers};
use crate::yaml::{self, ApplyYamlError};
use serde::{Serialize, de::DeserializeOwned};
use serde_json::json;
use std::{
    error::Error,
    io,
    net::{IpAddr, SocketAddr},
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};
use tokio::{
    net::{TcpListener, lookup_host},
    sync::watch,
    task::JoinHandle,
};

/// The namespaces that exist in every cluster.
const NAMESPACES: [&str; 4] = ["default", "kube-node-lease", "kube-public", "kube-system"];

/// A Kubernetes API server in this process.
///
/// The server and all its connections end when it is [stopped](DevServer::stop) or dropped.
#[derive(Debug)]
pub struct DevServer {
    gateway: Arc<Gateway>,
    socket: Option<Socket>,
    kubelet: Option<JoinHandle<()>>,
}

#[derive(Debug)]
struct Socket {
    address: SocketAddr,
    tls: Option<Tls>,
    token: Option<Token>,
    stop: watch::Sender<()>,
    task: JoinHandle<()>,
}

/// The settings of a server.
#[derive(Clone, Debug)]
#[must_use = "a builder does nothing until it is started"]
pub struct Builder {
    address: Option<String>,
    names: Option<Vec<String>>,
    token: Option<Token>,
    users: Vec<TokenUser>,
    hosts: Vec<String>,
    control: Control,
    history: usize,
    bookmark_interval: Duration,
    controllers: Controllers,
    past: Option<Past>,
    kubelet: Option<Kubelet>,
    data: Option<PathBuf>,
}

/// All objects of a server at one moment; see [`DevServer::snapshot`].
#[derive(Clone, Debug)]
pub struct Snapshot {
    store: StoreSnapshot,
    registry: Arc<Registry>,
}

/// A user with a bearer token.
#[derive(Clone)]
struct TokenUser {
    user: User,
    token: String,
}

/// Reports why the outcome of a pod cannot be set.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("cannot set the outcome of the pod: {message}")]
pub struct OutcomeError {
    message: String,
}

/// The resource versions after a restart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Versions {
    /// They continue.
    Kept,
    /// They start again, as after the restore of a backup.
    Reset,
}

/// Reports why a server cannot be started.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StartError {
    /// The address can be reached from other machines, and TLS or a token is missing.
    #[error("{address} is not a loopback address: that needs TLS and a token")]
    Exposed {
        /// The address.
        address: SocketAddr,
    },
    /// The token is empty, as from an unset variable.
    #[error("the token is empty")]
    EmptyToken,
    /// The server cannot listen on the address.
    #[error("cannot listen on {address}")]
    Listen {
        /// The address.
        address: String,
        /// The operating system's error.
        #[source]
        cause: io::Error,
    },
    /// The recorded history cannot be read.
    #[error("recorded past cannot be read")]
    Past(#[from] kube_history::ReadError),
    /// The server shows a recorded history, which a kubelet cannot change.
    #[error("a server that shows a recorded past cannot run a kubelet: remove one of the two options")]
    KubeletOnPast,
    /// The directory of [`Builder::data`] cannot be used.
    #[error("cannot use the data directory {}", path.display())]
    Data {
        /// The directory.
        path: PathBuf,
        /// The reason.
        #[source]
        cause: DataError,
    },
    /// The server shows a recorded history, which cannot be saved.
    #[error("a server that shows a recorded past cannot save objects: remove one of the two options")]
    DataOnPast,
    /// The certificate cannot be generated.
    #[error("cannot make a certificate")]
    Certificate(#[source] Box<dyn Error + Send + Sync>),
}

impl DevServer {
    /// Starts a server without a socket, which is used through [`DevServer::client`].
    #[must_use]
    pub fn start() -> Self {
        Self::builder().start_in_memory()
    }

    /// Returns a builder for a server with other settings.
    pub fn builder() -> Builder {
        Builder {
            address: None,
            names: None,
            token: None,
            users: Vec::new(),
            hosts: Vec::new(),
            control: Control::Closed,
            history: 16_384,
            bookmark_interval: Duration::from_secs(60),
            controllers: Controllers::default(),
            past: None,
            kubelet: None,
            data: None,
        }
    }

    /// Returns a client that needs no socket, and therefore works while the clock is paused.
    ///
    /// It must be called within a Tokio runtime.
    #[cfg(feature = "client")]
    #[must_use]
    pub fn client(&self) -> kube_client::Client {
        self.client_as(User::admin())
    }

    /// Returns a client whose requests are allowed only if the roles and bindings in the server allow them, as
    /// [`DevServer::client`] otherwise.
    ///
    /// ```
    /// # use k8s_openapi::api::core::v1::Pod;
    /// # use kube::api::{Api, ListParams};
    /// # use kube_devserver::DevServer;
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() {
    /// let server = DevServer::start();
    /// let pods: Api<Pod> = Api::namespaced(server.client_as("system:serviceaccount:ops:website"), "ops");
    /// let error = pods.list(&ListParams::default()).await.unwrap_err();
    /// assert!(error.to_string().contains(
    ///     r#"User "system:serviceaccount:ops:website" cannot list resource "pods" in API group "" in the namespace "ops""#
    /// ));
    /// # }
    /// ```
    #[cfg(feature = "client")]
    #[must_use]
    pub fn client_as(&self, user: impl Into<User>) -> kube_client::Client {
        kube_client::Client::new(
            crate::http::InProcess::new(Arc::clone(&self.gateway), user.into()),
            "default",
        )
    }

    /// Returns a client that faults do not apply to, with which a test can prepare and check objects.
    #[cfg(feature = "client")]
    #[must_use]
    pub fn client_without_faults(&self) -> kube_client::Client {
        let pipe = crate::http::InProcess::without_faults(Arc::clone(&self.gateway), User::admin());
        kube_client::Client::new(pipe, "default")
    }

    /// Returns the last 4096 completed requests of all clients, the oldest first.
    ///
    /// Requests on sockets that fail before the user is known, and requests of the built-in kubelet, are not included.
    #[must_use]
    pub fn requests(&self) -> Vec<RequestRecord> {
        self.gateway.log.all()
    }

    /// Removes all entries of [`DevServer::requests`].
    pub fn clear_requests(&self) {
        self.gateway.log.clear();
    }

    /// Applies all objects in a YAML text, as `kubectl apply --server-side --force-conflicts` does; faults do
    /// not apply. Namespaced objects without a namespace are created in `default`. Returns the stored
    /// objects.
    ///
    /// # Errors
    /// Returns an error if the text is not YAML, or if an object is unknown or refused; the objects before it
    /// are applied.
    pub async fn apply_yaml(&self, text: &str) -> Result<Vec<serde_json::Value>, ApplyYamlError> {
        yaml::apply(&Loopback::new(Arc::clone(&self.gateway), "apply-yaml"), text).await
    }

    /// Runs an admission or conversion webhook in this process, as the service that configurations refer to.
    ///
    /// A `MutatingWebhookConfiguration` or `ValidatingWebhookConfiguration` with `clientConfig.service` of this namespace, name and path
    /// calls `handler`, and so does the `spec.conversion.webhook` of a definition; no socket and no certificate is needed, so it works while the clock is paused. The handler receives an
    /// `AdmissionReview` and returns one, such as those of `kube::core::admission`, or a `ConversionReview`. A handler for the same service and path is
    /// replaced.
    ///
    /// ```
    /// # use k8s_openapi::api::core::v1::ConfigMap;
    /// # use kube::api::{Api, PostParams};
    /// # use kube_devserver::DevServer;
    /// use serde_json::{Value, json};
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let server = DevServer::start();
    /// server.serve_webhook("ops", "policy", "/validate", |review: Value| async move {
    ///     let allowed = review["request"]["object"]["data"]["owner"].is_string();
    ///     let response = json!({"uid": review["request"]["uid"], "allowed": allowed, "status": {"message": "data.owner is missing"}});
    ///     json!({"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "response": response})
    /// });
    /// server.apply_yaml("
    /// apiVersion: admissionregistration.k8s.io/v1
    /// kind: ValidatingWebhookConfiguration
    /// metadata: {name: policy}
    /// webhooks:
    /// - name: owner.policy.example.com
    ///   admissionReviewVersions: [v1]
    ///   sideEffects: None
    ///   clientConfig: {service: {namespace: ops, name: policy, path: /validate}}
    ///   rules: [{operations: [CREATE], apiGroups: [''], apiVersions: [v1], resources: [configmaps]}]
    /// ").await?;
    /// let maps: Api<ConfigMap> = Api::default_namespaced(server.client());
    /// let mut map = ConfigMap::default();
    /// map.metadata.name = Some("settings".to_owned());
    /// let error = maps.create(&PostParams::default(), &map).await.unwrap_err();
    /// assert!(error.to_string().contains("denied the request: data.owner is missing"));
    /// # Ok(())
    /// # }
    /// ```
    pub fn serve_webhook<Review, Response>(
        &self,
        namespace: &str,
        service: &str,
        path: &str,
        handler: impl Fn(Review) -> Response + Send + Sync + 'static,
    ) where
        Review: DeserializeOwned,
        Response: Future<Output: Serialize> + Send + 'static,
    {
        self.cluster().webhooks.add(namespace, service, path, move |review| {
            let handled = serde_json::from_value(review).map(&handler);
            Box::pin(async move {
                let handled =
                    handled.map_err(|error| format!("the webhook cannot read the review: {error}"))?;
                serde_json::to_value(handled.await).map_err(|error| error.to_string())
            })
        });
    }

    /// Returns all objects and served definitions, for [`DevServer::restore`].
    #[must_use]
    pub fn snapshot(&self) -> Snapshot {
        let cluster = self.cluster();
        Snapshot { store: cluster.store.snapshot(), registry: cluster.registry() }
    }

    /// Replaces all objects by those of a snapshot. Resource versions continue; open watches, and watches and lists
    /// from versions before this call, end with 410 Expired, so that clients list again.
    pub fn restore(&self, snapshot: &Snapshot) {
        let cluster = self.cluster();
        cluster.restore_registry(Arc::clone(&snapshot.registry));
        cluster.store.restore(&snapshot.store);
    }

    /// Sets the outcome of a pod, which the [kubelet](Builder::kubelet) then reports, such as a crash. It sets the annotation
    /// `devserver.kube-informer.dev/outcome`; faults do not apply.
    ///
    /// # Errors
    /// Returns an error if the pod does not exist.
    pub async fn set_outcome(
        &self,
        namespace: &str,
        pod: &str,
        outcome: Outcome,
    ) -> Result<(), OutcomeError> {
        let client = Loopback::new(Arc::clone(&self.gateway), "set-outcome");
        let path = format!("/api/v1/namespaces/{namespace}/pods/{pod}");
        let annotation = kubelet::ANNOTATION;
        let patch = json!({ "metadata": { "annotations": { annotation: outcome.as_str() } } });
        let reply = client.merge(&path, &patch).await;
        match reply.refusal() {
            None => Ok(()),
            Some(message) => Err(OutcomeError { message }),
        }
    }

    /// Returns the active faults.
    #[must_use]
    pub fn faults(&self) -> &Faults {
        &self.gateway.faults
    }

    /// Returns the newest resource version.
    #[must_use]
    pub fn version(&self) -> u64 {
        self.cluster().store.version()
    }

    /// Returns the reason why the last change could not be saved in the [data directory](Builder::data);
    /// `None` if all changes are saved, or if the server has no directory. The server continues, and tries to
    /// save all objects again after the next change.
    #[must_use]
    pub fn data_error(&self) -> Option<String> {
        self.cluster().store.data_error()
    }

    /// Removes the history: requests for a version older than the newest fail with 410 Gone.
    pub fn compact(&self) {
        self.cluster().store.forget_history();
    }

    /// Cuts all watches, as if their connections were lost.
    pub fn cut_watches(&self) {
        self.cluster().store.cut_off();
    }

    /// Restarts the server with the same objects. All watches are cut.
    pub fn restart(&self, versions: Versions) {
        match versions {
            Versions::Kept => self.cluster().store.cut_off(),
            Versions::Reset => self.cluster().store.reset_versions(),
        }
    }

    /// Fills the server with pods of the corpus, and changes them if `churn` has a rate.
    pub fn churn(&self, churn: Churn) -> Churning {
        churn.start(self.cluster())
    }

    /// Returns the address of the socket, if there is one.
    #[must_use]
    pub fn address(&self) -> Option<SocketAddr> {
        self.socket.as_ref().map(|socket| socket.address)
    }

    /// Returns the URL of the socket, if there is one.
    #[must_use]
    pub fn url(&self) -> Option<String> {
        self.socket.as_ref().map(Socket::url)
    }

    /// Returns the certificate that clients must trust, as PEM, if the server uses TLS.
    #[must_use]
    pub fn certificate(&self) -> Option<&str> {
        Some(&self.socket.as_ref()?.tls.as_ref()?.certificate)
    }

    /// Returns a kubeconfig for kubectl and other clients, if there is a socket.
    #[must_use]
    pub fn kubeconfig(&self) -> Option<String> {
        self.socket.as_ref().map(Socket::kubeconfig)
    }

    /// Writes [`DevServer::kubeconfig`] to a file that only its owner can read. An existing file is replaced only if it is empty or a
    /// kubeconfig of a devserver; links are not followed. Does nothing without a socket.
    ///
    /// # Errors
    /// Returns [`io::ErrorKind::AlreadyExists`] if the file has other contents, and any other error of the
    /// operating system.
    pub fn write_kubeconfig(&self, path: impl AsRef<Path>) -> io::Result<()> {
        self.kubeconfig().map_or(Ok(()), |text| kubeconfig::write(path.as_ref(), &text))
    }

    /// Stops the server, and waits for the end of its tasks.
    pub async fn stop(mut self) {
        self.gateway.close();
        if let Some(kubelet) = self.kubelet.take() {
            kubelet.abort();
            // The task ends because it was aborted.
            let _ = kubelet.await;
        }
        if let Some(socket) = self.socket.take() {
            socket.stop.send_replace(());
            if let Err(error) = socket.task.await {
                tracing::error!(%error, "server task failed");
            }
        }
        self.gateway.cluster.store.stop_saving();
    }

    fn cluster(&self) -> &Arc<Cluster> {
        &self.gateway.cluster
    }
}

impl Drop for DevServer {
    fn drop(&mut self) {
        self.gateway.close();
        if let Some(kubelet) = &self.kubelet {
            kubelet.abort();
        }
        if let Some(socket) = &self.socket {
            // The task owns the connections, which are closed when it is aborted.
            socket.task.abort();
        }
        self.gateway.cluster.store.stop_saving();
    }
}

impl Builder {
    /// Listens on a socket, such as `127.0.0.1:0` for any free port.
    pub fn listen(self, address: impl Into<String>) -> Self {
        Self { address: Some(address.into()), ..self }
    }

    /// Uses TLS on the socket, with a certificate for `localhost`, the address and these names.
    pub fn tls<N: Into<String>>(self, names: impl IntoIterator<Item = N>) -> Self {
        Self { names: Some(names.into_iter().map(Into::into).collect()), ..self }
    }

    /// Requires this bearer token on the socket.
    pub fn token(self, token: impl AsRef<str>) -> Self {
        Self { token: Some(Token::new(token.as_ref())), ..self }
    }

    /// Accepts requests with this bearer token as requests of this user, which are allowed only if the roles
    /// and bindings in the server allow them. Can be called repeatedly.
    ///
    /// Requests with the token of [`token`](Self::token), or all requests if there is no such token, are
    /// always allowed.
    pub fn user(mut self, user: impl Into<User>, token: impl Into<String>) -> Self {
        self.users.push(TokenUser { user: user.into(), token: token.into() });
        self
    }

    /// Accepts requests for this host name too. Can be called repeatedly.
    ///
    /// A server without a token accepts a request only if its `Host` and `Origin` headers contain a loopback
    /// name, the address, a name of [`tls`](Self::tls) or a name given here, so that a web page in a browser
    /// on the same machine can neither read nor write objects.
    pub fn allow_host(mut self, name: impl Into<String>) -> Self {
        self.hosts.push(name.into());
        self
    }

    /// Accepts faults over HTTP, below `/devserver`.
    pub fn control(self) -> Self {
        Self { control: Control::Open, ..self }
    }

    /// Sets the number of events that are kept for each resource. Watches that are further behind end.
    pub fn history(self, events: usize) -> Self {
        Self { history: events, ..self }
    }

    /// Sets the interval of bookmarks. The default is a minute.
    pub fn bookmark_interval(self, interval: Duration) -> Self {
        Self { bookmark_interval: interval.max(Duration::from_millis(1)), ..self }
    }

    /// Selects the controllers of kube-controller-manager that the server runs itself. The default is
    /// [`Controllers::BuiltIn`].
    pub fn controllers(self, controllers: Controllers) -> Self {
        Self { controllers, ..self }
    }

    /// Serves a recorded history, read-only, instead of the server's own objects.
    pub fn past(self, past: Past) -> Self {
        Self { past: Some(past), ..self }
    }

    /// Runs a kubelet for every node: nodes are ready, and pods on them run.
    pub fn kubelet(self, kubelet: Kubelet) -> Self {
        Self { kubelet: Some(kubelet), ..self }
    }

    /// Saves all objects in a directory. A later server with this directory has the same objects, even if
    /// this one is killed. The directory is created with mode 700. Versions continue; watches from versions
    /// before the restart end with 410 Expired.
    ///
    /// A change is written before the response to its request, but not flushed to disk: it survives the end
    /// of the process, and may be lost if the machine fails. If the directory cannot be written, the server
    /// logs an error and continues.
    pub fn data(self, directory: impl Into<PathBuf>) -> Self {
        Self { data: Some(directory.into()), ..self }
    }

    /// Starts the server.
    ///
    /// # Errors
    /// Returns an error if the server cannot listen on the address, if the address can be reached from other
    /// machines and TLS or a token is missing, if the token is empty, if the recorded history cannot be read
    /// or a kubelet is requested for it, or if the directory of [`data`](Self::data) cannot be used.
    pub async fn start(self) -> Result<DevServer, StartError> {
        let has_empty_user = self.users.iter().any(|one| one.token.trim().is_empty());
        if self.token.as_ref().is_some_and(Token::is_empty) || has_empty_user {
            return Err(StartError::EmptyToken);
        }
        if self.past.is_some() && self.kubelet.is_some() {
            return Err(StartError::KubeletOnPast);
        }
        let saved = match self.data.clone() {
            Some(_) if self.past.is_some() => return Err(StartError::DataOnPast),
            Some(path) => {
                let open = tokio::task::spawn_blocking(move || match SavedState::open(&path) {
                    Ok(saved) => Ok(saved),
                    Err(cause) => Err(StartError::Data { path, cause }),
                });
                Some(open.await.unwrap_or_else(|error| std::panic::resume_unwind(error.into_panic()))?)
            }
            None => None,
        };
        let loaded = match self.past.clone() {
            Some(past) => {
                let load = tokio::task::spawn_blocking(move || past.load()).await;
                Some(load.unwrap_or_else(|error| std::panic::resume_unwind(error.into_panic()))?)
            }
            None => None,
        };
        let contents = Contents { past: loaded, saved };
        let Some(address) = self.address.clone() else { return Ok(self.start_with_kubelet(contents)) };
        let failed = |cause| StartError::Listen { address: address.clone(), cause };
        let found = lookup_host(&address).await.map_err(failed)?.next();
        let found = found.ok_or_else(|| failed(io::ErrorKind::AddrNotAvailable.into()))?;
        if !found.ip().is_loopback() && (self.names.is_none() || self.token.is_none()) {
            return Err(StartError::Exposed { address: found });
        }
        let listener = TcpListener::bind(found).await.map_err(failed)?;
        let address = listener.local_addr().map_err(failed)?;
        let tls = self.names.as_ref().map(|names| certify(names, address.ip())).transpose()?;
        let token = self.token.clone();
        let guard = match &token {
            Some(token) => Guard::Token(token.clone()),
            None => {
                let names = self.names.iter().flatten().chain(&self.hosts);
                Guard::Hosts(AllowedHosts::new(address.ip(), names))
            }
        };
        let mut server = self.start_with_kubelet(contents);
        let settings = SocketSettings { gateway: Arc::clone(&server.gateway), tls: tls.clone(), guard };
        let (stop, stopped) = watch::channel(());
        let task = tokio::spawn(listen(listener, settings, stopped));
        server.socket = Some(Socket { address, tls, token, stop, task });
        Ok(server)
    }

    fn start_with_kubelet(&self, contents: Contents) -> DevServer {
        let mut server = self.start_with(contents);
        if let Some(kubelet) = self.kubelet.clone() {
            let client = Loopback::new(Arc::clone(&server.gateway), "kubelet");
            server.kubelet = Some(tokio::spawn(kubelet::run(kubelet, client)));
        }
        server
    }

    fn start_in_memory(&self) -> DevServer {
        self.start_with(Contents::default())
    }

    fn start_with(&self, contents: Contents) -> DevServer {
        let cluster = Arc::new(Cluster::new(self.history, self.bookmark_interval, self.controllers));
        for TokenUser { user, token } in &self.users {
            cluster.tokens.insert(token, user.clone());
        }
        if let Some(saved) = contents.saved {
            saved.fill(&cluster);
        }
        match contents.past {
            Some(past) => past.fill(&cluster),
            None => NAMESPACES.iter().for_each(|name| make_namespace(&cluster, name)),
        }
        let cut = Arc::clone(&cluster);
        let faults = Faults::new(move || cut.store.cut_off());
        DevServer {
            gateway: Arc::new(Gateway::new(cluster, faults, self.control)),
            socket: None,
            kubelet: None,
        }
    }
}

/// The initial contents of a server.
#[derive(Default)]
struct Contents {
    past: Option<Loaded>,
    saved: Option<SavedState>,
}

impl std::fmt::Debug for TokenUser {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("TokenUser").field("user", &self.user).finish_non_exhaustive()
    }
}

impl Socket {
    fn url(&self) -> String {
        let scheme = if self.tls.is_some() { "https" } else { "http" };
        format!("{scheme}://{}", self.address)
    }

    fn kubeconfig(&self) -> String {
        let mut cluster = json!({ "server": self.url() });
        if let Some(tls) = &self.tls {
            use base64::{Engine, engine::general_purpose::STANDARD};
            cluster["certificate-authority-data"] = STANDARD.encode(&tls.certificate).into();
        }
        // Without a token, kubectl prompts for a name and a password.
        let token = self.token.as_ref().map_or("none", Token::as_str);
        // JSON is YAML.
        let config = json!({
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [{ "name": kubeconfig::NAME, "cluster": cluster }],
            "users": [{ "name": kubeconfig::NAME, "user": { "token": token } }],
            "contexts": [{
                "name": kubeconfig::NAME,
                "context": { "cluster": kubeconfig::NAME, "user": kubeconfig::NAME, "namespace": "default" },
            }],
            "current-context": kubeconfig::NAME,
        });
        config.to_string()
    }
}

fn certify(names: &[String], address: IpAddr) -> Result<Tls, StartError> {
    let mut all = vec!["localhost".to_owned(), address.to_string()];
    all.extend_from_slice(names);
    Tls::self_signed(&all).map_err(StartError::Certificate)
}
