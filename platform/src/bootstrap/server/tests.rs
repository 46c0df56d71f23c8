//! The server of a job on one host.

use super::*;
use proptest::prelude::*;

fn text(event: &ServerEvent) -> (u32, String) {
    match event {
        ServerEvent::Reply { rank, bytes } => (*rank, String::from_utf8(bytes.clone()).unwrap()),
        other => panic!("{other:?} is no reply"),
    }
}

fn answer(server: &mut Server, rank: u32, line: &str) -> String {
    let events = server.receive(rank, format!("{line}\n").as_bytes());
    text(events.last().unwrap()).1.trim_end().to_owned()
}

#[test]
fn init_and_finalize_move_a_rank_through_its_states() {
    let mut server = Server::new("job", &[0, 0]);
    assert_eq!(server.join_state(1), JoinState::NotJoined);
    let events = server.receive(1, b"cmd=init pmi_version=1 pmi_subversion=1\n");
    assert_eq!(events[0], ServerEvent::Joined(1));
    assert_eq!(text(&events[1]).1, "cmd=response_to_init rc=0 pmi_version=1 pmi_subversion=2\n");
    assert_eq!(
        (server.join_state(0), server.join_state(1)),
        (JoinState::NotJoined, JoinState::Joined)
    );
    assert_eq!(answer(&mut server, 1, "cmd=finalize"), "cmd=finalize_ack rc=0");
    assert_eq!(server.join_state(1), JoinState::Left);
    server.receive(1, b"cmd=init pmi_version=1 pmi_subversion=1\n");
    assert_eq!(server.join_state(1), JoinState::Joined);
}

const HELLO: &str = "cmd=init pmi_version=1 pmi_subversion=1 suiro=1";

#[test]
fn a_later_program_has_keys_barriers_and_files_of_its_own() {
    let mut server = Server::new("job", &[0, 0]);
    for rank in 0..2 {
        assert!(!answer(&mut server, rank, HELLO).contains("segment="));
    }
    answer(&mut server, 0, "cmd=put key=a value=old");
    assert_eq!(server.receive(1, b"cmd=barrier_in\n"), []);
    answer(&mut server, 0, "cmd=finalize");
    assert_eq!(server.provide_files(2, ["1:2".to_owned(), "1:3".to_owned()]), 1);
    let line = answer(&mut server, 0, HELLO);
    assert!(line.ends_with(" segment=1:2 interface=1:3"), "{line}");
    assert_eq!((server.programs(0), server.programs(1)), (2, 1));
    assert!(answer(&mut server, 0, "cmd=get key=a").contains("rc=1"));
    assert_eq!(server.receive(0, b"cmd=barrier_in\n"), []);
    answer(&mut server, 0, "cmd=put key=a value=new");
    assert!(answer(&mut server, 1, "cmd=get key=a").ends_with("value=old"));
    answer(&mut server, 1, "cmd=finalize");
    assert!(answer(&mut server, 1, HELLO).ends_with(" segment=1:2 interface=1:3"));
    assert!(answer(&mut server, 1, "cmd=get key=a").ends_with("value=new"));
    assert_eq!(server.receive(1, b"cmd=barrier_in\n").len(), 2);
    assert_eq!(server.provide_files(3, ["1:4".to_owned(), "1:5".to_owned()]), 2);
}

#[test]
fn a_process_that_joins_again_is_no_later_program() {
    let mut server = Server::new("job", &[0]);
    answer(&mut server, 0, HELLO);
    answer(&mut server, 0, "cmd=put key=a value=b");
    answer(&mut server, 0, "cmd=finalize");
    answer(&mut server, 0, &format!("{HELLO} again=1"));
    assert_eq!(server.programs(0), 1);
    assert!(answer(&mut server, 0, "cmd=get key=a").ends_with("value=b"));
}

#[test]
fn a_rank_that_ends_before_a_later_program_is_missed() {
    let mut server = Server::new("job", &[0, 0]);
    for rank in 0..2 {
        answer(&mut server, rank, HELLO);
        answer(&mut server, rank, "cmd=finalize");
    }
    assert_eq!(server.rank_ended(1), []);
    let events = server.receive(0, format!("{HELLO}\n").as_bytes());
    assert_eq!(events[1], ServerEvent::Stuck { ended: 1, waiting: 0 });
}

#[test]
fn another_protocol_is_refused_and_does_not_join() {
    let mut server = Server::new("job", &[0]);
    let line = answer(&mut server, 0, "cmd=init pmi_version=2 pmi_subversion=0");
    assert!(line.starts_with("cmd=response_to_init rc=1"), "{line}");
    assert_eq!(server.join_state(0), JoinState::NotJoined);
}

