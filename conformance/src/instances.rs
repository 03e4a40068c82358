//! One claim, two tests: against the devserver and against a real server.

/// Makes a test of each function for each server; those under `alone` have the real server for themselves.
#[macro_export]
macro_rules! on_both {
    (shared: [$($shared:ident),* $(,)?], alone: [$($alone:ident),* $(,)?] $(,)?) => {
        mod dev {
            $(#[tokio::test(flavor = "multi_thread")]
            async fn $shared() {
                super::$shared(&$crate::Server::dev().await).await;
            })*
            $(#[tokio::test(flavor = "multi_thread")]
            async fn $alone() {
                super::$alone(&$crate::Server::dev().await).await;
            })*
        }

        #[cfg(feature = "__cluster")]
        mod real {
            $(#[tokio::test(flavor = "multi_thread")]
            async fn $shared() {
                super::$shared(&$crate::Server::real().await).await;
            })*
            $(#[tokio::test(flavor = "multi_thread")]
            async fn $alone() {
                super::$alone(&$crate::Server::real_alone().await).await;
            })*
        }
    };
}
