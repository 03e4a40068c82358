//! The table of targets.

use crate::{
    command, file_names, frames, history, keys, lists, objects, protobuf, query, saved, selectors, status,
};

/// A decoder of untrusted bytes.
#[derive(Clone, Copy, Debug)]
pub struct Target {
    /// The name, also of its directory in the corpus.
    pub name: &'static str,
    /// Accepts any bytes, and panics if a check fails.
    pub check: fn(&[u8]),
    /// Parts of the format, which mutations insert.
    pub words: &'static [&'static [u8]],
    /// The limit of allocated bytes.
    pub memory: Memory,
}

/// The limit of allocated bytes.
#[derive(Clone, Copy, Debug)]
pub struct Memory {
    /// The constant part.
    pub base: usize,
    /// The bytes per byte of input.
    pub factor: usize,
}

impl Memory {
    /// Returns the limit for an input of this length.
    #[must_use]
    pub fn allowed(self, length: usize) -> usize {
        self.base + self.factor * length
    }
}

const JSON: &[&[u8]] = &[
    b"{",
    b"}",
    b"[",
    b"]",
    b"\"",
    b"\\",
    b":",
    b",",
    b"\n",
    b"\r\n",
    b"null",
    b"true",
    b"-1",
    b"0",
    b"1e999",
    b"18446744073709551616",
    b"-9223372036854775809",
    b"0.1",
    b"01",
    b"\\u0000",
    b"\\ud800",
    b"\\u0069tems",
    b"\xff",
    b"\xef\xbb\xbf",
    b"\"metadata\":",
    b"\"managedFields\":",
    b"\"name\":",
    b"\"namespace\":",
    b"\"resourceVersion\":",
    b"\"items\":[",
    b"\"type\":\"ADDED\"",
    b"\"object\":",
    b"\"continue\":",
    b"\"kind\":\"Status\"",
    b"{\"a\":",
    b"\"remainingItemCount\":-1",
    b"\"labels\":{",
    b"\"data\":",
    b"{}",
    b"[]",
    b"\"code\":410",
    b"\"details\":",
];

const PROTOBUF: &[&[u8]] = &[
    b"k8s\0",
    b"\x0a",
    b"\x12",
    b"\x1a",
    b"\xff\xff\xff\xff\x0f",
    b"\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01",
    b"\x80",
    b"\x0b",
    b"\x0c",
    b"\0\0\0\x01",
    b"\x7f\xff\xff\xff",
    b"\xff\xff\xff\xff",
    b"\x08\x01",
    b"\x0d\0\0\0\0",
    b"\x0a\x02v1\x12\x03Pod",
    b"ADDED",
    b"\xe2\x01",
    b"\x0a\x00",
    b"\x12\x00",
];

const QUERY: &[&[u8]] = &[
    b"&",
    b"=",
    b"%",
    b"%ff",
    b"%00",
    b"+",
    b"watch=1",
    b"limit=-1",
    b"limit=18446744073709551615",
    b"continue=",
    b"resourceVersion=",
    b"resourceVersionMatch=Exact",
    b"sendInitialEvents=true",
    b"allowWatchBookmarks=true",
    b"timeoutSeconds=",
    b"labelSelector=",
    b"fieldSelector=",
    b"shardSelector=",
    b"a%3Db",
];

const SELECTOR: &[&[u8]] = &[
    b",",
    b"=",
    b"==",
    b"!=",
    b"!",
    b" in ",
    b" notin ",
    b"(",
    b")",
    b" > ",
    b" < ",
    b"\\",
    b"\\,",
    b"\\=",
    b"/",
    b"a",
    b"metadata.name=",
    b"shardRange(object.metadata.uid,'0x0','0x8')",
    b"||",
    b"'",
    b"0x",
    b"\xc3\xa4",
    b"\0",
];

const RECORDS: &[&[u8]] = &[
    b"\x01",
    b"\x02",
    b"\x03",
    b"\x04",
    b"\x05",
    b"\x06",
    b"\x07\x01",
    b"\xff\xff\xff\xff\x0f",
    b"\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01",
    b"\x80\x80\x80\x20",
    b"\x28\xb5\x2f\xfd",
    b"\x01a\0\0\x01\0\0",
];

const TERMINAL: &[&[u8]] = &[
    b"\x1b[2J",
    b"\x1b]0;x\x07",
    b"\xc2\x9b31m",
    b"\x7f",
    b"\r",
    b"\n",
    b"\t",
    b"\xe2\x80\xae",
    b"\xe2\x80\x8b",
    b"\xef\xbb\xbf",
    b"\xf3\xa0\x81\x81",
    b"\xe2\x81\xa6",
    b"\xe2\x80\xa8",
    b"\xd8\x9c",
    b"\\u001b",
    b"\\",
    b"\"",
    b"\xf0\x9f\x98\x80",
];

