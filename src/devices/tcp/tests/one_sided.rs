//! One-sided access over connections that are cut, to ranks that compute, and from ranks that break the
//! rules.

use proptest::prelude::*;

use super::access_frame::{AccessBody, AccessFrame};
use super::access_target::AccessTarget;
use super::*;
use crate::device::rma::{
    MemoryKey, MemoryTable, NumberKind, PutSignal, RemoteAccess, RemoteAddress, Rma, RmaError,
    Update, UpdateExecutor,
};
use platform::sys::tcp::SendPart;

const LEN: usize = 100_000;
const NUMBER: NumberKind = NumberKind::Unsigned8;

fn poll_all(ranks: &mut [Tcp]) {
    ranks.iter_mut().for_each(|rank| {
        rank.poll(&mut conformance::Ignore);
    });
}

#[track_caller]
fn flush(ranks: &mut [Tcp]) -> Result {
    let begin = Instant::now();
    loop {
        if let Some(end) = ranks[0].flush(1) {
            return end;
        }
        assert!(begin.elapsed() < LIMIT, "no end");
        poll_all(ranks);
    }
}

/// Memory of rank 1, and its key.
fn register(rank: &mut Tcp, memory: &mut [u8]) -> (MemoryKey, Span) {
    // SAFETY: it stays until the end of the test, which looks at it by the span.
    let span = unsafe { Span::of(memory) };
    (rank.register(span, RemoteAccess::ReadWrite).unwrap(), span)
}

#[test]
fn every_access_takes_place_once_over_connections_that_are_cut() {
    for crypt in [CryptMode::Auth, CryptMode::Full] {
        let settings = TcpSettings { crypt, ..TcpSettings::default() };
        let mut ranks = connected(2, &settings);
        let (mut memory, mut mine) = (vec![0; LEN], vec![7; 2 * LEN]);
        let (key, remote) = register(&mut ranks[1], &mut memory);
        let (_, mine) = register(&mut ranks[0], &mut mine);
        let (from, into) = (mine.part(0, LEN - 8), mine.part(LEN, LEN - 8));
        let at = |offset| RemoteAddress { peer: 1, key, offset };
        let (mut random, mut additions, mut cuts) = (Random::new(3), 0_u64, 0);
        let begin = Instant::now();
        while additions < 300 {
            assert!(begin.elapsed() < LIMIT, "no progress after {cuts} cuts");
            let len = random.below(LEN as u64 - 8) as usize;
            let accepted = match random.below(6) {
                0 => ranks[0].put(from.part(0, len), at(8)),
                1 => ranks[0].get(at(8), into.part(0, len)),
                _ => ranks[0].update(at(0), NUMBER, Update::Add(1), Span::EMPTY).inspect(|()| {
                    additions += 1;
                }),
            };
            assert!(matches!(accepted, Ok(()) | Err(RmaError::Busy)), "{accepted:?}");
            if random.one_in(40)
                && let Some(connection) =
                    ranks[0].links[1].as_mut().and_then(|link| link.connection())
            {
                connection.cut();
                cuts += 1;
            }
            if random.one_in(2) {
                poll_all(&mut ranks);
            }
        }
        ranks[0].put(from, at(8)).unwrap();
        ranks[0].get(at(8), into).unwrap();
        flush(&mut ranks).unwrap();
        let mut bytes = vec![0; LEN];
        remote.read(0, &mut bytes);
        assert!(cuts > 3, "{cuts} cuts");
        assert_eq!(u64::from_ne_bytes(*bytes.first_chunk().unwrap()), additions);
        assert!(bytes[8..].iter().all(|byte| *byte == 7));
        into.read(0, &mut bytes[8..]);
        assert!(bytes[8..].iter().all(|byte| *byte == 7));
    }
}

#[test]
fn an_owner_that_does_not_poll_answers_later() {
    let mut ranks = connected(2, &TcpSettings::default());
    let mut memory = [0; 8];
    let (key, _) = register(&mut ranks[1], &mut memory);
    assert_eq!(ranks[0].open(1, key).unwrap().executor, UpdateExecutor::Owner);
    let at = RemoteAddress { peer: 1, key, offset: 0 };
    ranks[0].update(at, NUMBER, Update::Add(1), Span::EMPTY).unwrap();
    for _ in 0..100 {
        ranks[0].poll(&mut conformance::Ignore);
        assert!(ranks[0].flush(1).is_none() && ranks[0].quiescence().is_none());
    }
    flush(&mut ranks).unwrap();
}

#[test]
fn a_put_to_memory_that_is_not_registered_any_more_writes_nothing_there() {
    let mut ranks = connected(2, &TcpSettings::default());
    let (mut memory, mut mine) = (vec![0; 4 << 20], vec![7; 4 << 20]);
    let (key, remote) = register(&mut ranks[1], &mut memory);
    let (_, mine) = register(&mut ranks[0], &mut mine);
    ranks[0].put(mine, RemoteAddress { peer: 1, key, offset: 0 }).unwrap();
    let mut first = [0];
    let begin = Instant::now();
    while first == [0] {
        assert!(begin.elapsed() < LIMIT, "no byte");
        poll_all(&mut ranks);
        remote.read(0, &mut first);
    }
    ranks[1].deregister(key);
    let mut before = vec![0; 4 << 20];
    remote.read(0, &mut before);
    let error = flush(&mut ranks).unwrap_err();
    assert_eq!(error.code.0, ErrorClass::RmaRange as i32, "{error}");
    let mut after = vec![0; 4 << 20];
    remote.read(0, &mut after);
    assert!(before == after && after.contains(&0));
}

