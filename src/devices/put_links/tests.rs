//! The links of ranks in this process, over sockets of this host.

use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::os::fd::OwnedFd;
use std::time::Instant;

use super::*;
use crate::device::conformance::TestBuffer;
use crate::device::trigger::CounterKey;

/// The time without progress after which a test fails.
const LIMIT: Duration = Duration::from_secs(60);

/// Registered memory under key 5, and the sum of what was added to counter 9.
struct Place {
    memory: Span,
    counted: Mutex<u64>,
}

impl Landing for Place {
    fn locate(&self, key: MemoryKey, offset: u64, len: usize) -> Result<Option<Span>> {
        let is_inside =
            offset.checked_add(len as u64).is_some_and(|end| end <= self.memory.len() as u64);
        match key {
            MemoryKey(5) if is_inside => Ok(Some(self.memory.part(offset as usize, len))),
            _ => Err(ErrorClass::RmaRange.error(format!("key {:x} was never given", key.0))),
        }
    }

    fn count(&self, signal: Signal) -> Result {
        assert_eq!(signal.counter, CounterKey(9));
        *self.counted.lock() += signal.value;
        Ok(())
    }
}

/// A rank with the actions that have ended and the peers that it has lost.
struct End {
    links: PutLinks,
    place: Place,
    ended: Vec<ActionEnd>,
    lost: Vec<LostLink>,
    news: LinkNews,
}

impl End {
    fn new(me: Peer, memory: &mut TestBuffer) -> Self {
        let links = PutLinks::new(me, 2, true).unwrap();
        let place = Place { memory: memory.span(), counted: Mutex::new(0) };
        Self { links, place, ended: Vec::new(), lost: Vec::new(), news: LinkNews::default() }
    }

    fn look(&mut self) {
        self.links.look(&self.place, &mut self.news);
        self.ended.append(&mut self.news.ended);
        self.lost.append(&mut self.news.lost);
    }

    fn post(&mut self, id: u32, action: InterfaceAction) {
        let id = ActionId(id);
        let end = self.links.post(&DueAction { id, action, engine: 0 });
        self.ended.extend(end.map(|end| (id, end)));
    }

    /// Puts all of `from` to the memory of the other rank.
    fn put(&mut self, id: u32, from: Span) {
        let to = RemoteAddress { peer: 1 - self.links.me, key: MemoryKey(5), offset: 0 };
        let signal = Some(Signal { counter: CounterKey(9), value: 1 << id });
        let action = InterfaceAction::Put { from, to, signal };
        self.post(id, action);
    }
}

/// The two ends of a connection.
fn sockets() -> [StreamConnection; 2] {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let one = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
    [one, listener.accept().unwrap().0].map(|stream| {
        stream.set_nonblocking(true).unwrap();
        OwnedFd::from(stream).into()
    })
}

fn stream(connection: StreamConnection) -> ProvenStream {
    let process = "its process".to_owned();
    ProvenStream { connection, early: Vec::new(), unsent: Vec::new(), process }
}

fn until(ends: &mut [&mut End], is_over: impl Fn(&[&mut End]) -> bool) {
    let begin = Instant::now();
    while !is_over(ends) {
        assert!(begin.elapsed() < LIMIT, "no progress");
        ends.iter_mut().for_each(|end| end.look());
    }
}

#[test]
fn long_puts_cross_while_no_socket_has_room() {
    // Much more than both sockets hold.
    const BYTES: usize = 32 << 20;
    let mut buffers = [0, 0, 1, 2].map(|byte| TestBuffer::new(BYTES, byte));
    let [own, other, from, to] = &mut buffers;
    let (mut one, mut two) = (End::new(0, own), End::new(1, other));
    // The first puts wait for the connection.
    one.put(0, from.span());
    two.put(0, to.span());
    let [left, right] = sockets();
    one.links.desk().open(1, stream(left));
    two.links.desk().open(0, stream(right));
    one.put(1, from.span().part(0, 1));
    one.put(2, Span::EMPTY);
    one.links.leave();
    let counted = |end: &End| *end.place.counted.lock();
    until(&mut [&mut one, &mut two], |ends| counted(ends[0]) == 1 && counted(ends[1]) == 7);
    let ids = |end: &End| end.ended.iter().map(|(id, end)| (id.0, end.is_ok())).collect::<Vec<_>>();
    assert_eq!((ids(&one), ids(&two)), (vec![(0, true), (1, true), (2, true)], vec![(0, true)]));
    for (end, byte) in [(&one, 2), (&two, 1)] {
        let mut bytes = vec![0; BYTES];
        end.place.memory.read(0, &mut bytes);
        assert!(bytes.iter().all(|it| *it == byte));
    }
    drop(one);
    until(&mut [&mut two], |ends| !ends[0].lost.is_empty());
    // It had said that it leaves.
    assert!(!two.lost[0].ends_programs);
    two.put(3, Span::EMPTY);
    assert!(two.ended[1].1.as_ref().is_err_and(|error| error.is(ErrorClass::ProcFailed)));
}

#[test]
fn a_wrong_key_fails_the_peer_and_writes_nothing() {
    let mut buffers = [0, 0, 1].map(|byte| TestBuffer::new(100, byte));
    let [own, other, from] = &mut buffers;
    let (mut one, mut two) = (End::new(0, own), End::new(1, other));
    let [left, right] = sockets();
    one.links.desk().open(1, stream(left));
    two.links.desk().open(0, stream(right));
    let to = RemoteAddress { peer: 1, key: MemoryKey(6), offset: 0 };
    let action = InterfaceAction::Put { from: from.span(), to, signal: None };
    one.post(0, action);
    until(&mut [&mut one, &mut two], |ends| ends.iter().all(|end| !end.lost.is_empty()));
    assert!(two.lost[0].ends_programs && one.lost[0].ends_programs);
    let why =
        "rank 0 of the world has failed: its process breaks the rules (key 6 was never given)";
    assert_eq!(two.lost[0].error.why, why);
    let mut bytes = [9; 100];
    two.place.memory.read(0, &mut bytes);
    assert_eq!((bytes, *two.place.counted.lock()), ([0; 100], 0));
    assert!(two.links.connect(0).is_some_and(|end| end.is_err()));
}

#[test]
fn bytes_without_a_meaning_fail_the_peer() {
    let mut buffer = TestBuffer::new(100, 0);
    let mut end = End::new(1, &mut buffer);
    let [left, right] = sockets();
    let early = vec![0xff; PutFrame::LEN];
    end.links.desk().open(0, ProvenStream { early, ..stream(right) });
    until(&mut [&mut end], |ends| !ends[0].lost.is_empty());
    assert!(end.lost[0].ends_programs && end.lost[0].error.is(ErrorClass::ProcFailed));
    drop(left);
}

#[test]
fn the_end_of_a_process_ends_what_waits_for_it() {
    let mut buffers = [0, 1].map(|byte| TestBuffer::new(32 << 20, byte));
    let [own, from] = &mut buffers;
    let mut end = End::new(0, own);
    let [left, right] = sockets();
    end.links.desk().open(1, stream(left));
    end.put(0, from.span());
    end.put(1, Span::EMPTY);
    end.look();
    drop(right);
    until(&mut [&mut end], |ends| ends[0].ended.len() == 2);
    until(&mut [&mut end], |ends| !ends[0].lost.is_empty());
    assert!(end.ended.iter().all(|(_, end)| end.is_err()) && end.lost[0].ends_programs);
}