const WORDS: &[&[u8]] = &[
    b"1h30m",
    b"500ms",
    b"s",
    b".",
    b"1e9",
    b"-1",
    b"18446744073709551615",
    b"pods=",
    b"widgets=7",
    b",",
    b"=",
    b"[{\"fault\":\"answer\",\"code\":503,\"verb\":\"list\"}]",
    b"\"times\":2",
    b"\"resource\":\"pods\"",
    b"inf",
    b"nan",
    b"\xc3\xa4",
];

const TIMES: &[&[u8]] = &[
    b"2026-10-25",
    b"2026-10-25 02:30",
    b"2026-03-29T02:30:00",
    b"T",
    b"Z",
    b"+02",
    b"-10m",
    b"now",
    b":",
    b"-",
    b"9999-12-31",
    b"-9999-01-01",
    b"24:00",
    b"23:59:60",
    b".999999999",
    b"[Europe/Berlin]",
    b"20GB",
    b"Ki",
    b"18446744073709551615",
    b"configmaps:/data/*",
    b"/",
    b"~1",
    b"\xe2\x80\xae",
];

const NAMES: &[&[u8]] = &[
    b"\0",
    b".",
    b"/",
    b"pods",
    b"pods.v1",
    b"deployments.v1.apps",
    b"\"verbs\":[\"list\",\"watch\"]",
    b"\"kind\":\"APIGroupDiscoveryList\"",
    b"\"shortNames\":[\"po\"]",
    b"\"categories\":[\"all\"]",
    b"\"singularResource\":\"pod\"",
    b"\\u001b[2J",
    b"\"\"",
    b"null",
    b"all",
];

const PATHS: &[&[u8]] = &[
    b"/",
    b"\\",
    b"..",
    b".",
    b"../",
    b"\0",
    b"%",
    b"%2f",
    b"~",
    b"C:",
    b"nul",
    b"pods",
    b".apps",
    b"\xc3\xa4",
    b"A",
    b"\n",
];

const OBJECTS: &[&[u8]] = &[
    b"\0{\"metadata\":{}}",
    b"\"metadata\":{\"name\":\"a\"}",
    b"\"status\":{\"containerStatuses\":[{\"name\":\"a\",\"state\":{\"waiting\":{\"reason\":\"b\"}}}]}",
    b"\"restartCount\":18446744073709551615",
    b"\"conditions\":[{\"type\":\"a\",\"status\":\"b\"}]",
    b"\"spec\":{\"replicas\":1}",
    b"\"data\":{\"a\":\"b\"}",
    b"\\u001b[2J",
    b"\\n",
    b"\\u202e",
    b"\"name\":",
    b"null",
    b"{}",
    b"[]",
    b"1e999",
    b"[{\"a\":[",
];

/// A JSON tree is many times larger than its text: a map with one member has room for eleven.
const TREE: Memory = Memory { base: 1 << 20, factor: 512 };
/// An element of a list needs two bytes of protobuf, and up to two thousand as a struct or a tree; targets have three at a time.
const ELEMENTS: Memory = Memory { base: 1 << 20, factor: 8192 };
/// Some copies of the text.
const TEXT: Memory = Memory { base: 1 << 20, factor: 64 };
/// A payload may expand to 64 MiB, and zstd needs buffers.
const FILE: Memory = Memory { base: 160 << 20, factor: 64 };

/// Two trees and their lines, which are indented by their depth.
const SHOWN: Memory = Memory { base: 1 << 20, factor: 4096 };

const fn target(
    name: &'static str,
    check: fn(&[u8]),
    words: &'static [&'static [u8]],
    memory: Memory,
) -> Target {
    Target { name, check, words, memory }
}

/// All targets.
pub const TARGETS: [Target; 21] = [
    target("json_frames", frames::json, JSON, TREE),
    target("protobuf_frames", frames::protobuf, PROTOBUF, ELEMENTS),
    target("json_lists", lists::json, JSON, TREE),
    target("protobuf_lists", lists::protobuf, PROTOBUF, ELEMENTS),
    target("json_objects", objects::json, JSON, TREE),
    target("protobuf_objects", protobuf::objects, PROTOBUF, ELEMENTS),
    target("status", status::bodies, JSON, TREE),
    target("query", query::strings, QUERY, TEXT),
    target("selectors", selectors::texts, SELECTOR, TEXT),
    target("keys", keys::texts, QUERY, TEXT),
    target("file_names", file_names::texts, PATHS, TEXT),
    target("saved_files", saved::files, RECORDS, FILE),
    target("saved_records", saved::records, RECORDS, FILE),
    target("history_files", history::files, RECORDS, FILE),
    target("history_records", history::records, RECORDS, FILE),
    target("history_indexes", history::indexes, RECORDS, FILE),
    target("command_text", command::text, TERMINAL, TEXT),
    target("command_words", command::words, WORDS, TREE),
    target("command_times", command::times, TIMES, TREE),
    target("command_names", command::names, NAMES, TREE),
    target("command_objects", command::objects, OBJECTS, SHOWN),
];

/// Returns the target with this name.
#[must_use]
pub fn named(name: &str) -> Option<&'static Target> {
    TARGETS.iter().find(|target| target.name == name)
}