#[test]
fn values_are_found_by_others() {
    let mut server = Server::new("job", &[0, 1]);
    assert_eq!(answer(&mut server, 0, "cmd=put kvsname=job key=a value=b"), "cmd=put_result rc=0");
    assert_eq!(answer(&mut server, 1, "cmd=get kvsname=job key=a"), "cmd=get_result rc=0 value=b");
    assert!(answer(&mut server, 1, "cmd=get key=c").starts_with("cmd=get_result rc=1"));
    assert!(answer(&mut server, 1, "cmd=put key=PMI_x value=y").contains("rc=1"));
    let long = format!("cmd=put key=a value={}", "v".repeat(1025));
    assert!(answer(&mut server, 1, &long).contains("rc=1"));
    assert_eq!(answer(&mut server, 1, "cmd=get_appnum"), "cmd=appnum rc=0 appnum=1");
    assert_eq!(
        answer(&mut server, 1, "cmd=get key=PMI_process_mapping"),
        "cmd=get_result rc=0 value=(vector,(0,1,2))"
    );
}

#[test]
fn a_port_with_spaces_comes_back_escaped() {
    let mut server = Server::new("job", &[0]);
    answer(&mut server, 0, "cmd=publish_name service=a b port=c d");
    assert_eq!(
        answer(&mut server, 0, "cmd=lookup_name service=a b"),
        "cmd=lookup_result rc=0 port=c\\ d"
    );
    assert_eq!(
        answer(&mut server, 0, "cmd=unpublish_name service=a b"),
        "cmd=unpublish_result rc=0"
    );
    assert!(answer(&mut server, 0, "cmd=lookup_name service=a b").contains("rc=1"));
    assert!(answer(&mut server, 0, "cmd=unpublish_name service=a b").contains("rc=1"));
}

#[test]
fn a_barrier_lets_all_go_when_the_last_comes() {
    let mut server = Server::new("job", &[0, 0, 0]);
    assert_eq!(server.receive(2, b"cmd=barrier_in\n"), []);
    assert_eq!(server.receive(0, b"cmd=barrier_in group=0,1:7\n"), []);
    let pair = server.receive(1, b"cmd=barrier_in group=0,1:7\n");
    assert_eq!(pair.iter().map(text).map(|(rank, _)| rank).collect::<Vec<_>>(), [0, 1]);
    assert_eq!(text(&pair[0]).1, "cmd=barrier_out rc=0 tag=7\n");
    assert_eq!(server.receive(0, b"cmd=barrier_in\n"), []);
    assert_eq!(server.receive(1, b"cmd=barrier_in\n").len(), 3);
    assert_eq!(server.receive(1, b"cmd=barrier_in\n"), []);
}

#[test]
fn a_group_without_the_caller_or_beyond_the_job_is_refused() {
    let mut server = Server::new("job", &[0, 0]);
    assert!(answer(&mut server, 0, "cmd=barrier_in group=1:0").contains("rc=1"));
    assert!(answer(&mut server, 0, "cmd=barrier_in group=0,5:0").contains("rc=1"));
}

#[test]
fn waiting_for_one_that_is_gone_is_noticed_in_either_order() {
    let mut server = Server::new("job", &[0, 0]);
    server.receive(1, b"cmd=barrier_in\n");
    assert_eq!(server.rank_ended(0), [ServerEvent::Stuck { ended: 0, waiting: 1 }]);
    let mut server = Server::new("job", &[0, 0]);
    assert_eq!(server.rank_ended(0), []);
    let events = server.receive(1, b"cmd=barrier_in\n");
    assert_eq!(events, [ServerEvent::Stuck { ended: 0, waiting: 1 }]);
}

#[test]
fn one_that_ends_without_joining_is_missed_by_none_that_counts_on_nobody() {
    let any = b"cmd=init pmi_version=1 pmi_subversion=1 suiro=1 any=1\n";
    let mut server = Server::new("job", &[0, 0, 0]);
    server.receive(1, any);
    assert_eq!(server.rank_ended(0), []);
    assert_eq!(server.receive(2, any).len(), 2);
    let all = b"cmd=init pmi_version=1 pmi_subversion=1 suiro=1\n";
    assert_eq!(server.receive(1, all)[1], ServerEvent::Stuck { ended: 0, waiting: 1 });
}

