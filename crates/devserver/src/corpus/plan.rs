//! The values of one object of the corpus, such as its owner and its times, which depend only on the seed and
//! its index.

use crate::corpus::random::{below, mixed, pick};
use crate::corpus::words::{AGENTS, CPU, MEMORY, NAMESPACES, ROLES, SUBJECTS, TEAMS, VARIABLES};
use jiff::Timestamp;
use std::fmt::Write as _;

/// The kinds of pods.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Shape {
    /// One container, owned by a replica set.
    Plain,
    /// Two containers, the second of which is a proxy; owned by a replica set.
    Sidecar,
    /// One pod on each node, owned by a daemon set.
    Daemon,
    /// A completed pod, owned by a job.
    Job,
}

/// The random numbers of an object: those that are shared by all pods of its owner, and its own.
#[derive(Clone, Copy, Debug)]
pub(super) struct Plan {
    index: u64,
    own: u64,
    owner: u64,
}

/// The number of pods of an owner.
const SIBLINGS: u64 = 12;
/// The number of pods of a block, and the number of nodes to which they are assigned: thirty pods per node.
const BLOCK: (u64, u64) = (1_200, 40);
/// The start of 2026, in seconds since 1970.
const START: i64 = 1_767_225_600;
const ALPHABET: &[u8; 27] = b"bcdfghjklmnpqrstvwxz2456789";
/// The number of possible suffixes of five letters, which is also the number of objects with unique names.
const SUFFIXES: u64 = 27 * 27 * 27 * 27 * 27;

impl Plan {
    pub(super) fn new(seed: u64, index: u64) -> Self {
        Self { index, own: mixed(seed, index), owner: mixed(!seed, index / SIBLINGS) }
    }

    pub(super) fn shape(&self) -> Shape {
        match below(100, self.owner, 0) {
            0..72 => Shape::Plain,
            72..82 => Shape::Sidecar,
            82..95 => Shape::Daemon,
            _ => Shape::Job,
        }
    }

