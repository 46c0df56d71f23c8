//! IMPI at the edge of the engine: the packets of the engine to and from processes of other clients as
//! packets of IMPI (Interoperable Message Passing Interface, version 0.0, NIST 2000).
//!
//! ```text
//!   engine                              IMPI
//!   Eager                          <->  DATA, the whole message
//!   Rts, first bytes of the data   <->  DATASYNC, at most `data_len` bytes
//!   Cts, Fin                       <->  SYNCACK
//!   Data                           <->  DATA with the receiver's request
//!   Credit, to the sender          <--  PROTOACK
//!   Hold, Resume                   -->  no PROTOACK, PROTOACK
//!   Cancel, CancelReply            <->  CANCEL, CANCELYES or CANCELNO
//! ```
//!
//! A device is blind to the packets that it carries. The translator sends and polls like a
//! [`Device`](crate::device::Device), but reads them; the [mesh](crate::devices::impi) below carries packets of IMPI and
//! knows no engine. It knows the number of each process of the world as a peer, and no communicator: a
//! context is IMPI's context id as it is, because contexts of two jobs never collide, and that of
//! `MPI_COMM_WORLD` is 0 for its messages and 1 for its collective operations, as IMPI has them.
//!
//! IMPI's flow control takes the place of the engine's: a process may send so many packets before the
//! other acknowledges them. A process whose unexpected messages fill its memory withholds acknowledgements
//! while it waits for nothing that the others still have to send.

mod cancels;
pub(crate) mod places;
pub(crate) mod requests;
pub(crate) mod translator;
