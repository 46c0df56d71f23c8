use super::*;

const KILLED: Exit = Exit::Signal(9);

fn job() -> JobState {
    let mut job = JobState::new(JobHosts::one("here".to_owned()), 3);
    for rank in 0..3 {
        job.started(rank, 100 + rank);
    }
    job
}

fn message(actions: &[JobAction]) -> &str {
    match actions {
        [JobAction::Print(line), JobAction::Terminate] => line,
        other => panic!("{other:?} has no message"),
    }
}

fn lost(ranks: &[u32]) -> LostHost<'_> {
    LostHost { name: "there", ranks, hosts_below: 0, ranks_below: &[] }
}

#[test]
fn a_lost_host_ends_the_job_and_is_named_with_its_ranks() {
    let (mut job, now) = (job(), Instant::now());
    let actions = job.agent_lost(lost(&[1, 2]), true, "it is silent", now);
    assert_eq!(message(&actions), "lost host there with ranks 1-2: it is silent; ending the job");
    assert_eq!(job.code(), 137);
    let mut job = self::job();
    let branch = LostHost { hosts_below: 2, ranks_below: &[1, 2], ..lost(&[0]) };
    let actions = job.agent_lost(branch, true, "it is silent", now);
    let line = "lost host there with rank 0 and, behind it, 2 hosts with 2 ranks: it is silent";
    assert!(message(&actions).starts_with(line));
    let mut job = self::job();
    let actions = job.agent_lost(lost(&[1]), false, "no route", now);
    assert!(message(&actions).starts_with("cannot start mpirun's agent on host there: no route"));
    assert_eq!(job.code(), 1);
}

#[test]
fn a_killed_rank_ends_the_job_and_is_named() {
    let (mut job, now) = (job(), Instant::now());
    let actions = job.exited(1, KILLED, None, JoinState::Joined, now);
    assert_eq!(
        message(&actions),
        "rank 1 (process 101 on here) was killed by signal 9 (SIGKILL); \
         ending the other 2 ranks"
    );
    assert_eq!(job.code(), 137);
    assert_eq!(job.exited(2, Exit::Signal(15), None, JoinState::Joined, now), []);
    assert_eq!(job.code(), 137);
}

#[test]
fn the_call_in_which_a_rank_was_killed_is_reported() {
    let (mut job, now) = (job(), Instant::now());
    job.waiting_in(2, "MPI_Recv(source 0)".to_owned());
    let actions = job.exited(2, KILLED, None, JoinState::Joined, now);
    assert!(message(&actions).contains("(SIGKILL) while it waited in MPI_Recv(source 0); ending"));
    let mut job = self::job();
    job.waiting_in(2, "MPI_Recv(source 0)".to_owned());
    let actions = job.exited(1, KILLED, None, JoinState::Joined, now);
    assert!(message(&actions).contains("(SIGKILL); ending"));
}

#[test]
fn a_rank_below_a_shell_is_named_by_its_own_process() {
    let (mut job, now) = (job(), Instant::now());
    let inner = Some((555, KILLED));
    let actions = job.exited(1, Exit::Code(137), inner, JoinState::Joined, now);
    assert!(message(&actions).contains("process 555 on here) was killed by signal 9"));
    assert_eq!(job.code(), 137);
    let (mut job, inner) = (self::job(), Some(KILLED));
    assert!(message(&job.process_gone(1, 555, inner, now)).contains("process 555"));
    assert_eq!(job.code(), 137);
}

#[test]
fn a_rank_that_closes_its_connection_ends_the_job_with_a_hint_at_exec() {
    let (mut job, now) = (job(), Instant::now());
    let actions = job.disconnected(1, 101, now);
    assert!(message(&actions).contains("rank 1 (process 101 on here) closed its connection"));
    assert!(message(&actions).contains("exec?); ending the other 2 ranks"));
    assert_eq!(job.code(), 1);
    assert_eq!(job.exited(1, KILLED, None, JoinState::Joined, now), []);
}