    pub(super) fn namespace(&self) -> &'static str {
        pick(&NAMESPACES, self.owner, 1)
    }

    /// Writes the value of a slot of a template. Returns false if there is no such slot.
    pub(super) fn write(&self, slot: &str, out: &mut String) -> bool {
        let second = self.created();
        match slot {
            "namespace" => out.push_str(self.namespace()),
            "team" => out.push_str(pick(&TEAMS, self.owner, 2)),
            "app" => self.write_app(out),
            "owner" => {
                self.write_app(out);
                out.push('-');
                write_letters(mixed(self.owner, 3), 10, out);
            }
            "hash" => write_letters(mixed(self.owner, 3), 10, out),
            "run" => write_number(29_453_760 + below(100_000, self.owner, 4), out),
            "component" => out.push_str(pick(&ROLES, self.owner, 6)),
            // The factor is coprime to the number of suffixes, so that each index below that number has its
            // own suffix.
            "suffix" => write_letters((self.index % SUFFIXES * 5_000_011) % SUFFIXES, 5, out),
            "token" => write_letters(mixed(self.own, 5), 5, out),
            "uid" => write_uid(self.own, out),
            "owner_uid" => write_uid(self.owner, out),
            "version" => write_number(self.index.saturating_add(1_000_000), out),
            "created" => write_time(second, out),
            "started" => write_time(second + 1 + below(9, self.own, 6) as i64, out),
            "ready" => write_time(second + 12 + below(40, self.own, 7) as i64, out),
            "rolled" => write_time(self.rolled(), out),
            "node" => self.write_node(out),
            "host_ip" => write_address([10, 0, (self.node() >> 8) as u8, self.node() as u8], out),
            "pod_ip" => write_address(
                [10, ((self.index >> 16) as u8).wrapping_add(64), (self.index >> 8) as u8, self.index as u8],
                out,
            ),
            "tag" => self.write_tag(out),
            "cpu" => out.push_str(CPU[below(4, self.owner, 8) as usize]),
            "cpu_limit" => out.push_str(CPU[below(4, self.owner, 8) as usize + 2]),
            "memory" => out.push_str(MEMORY[below(4, self.owner, 9) as usize]),
            "memory_limit" => out.push_str(MEMORY[below(4, self.owner, 9) as usize + 2]),
            "restarts" => write_number(below(40, self.own, 10).saturating_sub(36), out),
            "config_sum" => write_hex(self.owner ^ 1, out),
            "digest" => write_hex(self.owner ^ 3, out),
            "container" => write_hex(self.own ^ 4, out),
            "init_container" => write_hex(self.own ^ 5, out),
            "proxy_container" => write_hex(self.own ^ 6, out),
            "env" => self.write_variables(out),
            "env_fields" => self.write_variable_fields(out),
            _ => return false,
        }
        true
    }

    fn write_app(&self, out: &mut String) {
        match self.shape() {
            Shape::Daemon => out.push_str(pick(&AGENTS, self.owner, 5)),
            Shape::Plain | Shape::Sidecar | Shape::Job => {
                out.push_str(pick(&SUBJECTS, self.owner, 5));
                out.push('-');
                out.push_str(pick(&ROLES, self.owner, 6));
            }
        }
    }

    fn write_tag(&self, out: &mut String) {
        let part = |limit, index| below(limit, self.owner, index);
        let _ = write!(out, "{}.{}.{}", part(9, 11), part(40, 12), part(20, 13));
    }

    fn rolled(&self) -> i64 {
        START + below(80 * 86_400, self.owner, 14) as i64
    }

    fn created(&self) -> i64 {
        self.rolled() + below(3 * 86_400, self.own, 15) as i64
    }

    fn node(&self) -> u64 {
        let (objects, nodes) = BLOCK;
        self.index / objects * nodes + below(nodes, self.own, 16)
    }

    fn write_node(&self, out: &mut String) {
        let zone = [b'a', b'b', b'c'][(self.node() % 3) as usize];
        let _ = write!(out, "node-{:05}.zone-{}.example.internal", self.node(), char::from(zone));
    }

    /// Returns the variables of the owner's containers: their names and the prefixes of their values.
    fn variables(&self) -> impl Iterator<Item = (&'static str, &'static str)> {
        let count = match self.shape() {
            Shape::Plain | Shape::Sidecar | Shape::Job => 3 + below(7, self.owner, 17),
            Shape::Daemon => 5 + below(8, self.owner, 17),
        };
        let first = below(VARIABLES.len() as u64, self.owner, 18);
        (first..first + count).map(|at| VARIABLES[(at % VARIABLES.len() as u64) as usize])
    }

    fn write_variables(&self, out: &mut String) {
        for (place, (name, value)) in self.variables().enumerate() {
            let comma = if place == 0 { "" } else { "," };
            // Every fifth variable is read from a secret.
            let _ = match place % 5 {
                4 => {
                    let team = pick(&TEAMS, self.owner, 2);
                    let key = "\"valueFrom\":{\"secretKeyRef\":{\"key\"";
                    write!(
                        out,
                        "{comma}{{\"name\":\"{name}\",{key}:\"{name}\",\"name\":\"{team}-secrets\"}}}}}}"
                    )
                }
                _ => write!(out, "{comma}{{\"name\":\"{name}\",\"value\":\"{value}\"}}"),
            };
        }
    }

    fn write_variable_fields(&self, out: &mut String) {
        for (place, (name, _)) in self.variables().enumerate() {
            let comma = if place == 0 { "" } else { "," };
            let source = match place % 5 {
                4 => "\"f:valueFrom\":{\".\":{},\"f:secretKeyRef\":{}}",
                _ => "\"f:value\":{}",
            };
            let _ = write!(
                out,
                "{comma}\"k:{{\\\"name\\\":\\\"{name}\\\"}}\":{{\".\":{{}},\"f:name\":{{}},{source}}}"
            );
        }
    }
}

fn write_number(number: u64, out: &mut String) {
    let _ = write!(out, "{number}");
}

fn write_letters(mut bits: u64, count: usize, out: &mut String) {
    for _ in 0..count {
        out.push(ALPHABET[(bits % 27) as usize].into());
        bits /= 27;
    }
}

fn write_uid(bits: u64, out: &mut String) {
    let more = mixed(bits, 19);
    let _ = write!(
        out,
        "{:08x}-{:04x}-4{:03x}-a{:03x}-{:012x}",
        bits >> 32,
        bits >> 16 & 0xffff,
        more >> 52,
        bits & 0xfff,
        more & 0xffff_ffff_ffff
    );
}

fn write_hex(bits: u64, out: &mut String) {
    for part in 0..4 {
        let _ = write!(out, "{:016x}", mixed(bits, part));
    }
}

fn write_time(second: i64, out: &mut String) {
    let time = Timestamp::from_second(second).unwrap_or(Timestamp::UNIX_EPOCH);
    let _ = write!(out, "{time}");
}

fn write_address(parts: [u8; 4], out: &mut String) {
    let [a, b, c, d] = parts;
    let _ = write!(out, "{a}.{b}.{c}.{d}");
}
