//! Creates tests from each claim: for the devserver and for a real server.

/// Creates a test of each function for the devserver.
#[macro_export]
macro_rules! on_devserver {
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
    };
}

/// Creates a test of each function for a real server; tests under `alone` do not share it.
#[macro_export]
macro_rules! on_cluster {
    (shared: [$($shared:ident),* $(,)?], alone: [$($alone:ident),* $(,)?] $(,)?) => {
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

/// Creates two tests of each function, one for each server.
#[macro_export]
macro_rules! on_both {
    ($($claims:tt)*) => {
        $crate::on_devserver! { $($claims)* }
        $crate::on_cluster! { $($claims)* }
    };
}