#[test]
fn a_rank_that_was_killed_while_memory_was_scarce_has_a_probable_reason() {
    let (mut job, now) = (job(), Instant::now());
    job.memory_killed(1);
    let actions = job.exited(1, KILLED, None, JoinState::Joined, now);
    let words = "was killed by signal 9 (SIGKILL), probably for lack of memory (since the job \
                 started, the out-of-memory killer of the kernel has ended 1 of the processes";
    assert!(message(&actions).contains(words), "{}", message(&actions));
    let mut job = self::job();
    job.memory_killed(1);
    let actions = job.exited(1, Exit::Signal(11), None, JoinState::Joined, now);
    assert!(!message(&actions).contains("memory"));
}

#[test]
fn leaving_without_finalize_is_a_failure_even_with_code_0() {
    let (mut job, now) = (job(), Instant::now());
    let actions = job.exited(0, Exit::Code(0), None, JoinState::Joined, now);
    assert!(message(&actions).contains("rank 0"));
    assert!(message(&actions).contains("without MPI_Finalize"));
    assert_eq!(job.code(), 1);
}

#[test]
fn a_rank_that_fails_outside_mpi_does_not_end_the_others() {
    let (mut job, now) = (job(), Instant::now());
    assert_eq!(job.exited(2, Exit::Code(0), None, JoinState::NotJoined, now), []);
    assert_eq!(job.exited(0, Exit::Code(2), None, JoinState::NotJoined, now), []);
    assert_eq!(job.exited(1, Exit::Code(3), None, JoinState::Left, now), []);
    assert!(job.is_running());
    assert_eq!(job.code(), 2);
}

#[test]
fn a_signal_after_finalize_is_reported_and_counts() {
    let (mut job, now) = (job(), Instant::now());
    let actions = job.exited(0, Exit::Signal(11), None, JoinState::Left, now);
    assert!(
        matches!(&actions[..], [JobAction::Print(line)] if line.contains("after MPI_Finalize"))
    );
    assert!(job.is_running());
    assert_eq!(job.code(), 139);
}

#[test]
fn the_code_of_an_abort_is_returned_and_never_becomes_success() {
    for (code, expected) in [(42, 42), (0, 0), (256, 255), (-1, 255), (300, 44)] {
        let mut job = job();
        let actions = job.aborted(2, code, Some("too bad"), Instant::now());
        let [JobAction::Print(line)] = &actions[..] else { panic!("{actions:?}") };
        assert!(line.contains("rank 2") && line.ends_with(": too bad"));
        assert_eq!(job.code(), expected, "{code}");
    }
}

#[test]
fn ranks_that_abort_have_a_moment_to_end_by_themselves() {
    let (exit, state) = (Exit::Code(9), JoinState::Joined);
    let (mut job, now) = (job(), Instant::now());
    job.aborted(2, 9, None, now);
    assert_eq!(job.deadline(), Some(now + ABORT_TIMEOUT));
    assert_eq!(job.aborted(1, 8, None, now), []);
    assert_eq!(job.exited(2, exit, None, state, now), []);
    assert_eq!(job.exited(1, exit, None, state, now), [JobAction::Terminate]);
    assert_eq!((job.code(), job.deadline()), (9, Some(now + RANKS_FIRST)));
    let mut late = self::job();
    late.aborted(2, 9, None, now);
    assert_eq!(late.tick(now), []);
    let then = now + ABORT_TIMEOUT;
    assert_eq!(late.tick(then), [JobAction::Terminate]);
    assert_eq!(late.exited(2, exit, None, state, then), []);
    assert_eq!(late.tick(then + RANKS_FIRST), [JobAction::TerminateRest]);
    assert_eq!(late.tick(then + GRACE), [JobAction::Kill]);
    let mut killed = self::job();
    killed.aborted(2, 9, None, now);
    assert_eq!(killed.signalled(2, now), [JobAction::Kill]);
}

