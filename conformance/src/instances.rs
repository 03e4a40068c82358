//! Creates tests from each claim.

/// Creates a test of each function for the server under test: a kube-apiserver if `CLUSTER_PROGRAM` is set, otherwise a devserver.
///
/// Claims under `alone` have exclusive access to the server.
#[macro_export]
macro_rules! claims {
    (shared: [$($shared:ident),* $(,)?], alone: [$($alone:ident),* $(,)?] $(,)?) => {
        $crate::tests_of! { under_test [$($shared),*], under_test_alone [$($alone),*] }
    };
}

/// Creates two tests of each function: for the devserver and for kube-apiserver.
#[macro_export]
macro_rules! on_both {
    (shared: [$($shared:ident),* $(,)?], alone: [$($alone:ident),* $(,)?] $(,)?) => {
        mod dev {
            use super::{$($shared,)* $($alone,)*};
            $crate::tests_of! { dev [$($shared),*], dev [$($alone),*] }
        }
        mod real {
            use super::{$($shared,)* $($alone,)*};
            $crate::tests_of! { real [$($shared),*], real_alone [$($alone),*] }
        }
    };
}

/// Creates a test of each function, with the server that its constructor returns.
#[doc(hidden)]
#[macro_export]
macro_rules! tests_of {
    ($start:ident [$($shared:ident),*], $start_alone:ident [$($alone:ident),*]) => {
        mod test {
            $(#[tokio::test(flavor = "multi_thread")]
            async fn $shared() {
                let server = $crate::Server::$start().await;
                $crate::whole_test(super::$shared(&server)).await;
            })*
            $(#[tokio::test(flavor = "multi_thread")]
            async fn $alone() {
                let server = $crate::Server::$start_alone().await;
                $crate::whole_test(super::$alone(&server)).await;
            })*
        }
    };
}
