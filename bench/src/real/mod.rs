//! A real API server, loaded with the corpus, which takes the orders of the replay server as far as it can.
//!
//! It is reached over HTTP like by anyone; what it has is what it says in a list.

mod write;

mod load;

mod orders;

pub(crate) use orders::run;