#[test]
fn signals_end_the_job_and_a_second_one_kills() {
    let (mut job, now) = (job(), Instant::now());
    assert_eq!(job.signalled(10, now), [JobAction::Forward(10)]);
    assert_eq!(job.signalled(2, now), [JobAction::Terminate]);
    assert_eq!(job.code(), 130);
    assert_eq!(job.signalled(15, now), [JobAction::Kill]);
    assert_eq!(job.code(), 130);
    let mut job = self::job().forwarding(&[2]);
    assert_eq!(job.signalled(2, now), [JobAction::Forward(2)]);
    assert!(job.is_running());
}

#[test]
fn after_the_grace_remaining_processes_are_killed_repeatedly() {
    let (mut job, now) = (job(), Instant::now());
    assert_eq!((job.deadline(), job.tick(now)), (None, vec![]));
    job.signalled(15, now);
    assert_eq!(job.tick(now), []);
    assert_eq!(job.deadline(), Some(now + RANKS_FIRST));
    assert_eq!(job.tick(now + RANKS_FIRST), [JobAction::TerminateRest]);
    assert_eq!(job.deadline(), Some(now + GRACE));
    assert_eq!(job.tick(now + GRACE), [JobAction::Kill]);
    assert!(job.deadline().unwrap() > now + GRACE);
    assert!(!job.kill_timed_out(now + GRACE));
    assert!(job.kill_timed_out(now + GRACE + KILL_TIMEOUT));
}

#[test]
fn an_overdue_job_is_dumped_before_it_is_ended() {
    let now = Instant::now();
    let limit = Duration::from_millis(2500);
    let mut job = job().limited(Some(limit), now);
    assert_eq!((job.deadline(), job.tick(now)), (Some(now + limit), vec![]));
    let line = "the job ran longer than 2.5 s (--timeout); ending it".to_owned();
    assert_eq!(job.tick(now + limit), [JobAction::Print(line), JobAction::Dump { overdue: true }]);
    assert_eq!((job.deadline(), job.tick(now + limit)), (None, vec![]));
    // The grace begins after the dump.
    assert_eq!(job.dumped(now + 2 * limit), [JobAction::Terminate]);
    assert_eq!((job.deadline(), job.code()), (Some(now + 2 * limit + RANKS_FIRST), 124));
}

#[test]
fn output_waits_longest_after_a_failure_and_shortest_after_a_second_signal() {
    let (mut job, now) = (job(), Instant::now());
    assert_eq!(job.output_timeout(), None);
    job.exited(1, KILLED, None, JoinState::Joined, now);
    assert_eq!(job.output_timeout(), Some(FAILED_OUTPUT_TIMEOUT));
    job.signalled(15, now);
    assert_eq!(job.output_timeout(), Some(KILLED_OUTPUT_TIMEOUT));
    let mut job = self::job();
    job.signalled(15, now);
    assert_eq!(job.output_timeout(), Some(ENDED_OUTPUT_TIMEOUT));
}

#[test]
fn a_job_that_ends_in_time_keeps_its_code() {
    let now = Instant::now();
    let mut job = job().limited(Some(GRACE), now);
    job.signalled(15, now);
    assert_eq!(job.tick(now + GRACE), [JobAction::TerminateRest]);
    assert_eq!(job.tick(now + GRACE), [JobAction::Kill]);
    assert_eq!((job.dumped(now), job.code()), (vec![], 143));
    assert_eq!(self::job().limited(Some(Duration::MAX), now).deadline(), None);
}

#[test]
fn lost_output_ends_the_job_as_the_signal_would() {
    let (mut job, now) = (job(), Instant::now());
    assert_eq!(job.output_lost(None, now), [JobAction::Terminate]);
    assert_eq!(job.code(), 141);
    let mut job = self::job();
    assert!(message(&job.output_lost(Some("no space"), now)).contains("no space"));
}

