//! The WASI handles of an instance, which are charged to its memory.

use wasmtime::component::ResourceTable;

use super::{Amount, MemoryLimit};

/// The most WASI handles that a guest may hold at a time. Language runtimes hold a few dozen.
const MOST: usize = 1_000;

/// Handles are charged for this many at a time.
const STEP: usize = 32;

/// The most handles that one call to the host makes.
const MADE_BY_A_CALL: usize = 4;

/// Bytes of the host for a handle: a stream, a pollable or a timer with their bookkeeping.
const PLAIN: u64 = 1 << 10;

/// Bytes of the host for a handle of `wasi:http`: the headers of a request, or a third of a body. A body takes three handles, which keep
/// two pieces of it.
const HTTP: u64 = 48 << 10;

/// Makes room in the table of handles as it fills, and charges for the room. Without room, the call that makes a handle traps.
pub(crate) struct Handles {
    bytes_each: u64,
    capacity: usize,
    /// Calls until the table may be full. Handles are not counted before.
    calls_left: usize,
}

// === impl Handles ===

impl Handles {
    /// A table without room.
    pub(crate) fn new(http: bool) -> (Self, ResourceTable) {
        let mut table = ResourceTable::new();
        table.set_max_capacity(0);
        (Self { bytes_each: if http { HTTP } else { PLAIN }, capacity: 0, calls_left: 0 }, table)
    }

    /// To be called before each call of the guest to the host.
    pub(crate) fn before_call(&mut self, table: &mut ResourceTable, memory: &mut MemoryLimit) {
        match self.calls_left.checked_sub(1) {
            Some(left) => self.calls_left = left,
            None => self.make_room(table, memory),
        }
    }

    fn make_room(&mut self, table: &mut ResourceTable, memory: &mut MemoryLimit) {
        let held = table.iter_mut().count();
        let step = Amount { bytes: self.bytes_each * STEP as u64, memories: 0 };
        if held + MADE_BY_A_CALL > self.capacity && self.capacity < MOST && memory.charge(step) {
            self.capacity += STEP;
            table.set_max_capacity(self.capacity.min(MOST));
        }
        // The present call is the first of the calls that fit into the room.
        self.calls_left = (self.capacity.saturating_sub(held) / MADE_BY_A_CALL).saturating_sub(1);
    }
}
