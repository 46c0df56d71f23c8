//! The expected result of a collective operation: the bytes of each rank, and the ranks that must
//! have entered before a rank may leave. Computed by running the schedules one message at a time.

use std::collections::HashMap;

use mpi_abi::offload::{Buffer, Region, Schedule, StepAction};

/// The positions of a rank's buffers in its memory.
#[derive(Clone, Debug, Default)]
pub struct Layout {
    buffers: Vec<(Buffer, usize)>,
}

impl Layout {
    /// All buffers that the steps of `schedule` use; those of the caller come first.
    fn new(schedule: &Schedule) -> Self {
        let mut ends: HashMap<Buffer, usize> = HashMap::new();
        for step in schedule.steps() {
            let (read, written) = step.action.regions();
            for region in [read, written].into_iter().flatten().filter(|region| region.len > 0) {
                let end = ends.entry(region.buffer).or_default();
                *end = region.end().max(*end);
            }
        }
        let mut buffers: Vec<_> = ends.into_iter().collect();
        buffers.sort_by_key(|&(buffer, _)| buffer);
        Self { buffers }
    }

    /// All buffers, and the bytes of each.
    pub fn buffers(&self) -> impl Iterator<Item = (Buffer, std::ops::Range<usize>)> + '_ {
        let mut start = 0;
        self.buffers.iter().map(move |&(buffer, len)| {
            start += len;
            (buffer, start - len..start)
        })
    }

    /// The number of bytes.
    pub fn len(&self) -> usize {
        self.buffers.iter().map(|(_, len)| len).sum()
    }

    /// The number of bytes of the caller.
    pub fn user_len(&self) -> usize {
        let is_user = |buffer: &Buffer| matches!(buffer, Buffer::User(_));
        self.buffers.iter().filter(|(buffer, _)| is_user(buffer)).map(|(_, len)| len).sum()
    }

    /// The bytes of a region.
    ///
    /// # Panics
    /// If there is no such region.
    pub fn place(&self, region: Region) -> std::ops::Range<usize> {
        if region.len == 0 {
            return 0..0;
        }
        let mut start = 0;
        for &(buffer, len) in &self.buffers {
            if buffer == region.buffer {
                assert!(region.end() <= len, "{region:?} leaves its buffer of {len} bytes");
                return start + region.start..start + region.end();
            }
            start += len;
        }
        panic!("there is no buffer {:?}", region.buffer)
    }
}

/// A byte: the initial bytes that were added to make it, by rank and position.
pub type Origins = Vec<(usize, usize)>;

/// The expected state of one rank at the end of an operation.
#[derive(Clone, Debug, Default)]
pub struct Truth {
    /// The memory.
    pub layout: Layout,
    /// The content of the caller's part of the memory.
    pub result: Vec<Origins>,
    /// The ranks that have entered, one bit each.
    pub entered: u32,
}

/// The results of the schedules of ranks `0..schedules.len()`.
///
/// # Panics
/// If they deadlock.
pub fn truth(schedules: &[Schedule]) -> Vec<Truth> {
    let mut ranks: Vec<Rank> = (0..).zip(schedules).map(Rank::new).collect();
    let mut mail = HashMap::new();
    while ranks.iter().any(|rank| !rank.is_over()) {
        let moved = ranks.iter_mut().map(|rank| rank.run(&mut mail)).max();
        assert!(moved == Some(true), "the schedules deadlock");
    }
    ranks.into_iter().map(Rank::end).collect()
}

/// Messages in flight, by sender, receiver and label: bytes, and the ranks that had entered.
type Mail = HashMap<(usize, usize, u16), (Vec<Origins>, u32)>;

struct Rank<'a> {
    me: usize,
    schedule: &'a Schedule,
    layout: Layout,
    memory: Vec<Origins>,
    /// For each completed step, the ranks that had entered before its end.
    past: Vec<Option<u32>>,
}

impl<'a> Rank<'a> {
    fn new((me, schedule): (usize, &'a Schedule)) -> Self {
        let layout = Layout::new(schedule);
        let memory = (0..layout.len()).map(|at| vec![(me, at)]).collect();
        Self { me, schedule, layout, memory, past: vec![None; schedule.steps().len()] }
    }

    fn is_over(&self) -> bool {
        self.past.iter().all(Option::is_some)
    }

    /// Runs the steps that may run; true if there were any.
    fn run(&mut self, mail: &mut Mail) -> bool {
        let mut moved = false;
        for id in 0..self.past.len() {
            let after = self.schedule.predecessors(id as u32).iter().map(|&before| before as usize);
            let past = after.map(|before| self.past[before]).collect::<Option<Vec<_>>>();
            if let (None, Some(past)) = (self.past[id], past) {
                let past = past.into_iter().fold(1 << self.me, |all, past| all | past);
                self.past[id] = self.step(id, past, mail);
                moved |= self.past[id].is_some();
            }
        }
        moved
    }

    /// Runs a step after `past`, if its message has arrived; returns the ranks that had entered before
    /// its end.
    fn step(&mut self, id: usize, past: u32, mail: &mut Mail) -> Option<u32> {
        match self.schedule.steps()[id].action {
            StepAction::Send { peer, region, label } => {
                let bytes = self.memory[self.layout.place(region)].to_vec();
                mail.insert((self.me, peer as usize, label), (bytes, past));
                Some(past)
            }
            StepAction::Receive { peer, region, label } => {
                let (bytes, others) = mail.remove(&(peer as usize, self.me, label))?;
                self.memory[self.layout.place(region)].clone_from_slice(&bytes);
                Some(past | others)
            }
            StepAction::Copy { from, to } => {
                let bytes = self.memory[self.layout.place(from)].to_vec();
                self.memory[self.layout.place(to)].clone_from_slice(&bytes);
                Some(past)
            }
            StepAction::Reduce { from, into } => {
                let (from, into) = (self.layout.place(from), self.layout.place(into));
                for (from, into) in from.zip(into) {
                    let more = self.memory[from].clone();
                    self.memory[into].extend(more);
                    self.memory[into].sort_unstable();
                }
                Some(past)
            }
        }
    }

    fn end(self) -> Truth {
        let entered = self.past.iter().flatten().fold(1 << self.me, |all, past| all | past);
        let result = self.memory[..self.layout.user_len()].to_vec();
        Truth { layout: self.layout, result, entered }
    }
}
