//! Threads that do the work of file operations for calls that do not wait.
//!
//! A thread starts when work comes that no idle one takes, up to [`THREADS_MAX`], and ends when nothing has
//! come for a while. So requests complete while the application computes, in all progress modes.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::{Condvar, Mutex};

use crate::mpi::file::Executor;
use crate::mpi::file::access::Transfer;
use crate::mpi::file::operation::{FileOperationId, FileWork};
use crate::process::{Process, ProcessMpi, ProcessState};
use platform::sys::process::THREAD_NAME;
use platform::sys::signals;

/// More threads do not write faster: the system writes to one file one after the other.
const THREADS_MAX: usize = 4;

/// How long a thread without work stays.
const IDLE_TIME: Duration = Duration::from_millis(200);

struct FilePool {
    process: &'static Process,
    queue: Mutex<PoolQueue>,
    work_came: Condvar,
}

#[derive(Default)]
struct PoolQueue {
    work: VecDeque<(FileOperationId, FileWork)>,
    threads: usize,
    idle: usize,
}

/// The handle that files have.
struct SharedPool(Arc<FilePool>);

impl Executor for SharedPool {
    fn submit(&self, operation: FileOperationId, work: FileWork) -> Option<FileWork> {
        let mut queue = self.0.queue.lock();
        queue.work.push_back((operation, work));
        if queue.work.len() <= queue.idle || queue.threads >= THREADS_MAX {
            self.0.work_came.notify_one();
            return None;
        }
        let pool = Arc::clone(&self.0);
        let thread = std::thread::Builder::new().name(format!("{THREAD_NAME}files"));
        match signals::without(|| thread.spawn(move || pool.serve())) {
            Ok(_) => queue.threads += 1,
            // A running thread takes it, if there is one.
            Err(error) => tracing::warn!(%error, "no thread for a file"),
        }
        if queue.threads > 0 { None } else { queue.work.pop_back().map(|(_, work)| work) }
    }
}

impl FilePool {
    fn serve(&self) {
        let mut queue = self.queue.lock();
        loop {
            if let Some((operation, mut work)) = queue.work.pop_front() {
                drop(queue);
                let transfer = work.run();
                drop(work);
                self.process.end_file_work(operation, transfer);
                queue = self.queue.lock();
                continue;
            }
            queue.idle += 1;
            let is_late = self.work_came.wait_for(&mut queue, IDLE_TIME).timed_out();
            queue.idle -= 1;
            if is_late && queue.work.is_empty() {
                queue.threads -= 1;
                return;
            }
        }
    }
}

impl Process {
    /// Lets calls that do not wait have their work done.
    pub(crate) fn have_file_executor(&'static self, mpi: &mut ProcessMpi) {
        if !mpi.files.has_executor() {
            let (queue, work_came) = (Mutex::default(), Condvar::new());
            let pool = FilePool { process: self, queue, work_came };
            mpi.files.set_executor(Arc::new(SharedPool(Arc::new(pool))));
        }
    }

    /// Work for an operation is done: the operation goes on, and threads that wait for it wake.
    fn end_file_work(&'static self, operation: FileOperationId, transfer: Transfer) {
        let mut state = self.state.visit();
        let ProcessState::Running(running) = &mut *state else { return };
        let long_starts = running.mpi.engine.long_starts();
        running.mpi.end_file_work(operation, transfer);
        let has_started = running.has_started_work(long_starts);
        let mut wakeups = running.serve_waiters();
        if has_started {
            running.wake_progress_thread(&mut wakeups);
        }
        let needs_thread = has_started && running.progress_thread.is_none();
        running.mpi.engine.wake_self();
        drop(state);
        wakeups.notify_all();
        if needs_thread {
            // Without the thread, messages move inside calls only.
            drop(self.start_progress_thread());
        }
    }
}
