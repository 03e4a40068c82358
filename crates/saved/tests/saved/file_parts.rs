//! An independent implementation of the file format, to create invalid files.

use twox_hash::XxHash3_64;

/// The preamble of a file, its seed and the bodies of its frames.
pub(crate) struct FileParts {
    pub(crate) preamble: Vec<u8>,
    pub(crate) seed: u64,
    pub(crate) bodies: Vec<Vec<u8>>,
}

impl FileParts {
    pub(crate) fn of(file: &[u8]) -> Self {
        let number = |at: usize| u32::from_le_bytes(file[at..at + 4].try_into().unwrap()) as usize;
        let header = number(12);
        let seed = u64::from_le_bytes(file[16 + header..24 + header].try_into().unwrap());
        let mut at = 32 + header;
        let preamble = file[..at].to_vec();
        let mut bodies = Vec::new();
        while at < file.len() {
            let length = number(at);
            bodies.push(file[at + 12..at + 12 + length].to_vec());
            at += 12 + length;
        }
        Self { preamble, seed, bodies }
    }

    /// Encodes a file with valid checksums.
    pub(crate) fn to_file(&self) -> Vec<u8> {
        let mut file = self.preamble.clone();
        for body in &self.bodies {
            let seed = self.seed ^ (file.len() as u64).rotate_left(24) ^ body.len() as u64;
            let hash = XxHash3_64::oneshot_with_seed(seed, body);
            file.extend_from_slice(&u32::try_from(body.len()).unwrap().to_le_bytes());
            file.extend_from_slice(&hash.to_le_bytes());
            file.extend_from_slice(body);
        }
        file
    }
}
