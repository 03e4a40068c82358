//! A reflector, a queue and a store against a real API: after whatever goes wrong, the cache is the server.

mod chaos;
mod cuts;
mod kinds;
mod lists;
mod streams;
mod world;
