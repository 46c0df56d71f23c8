//! A program as the rows of a table, as in Morie et al. (`compile`), tables 2, 4 and 5.
//!
//! An interface whose writes add 1 to a counter at the target and no other number needs a separate
//! addition for anything else; so there, and there only, a put is two rows: the data (*DAT*), and
//! the word that it is there (*RTE*, ready to exit).
//!
//! It knows no text but the names of operations; whoever prints a table draws its lines.

use super::{CounterAdd, CounterId, Program, ProgramOp, Scheme};

/// What a row does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RowOperation {
    /// Writes to memory of the peer, then adds the increment to its counter.
    Write,
    /// Adds to a counter of the peer, which may be the rank itself.
    RemoteAdd,
    /// Adds to a counter of this rank.
    Add,
    /// Copies within this rank.
    Copy,
    /// Has the host compute.
    Host,
    /// Computes.
    Combine,
    /// The instance is over.
    Complete,
}

impl RowOperation {
    /// What libfabric calls it, with the addition that the paper asks for; `None` if it has none.
    pub fn libfabric(self) -> Option<&'static str> {
        match self {
            Self::Write | Self::Copy => Some("FI_OP_WRITE"),
            Self::RemoteAdd => Some("FI_OP_REMOTE_CNTR_ADD"),
            Self::Add => Some("FI_OP_CNTR_ADD"),
            Self::Combine => Some("FI_OP_ATOMIC"),
            Self::Host | Self::Complete => None,
        }
    }
}

/// What a row is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// Ready to receive, or nothing but an arrival: a message of no bytes.
    Signal,
    /// The data of a message.
    Data,
    /// All data is there.
    Exit,
    /// Nobody else sees it.
    Local,
    /// The end.
    Finish,
}

/// A row: something to be done once a counter has a level.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TableRow {
    /// What it is for.
    pub purpose: Purpose,
    /// The round of the schedule; of the end, one more than the last.
    pub round: u32,
    /// The place of its level among those that this rank waits for, from 1: the paper's "R".
    pub step: u32,
    /// The counter of this rank that it waits for.
    pub(crate) waits: CounterId,
    /// The level that it waits for.
    pub threshold: u64,
    /// What it does.
    pub operation: RowOperation,
    /// What that adds to a counter, 0 for nothing; below 0 what takes away.
    pub increment: i64,
    /// Whose counter, or memory.
    pub peer: u32,
    /// Which counter of the peer.
    pub counter: CounterId,
    /// How many bytes are moved.
    pub bytes: usize,
}

/// What a put is.
#[derive(Clone, Copy, PartialEq, Eq)]
enum PutForm {
    /// Data and an addition of any number.
    Together,
    /// Data and an addition of 1, and no other number is added anywhere.
    Ones,
    /// Data, and an addition by itself.
    Apart,
}

/// The rows of the program of `rank`, in the order in which they start if nothing is early.
pub fn rows(program: &Program, rank: u32) -> Vec<TableRow> {
    let is_one = |op: &ProgramOp| match op {
        ProgramOp::Put { signal, .. } | ProgramOp::Signal { signal, .. } => signal.value == 1,
        _ => true,
    };
    let form = match program.scheme {
        Scheme::Tank | Scheme::Prematched => PutForm::Together,
        Scheme::Tank1 if program.work().iter().all(|work| is_one(&work.op)) => PutForm::Ones,
        Scheme::Tank1 => PutForm::Apart,
    };
    let mut rows = Vec::new();
    let mut step = 0;
    let mut last = None;
    for work in program.work() {
        let level = (work.counter, work.level);
        step += u32::from(last.replace(level) != Some(level));
        let row = TableRow {
            purpose: Purpose::Local,
            round: work.round,
            step,
            waits: work.counter,
            threshold: work.level,
            operation: RowOperation::Add,
            increment: 0,
            peer: rank,
            counter: 0,
            bytes: 0,
        };
        push(&mut rows, row, &work.op, form);
    }
    rows
}

/// The row, or the two, of an operation.
fn push(rows: &mut Vec<TableRow>, row: TableRow, op: &ProgramOp, form: PutForm) {
    let added = |row: TableRow, add: CounterAdd| TableRow {
        increment: add.value as i64,
        counter: add.counter,
        ..row
    };
    let done = |row: TableRow, add: Option<CounterAdd>| add.map_or(row, |add| added(row, add));
    let next = match *op {
        ProgramOp::Put { to, from, signal, .. } => {
            let data = TableRow { purpose: Purpose::Data, operation: RowOperation::Write, ..row };
            let data = TableRow { peer: to, bytes: from.len, ..data };
            if form != PutForm::Apart {
                added(data, signal)
            } else {
                rows.push(TableRow { counter: signal.counter, ..data });
                let exit =
                    TableRow { purpose: Purpose::Exit, operation: RowOperation::RemoteAdd, ..row };
                added(TableRow { peer: to, ..exit }, signal)
            }
        }
        ProgramOp::Signal { to, signal } => {
            // A write of no bytes adds 1 as well.
            let operation =
                if form == PutForm::Ones { RowOperation::Write } else { RowOperation::RemoteAdd };
            added(TableRow { purpose: Purpose::Signal, operation, peer: to, ..row }, signal)
        }
        ProgramOp::Copy { from, done: add, .. } => {
            done(TableRow { operation: RowOperation::Copy, bytes: from.len, ..row }, add)
        }
        ProgramOp::Host { done: add, .. } => {
            done(TableRow { operation: RowOperation::Host, ..row }, add)
        }
        ProgramOp::Combine { from, done: add, .. } => {
            done(TableRow { operation: RowOperation::Combine, bytes: from.len, ..row }, add)
        }
        // The paper lowers a counter as it adds to that of another rank.
        ProgramOp::Add(add) if (add.value as i64) < 0 => {
            let row =
                TableRow { purpose: Purpose::Finish, operation: RowOperation::RemoteAdd, ..row };
            added(row, add)
        }
        ProgramOp::Add(add) => added(row, add),
        ProgramOp::Complete => {
            TableRow { purpose: Purpose::Finish, operation: RowOperation::Complete, ..row }
        }
    };
    rows.push(next);
}
