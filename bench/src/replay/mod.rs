//! A server that only replays: everything is encoded before the first request, and written in large chunks.
//!
//! It says a line of JSON with its URL when it is ready, then takes orders on standard input, one a line, and answers each
//! with a line. It ends when its standard input does.

mod slots;

mod form;

mod object;

mod world;

mod encode;

mod watchers;

mod answer;

mod storm;

mod orders;

mod serve;

pub(crate) use serve::run;