#[test]
fn remaining_processes_are_ended_and_named_if_they_have_output() {
    let (mut job, now) = (job(), Instant::now());
    assert_eq!(job.all_ended(false, now), [JobAction::TerminateRest]);
    assert_eq!((job.code(), job.output_timeout()), (0, None));
    assert_eq!(job.all_ended(true, now), []);
    assert_eq!(self::job().all_ended(true, now), [JobAction::EndLeftovers]);
}

#[test]
fn a_failed_spawned_job_and_the_end_of_the_parent_end_the_job() {
    let (mut job, now) = (job(), Instant::now());
    let actions = job.spawned_failed(0, 77, Exit::Code(3), now);
    let line = "the spawned job 0 (mpirun process 77) ended with code 3; ending the job";
    assert_eq!((message(&actions), job.code()), (line, 3));
    let mut job = self::job();
    assert!(message(&job.spawned_failed(0, 77, KILLED, now)).contains("signal 9 (SIGKILL)"));
    assert_eq!(job.code(), 137);
    let mut job = self::job();
    assert_eq!((job.parent_gone(now), job.code()), (vec![JobAction::Terminate], 143));
    assert_eq!(job.output_timeout(), Some(ENDED_OUTPUT_TIMEOUT));
}

#[test]
fn a_job_that_survives_waits_for_a_rank_that_has_left_mpi_and_lives() {
    let (mut job, now) = (job().surviving(true), Instant::now());
    let actions = job.disconnected(1, 101, now);
    let [JobAction::Print(line)] = &actions[..] else { panic!("{actions:?}") };
    assert!(line.contains("rank 1 (process 101 on here) closed its connection"), "{line}");
    assert!(line.ends_with("; the job goes on without it (--with-ft)"), "{line}");
    for rank in [0, 2] {
        assert_eq!(job.exited(rank, Exit::Code(0), None, JoinState::Left, now), []);
    }
    assert!(!job.have_ranks_ended() && job.is_running());
    assert_eq!(job.exited(1, Exit::Code(3), None, JoinState::Joined, now), []);
    assert!(job.have_ranks_ended());
    assert_eq!(job.code(), 0);
}

#[test]
fn a_job_that_survives_fails_only_without_ranks() {
    let (mut job, now) = (job().surviving(true), Instant::now());
    let actions = job.exited(1, Exit::Signal(9), None, JoinState::Joined, now);
    assert!(matches!(&actions[..], [JobAction::Print(line)] if line.contains("goes on without")));
    job.exited(0, Exit::Code(0), None, JoinState::Left, now);
    assert_eq!((job.is_running(), job.code()), (true, 0));
    job.exited(2, Exit::Code(3), None, JoinState::Left, now);
    assert_eq!(job.code(), 3);
}

#[test]
fn a_job_survives_a_lost_host_once_all_ranks_have_started() {
    let (mut job, now) = (job().surviving(true), Instant::now());
    job.exited(1, KILLED, None, JoinState::Joined, now);
    let actions = job.agent_lost(lost(&[1, 2]), true, "it is silent", now);
    let line =
        "lost host there with ranks 1-2: it is silent; the job goes on without it (--with-ft)";
    assert_eq!(actions, [JobAction::Print(line.to_owned())]);
    job.exited(0, Exit::Code(0), None, JoinState::Left, now);
    assert_eq!((job.is_running(), job.have_ranks_ended(), job.code()), (true, true, 0));
    let mut job = JobState::new(JobHosts::one("here".to_owned()), 2).surviving(true);
    job.started(0, 100);
    let actions = job.agent_lost(lost(&[1]), true, "it is silent", now);
    assert!(message(&actions).ends_with("ending the job"));
}

#[test]
fn a_rank_that_ended_before_mpi_init_ends_the_job() {
    let (mut job, now) = (job(), Instant::now());
    job.exited(0, Exit::Code(0), None, JoinState::NotJoined, now);
    assert!(message(&job.stuck(0, 2, now)).contains("rank 0 ended while rank 2 waits"));
    assert_eq!(job.code(), 1);
}