#[test]
fn one_that_ends_without_joining_is_missed_by_those_who_join_before_or_after() {
    let hello = b"cmd=init pmi_version=1 pmi_subversion=1\n";
    let mut server = Server::new("job", &[0, 0, 0]);
    server.receive(1, hello);
    assert_eq!(server.rank_ended(0), [ServerEvent::Stuck { ended: 0, waiting: 1 }]);
    let mut server = Server::new("job", &[0, 0, 0]);
    assert_eq!(server.rank_ended(2), []);
    assert_eq!(server.receive(1, hello)[1], ServerEvent::Stuck { ended: 2, waiting: 1 });
    let mut server = Server::new("job", &[0, 0]);
    server.receive(1, hello);
    server.receive(0, hello);
    server.receive(0, b"cmd=finalize\n");
    assert_eq!(server.rank_ended(0), []);
}

#[test]
fn an_abort_is_an_event_without_reply() {
    let mut server = Server::new("job", &[0]);
    let events = server.receive(0, b"cmd=abort exitcode=42 message=too bad\n");
    let message = Some("too bad".to_owned());
    assert_eq!(events, [ServerEvent::Aborted { rank: 0, code: 42, message }]);
}

#[test]
fn spawning_is_refused_and_noise_ends_the_conversation() {
    let mut server = Server::new("job", &[0]);
    let refused = answer(&mut server, 0, "mcmd=spawn\nnprocs=1\nexecname=x\nendcmd");
    assert!(refused.starts_with("cmd=spawn_result rc=1"));
    let events = server.receive(0, b"\x00\n");
    assert!(matches!(events[..], [ServerEvent::Broken { rank: 0, .. }]));
}

#[test]
fn what_is_kept_for_a_rank_is_bounded() {
    let mut server = Server::new("job", &[0, 0]);
    let floods: [&dyn Fn(u32) -> String; 3] = [
        &|round| format!("cmd=put key=k{round} value={}", "v".repeat(1000)),
        &|round| format!("cmd=publish_name service=s{round} port={}", "p".repeat(1000)),
        &|round| format!("cmd=barrier_in group=WORLD:t{round}"),
    ];
    for flood in floods {
        let refused = (0..30_000).position(|round| {
            let events = server.receive(0, format!("{}\n", flood(round)).as_bytes());
            events.iter().map(text).any(|(_, line)| line.contains("rc=1 msg=the_launcher_keeps"))
        });
        assert!(refused.is_some());
        // Other ranks are not affected, and what the rank has is still there.
        assert!(answer(&mut server, 1, "cmd=put key=x value=y").contains("rc=0"));
        assert!(answer(&mut server, 1, "cmd=get key=k0").contains("rc=0"));
    }
    let requests = b"mcmd=spawn\nnprocs=1\nexecname=x\nendcmd\n".repeat(1000);
    let events = server.receive(0, &requests);
    let is_report = |event: &&ServerEvent| matches!(event, ServerEvent::Unsupported { .. });
    let reports = events.iter().filter(is_report).count();
    assert_eq!((reports, events.len() - reports), (REPORTED_REFUSALS as usize, 1000));
}

#[test]
fn what_is_replaced_or_released_does_not_count() {
    let mut server = Server::new("job", &[0, 0]);
    for round in 0..2000 {
        let value = "v".repeat(1000 - round % 2);
        for line in [
            format!("cmd=put key=a value={value}"),
            format!("cmd=publish_name scope=any+replaces service=a port={value}"),
            format!("cmd=publish_name service=b port={value}"),
            "cmd=unpublish_name service=b".to_owned(),
        ] {
            assert!(answer(&mut server, 0, &line).contains("rc=0"), "{round}: {line}");
        }
        let line = format!("cmd=barrier_in group=0,1:{value}\n");
        assert_eq!(server.receive(0, line.as_bytes()), []);
        assert_eq!(server.receive(1, line.as_bytes()).len(), 2);
    }
    assert!(server.barriers.is_empty());
}

proptest! {
    #[test]
    fn every_request_with_a_name_gets_one_reply_or_ends_the_rank(
        lines in proptest::collection::vec("cmd=[a-z_]{1,12}( [a-z]{1,6}=[!-~]{0,9}){0,4}", 1..8),
    ) {
        let mut server = Server::new("job", &[0]);
        for line in lines {
            let events = server.receive(0, format!("{line}\n").as_bytes());
            prop_assert!(!events.is_empty());
            if matches!(events.last(), Some(ServerEvent::Broken { .. })) {
                break;
            }
        }
    }
}
