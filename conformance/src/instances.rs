//! Creates two tests from each claim: for the devserver and for a real server.

/// Creates a test of each function for each server; tests under `alone` do not share the real server.
#[macro_export]
macro_rules! on_both {
    (shared: [$($shared:ident),* $(,)?], alone: [$($alone:ident),* $(,)?] $(,)?) => {
        mod dev {
            $(#[tokio::test(flavor = "multi_thread")]
            async fn $shared() {
                let server = $crate::Server::dev().await;
                $crate::whole_test(super::$shared(&server)).await;
            })*
            $(#[tokio::test(flavor = "multi_thread")]
            async fn $alone() {
                let server = $crate::Server::dev().await;
                $crate::whole_test(super::$alone(&server)).await;
            })*
        }

        #[cfg(feature = "__cluster")]
        mod real {
            $(#[tokio::test(flavor = "multi_thread")]
            async fn $shared() {
                let server = $crate::Server::real().await;
                $crate::whole_test(super::$shared(&server)).await;
            })*
            $(#[tokio::test(flavor = "multi_thread")]
            async fn $alone() {
                let server = $crate::Server::real_alone().await;
                $crate::whole_test(super::$alone(&server)).await;
            })*
        }
    };
}
