//! What the server keeps for ranks: keys with values.

use std::collections::HashMap;

use super::fences::Fence;
use super::{MAXES, PmiLine, Server, failure, success};

/// What the server keeps for one rank, in bytes: keys with values, the groups of barriers that it
/// opened; and as much for the names that it published.
pub(super) const KEPT_MAX_BYTES: usize = 1 << 20;

/// Bytes that an entry takes besides its texts, about.
const ENTRY_BYTES: usize = 64;

/// Texts by name, each with the rank of this host that it is kept for, if there is one.
pub(super) type KeptTexts = HashMap<String, (String, Option<u32>)>;

pub(super) fn entry_bytes(key: &str, value: &str) -> usize {
    key.len() + value.len() + ENTRY_BYTES
}

pub(super) fn too_much() -> String {
    format!("the launcher keeps at most {KEPT_MAX_BYTES} bytes for a rank")
}

impl Server {
    /// Counts `bytes` more for `rank`; whether it may have them.
    pub(super) fn keep(&mut self, rank: u32, bytes: usize) -> bool {
        let kept_bytes = &mut self.ranks[rank as usize].kept_bytes;
        let is_allowed = *kept_bytes + bytes <= KEPT_MAX_BYTES;
        *kept_bytes += if is_allowed { bytes } else { 0 };
        is_allowed
    }

    pub(super) fn release(&mut self, rank: u32, bytes: usize) {
        let kept_bytes = &mut self.ranks[rank as usize].kept_bytes;
        *kept_bytes = kept_bytes.saturating_sub(bytes);
    }

    pub(super) fn put(&mut self, rank: u32, key: String, value: String) -> PmiLine {
        if key.len() > MAXES[1] as usize || value.len() > MAXES[2] as usize {
            return failure("put_result", "the key or the value is too long");
        }
        if key.starts_with("PMI_") {
            return failure("put_result", "keys that start with PMI_ are reserved");
        }
        let program = self.programs(rank);
        if self.spans_hosts() {
            // A value that is refused leaves the one that the key had.
            self.fresh.entry(program).or_default().insert(key.clone());
        }
        if !self.keep(rank, entry_bytes(&key, &value)) {
            return failure("put_result", &too_much());
        }
        let values = self.values.entry(program).or_default();
        let old = values.get(&key).map(|(old, owner)| (*owner, entry_bytes(&key, old)));
        values.insert(key, (value, Some(rank)));
        if let Some((Some(owner), old_bytes)) = old {
            self.release(owner, old_bytes);
        }
        success("put_result")
    }

    pub(super) fn get(&self, rank: u32, key: &str) -> PmiLine {
        if key == "PMI_process_mapping" {
            return match &self.mapping {
                Some(mapping) => success("get_result").text("value", mapping),
                None => failure("get_result", "it would be longer than any value"),
            };
        }
        let values = self.values.get(&self.programs(rank));
        match values.and_then(|values| values.get(key)) {
            Some((value, _)) => success("get_result").text("value", value),
            None => failure("get_result", "no such key"),
        }
    }

    /// Forgets the values of programs before `oldest`.
    pub(super) fn forget_values(&mut self, oldest: u32) {
        self.fresh.retain(|number, _| *number >= oldest);
        let old = self.values.extract_if(|number, _| *number < oldest);
        let old: Vec<_> = old.flat_map(|(_, texts)| texts).collect();
        for (key, (text, owner)) in old {
            if let Some(owner) = owner {
                self.release(owner, entry_bytes(&key, &text));
            }
        }
    }

    /// The pairs that ranks of this host have put since the last fence of all ranks. Those of a fence
    /// of some ranks come again: other hosts have not received them.
    pub(super) fn fresh_pairs(&mut self, program: u32, is_world: bool) -> Vec<u8> {
        let keys = match is_world {
            true => self.fresh.remove(&program).unwrap_or_default(),
            false => self.fresh.get(&program).cloned().unwrap_or_default(),
        };
        let values = self.values.get(&program);
        let mut pairs = Vec::new();
        for key in keys {
            if let Some((value, _)) = values.and_then(|values| values.get(&key)) {
                Fence::push_pair(&mut pairs, &key, value);
            }
        }
        pairs
    }

    /// Keeps the pairs of other hosts.
    pub(super) fn accept_pairs(&mut self, fence: &Fence) -> Result<(), String> {
        let pairs = fence.pairs()?;
        for (key, value) in pairs {
            let fresh = self.fresh.get(&fence.program);
            if fresh.is_some_and(|fresh| fresh.contains(key)) {
                // A rank of this host has put another value since.
                continue;
            }
            let values = self.values.entry(fence.program).or_default();
            let known = values.get(key).map(|(old, owner)| (old == value, *owner, old.len()));
            if let Some((true, ..)) = known {
                continue;
            }
            values.insert(key.to_owned(), (value.to_owned(), None));
            if let Some((_, Some(owner), old_len)) = known {
                self.release(owner, key.len() + old_len + ENTRY_BYTES);
            }
        }
        Ok(())
    }
}