#[test]
fn a_rank_that_sends_accesses_without_a_meaning_is_expelled() {
    let mut ranks = connected(3, &TcpSettings::default());
    let mut memory = [0; 8];
    let (key, _) = register(&mut ranks[2], &mut memory);
    let link = ranks[1].links[0].as_mut().unwrap();
    link.queue.push(FrameClass::Access, &Header { kind: 77, ..Header::default() }, 0, 0, |_| {});
    ranks[1].write(0, false);
    let mut ledgers: [Ledger; 3] = Default::default();
    poll_until(&mut ranks, &mut ledgers, |_, ledgers| !ledgers[0].failed.is_empty());
    let (peer, why) = &ledgers[0].failed[0];
    assert!(*peer == 1 && why.contains("without a meaning"), "{why}");
    // The others go on.
    let at = RemoteAddress { peer: 2, key, offset: 0 };
    ranks[0].update(at, NUMBER, Update::Add(1), Span::EMPTY).unwrap();
    poll_until(&mut ranks, &mut ledgers, |ranks, _| ranks[0].one_sided.is_idle());
    assert!(ranks[0].flush(2).is_some_and(|end| end.is_ok()));
}

/// Bytes of each of the memories of a target.
const FUZZ_LEN: usize = 64;

fn requests() -> impl Strategy<Value = AccessFrame<Vec<u8>>> {
    let key = (0_u64..4).prop_map(MemoryKey);
    let offset = prop_oneof![0_u64..80, any::<u64>()];
    let data = proptest::collection::vec(1_u8.., 0..20);
    let signal = proptest::option::of((key.clone(), offset.clone(), any::<u64>()));
    let update = (0_u8..48, any::<[u64; 2]>())
        .prop_filter_map("no update", |(code, operands)| Update::of_code(code, operands));
    let place = (key, offset.clone());
    prop_oneof![
        (place.clone(), data.clone()).prop_map(|((key, offset), data)| AccessFrame::Put {
            key,
            offset,
            data
        }),
        (place.clone(), offset.clone(), signal).prop_map(|((key, offset), len, signal)| {
            let signal = signal.map(|(key, offset, addend)| PutSignal { key, offset, addend });
            AccessFrame::BeginPut { key, offset, len, signal }
        }),
        data.clone().prop_map(AccessFrame::PutData),
        (place.clone(), offset).prop_map(|((key, offset), len)| AccessFrame::Get {
            key,
            offset,
            len
        }),
        (place, update).prop_map(|((key, offset), (update, kind))| {
            AccessFrame::Update { key, offset, kind, update }
        }),
        any::<u64>().prop_map(AccessFrame::Completed),
        data.prop_map(AccessFrame::GetData),
    ]
}

proptest! {
    /// Whatever a peer sends, only bytes that are registered for writes change, and no answer has
    /// bytes of others.
    #[test]
    fn any_requests_keep_within_what_is_registered(
        frames in proptest::collection::vec(requests(), 1..60),
    ) {
        let mut bytes = [0_u8; 3 * FUZZ_LEN + 8];
        // SAFETY: not used otherwise to the end.
        let all = unsafe { Span::of(&mut bytes) };
        // Key 1 is for writes, at any alignment; key 2 is read-only; the rest belongs to nobody.
        let (open, closed) = (all.part(FUZZ_LEN + 4, FUZZ_LEN), all.part(0, FUZZ_LEN));
        let mut memory = MemoryTable::default();
        memory.insert(MemoryKey(1), open, RemoteAccess::ReadWrite);
        memory.insert(MemoryKey(2), closed, RemoteAccess::Read);
        let mut target = AccessTarget::default();
        for frame in &frames {
            let (header, body) = frame.clone().emit();
            let bytes = match body {
                AccessBody::Numbers(bytes, len) => {
                    bytes[..len].to_vec()
                }
                AccessBody::Data(data) => data,
            };
            let frame = AccessFrame::parse(&header, &bytes).unwrap();
            let _ = target.take(frame, &memory);
            target.next_frame(&memory, |answer| {
                if let AccessFrame::GetData(SendPart::Memory(data)) = answer {
                    assert!([open, closed].iter().any(|it| it.overlaps(data)));
                    assert!(data.len() <= FUZZ_LEN);
                }
            });
        }
        let mut after = [0; 3 * FUZZ_LEN + 8];
        all.read(0, &mut after);
        prop_assert!(after[..FUZZ_LEN + 4].iter().chain(&after[2 * FUZZ_LEN + 4..]).all(|it| *it == 0));
    }
}
