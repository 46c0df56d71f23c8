//! A program as the rows of a table, as in Morie et al. (`compile`), tables 2, 4 and 5.
//!
//! If the writes of an interface always add 1 to a counter at the target, any other number needs a
//! separate addition. Only then a put is two rows: the data (*DAT*) and its arrival (*RTE*, ready to
//! exit).
//!
//! This module knows no text except the names of operations; `suiro-sim` draws the tables.

use crate::offload::program::{CounterAdd, CounterId, Program, ProgramOp, Scheme};

/// The operation of a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RowOperation {
    /// Writes to memory of the peer, then adds to its counter.
    Write,
    /// Adds to a counter of the peer, which may be this rank.
    RemoteAdd,
    /// Adds to a counter of this rank.
    Add,
    /// Copies within this rank.
    Copy,
    /// Requests a reduction from the host.
    Host,
    /// Computes a reduction.
    Combine,
    /// Completes the instance.
    Complete,
}

impl RowOperation {
    /// The name in libfabric, extended as the paper proposes; `None` if there is none.
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

/// The purpose of a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// Ready-to-receive, or a message of no bytes.
    Signal,
    /// The data of a message.
    Data,
    /// The arrival of all data.
    Exit,
    /// Visible to this rank only.
    Local,
    /// The end of the instance.
    Finish,
}

/// A row: an operation that starts at a level of a counter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TableRow {
    /// The purpose.
    pub purpose: Purpose,
    /// The round of the schedule; for the end, one more than the last.
    pub round: u32,
    /// The index of its level among the levels that this rank waits for, from 1: "R" in the paper.
    pub step: u32,
    /// The counter of this rank that the row waits for.
    pub(crate) waits: CounterId,
    /// The level that the row waits for.
    pub threshold: u64,
    /// The operation.
    pub operation: RowOperation,
    /// The addition to a counter; 0 for none.
    pub increment: i64,
    /// The rank of the counter or memory.
    pub peer: u32,
    /// The counter of the peer.
    pub counter: CounterId,
    /// The number of moved bytes.
    pub bytes: usize,
}

/// The form of a put.
#[derive(Clone, Copy, PartialEq, Eq)]
enum PutForm {
    /// Data and an addition of any number.
    Together,
    /// Data and an addition of 1; nothing adds another number.
    Ones,
    /// Data and a separate addition.
    Apart,
}

/// The rows of the program of `rank`, in the order in which they start without early arrivals.
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

/// Adds the one or two rows of an operation.
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
            // A write of no bytes adds 1, too.
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
        // The paper lowers a counter by a remote addition.
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
