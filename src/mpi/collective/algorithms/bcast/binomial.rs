//! Broadcast along a binomial tree, in segments: the k-nomial tree of radix 2.
//!
//! Cost, for `s` segments: floor(log2 n) + s - 1 rounds; a rank receives the message once, and the
//! root sends it ceil(log2 n) times.

use crate::mpi::collective::algorithms::Bcast;
use crate::mpi::collective::algorithms::algorithm::Algorithm;
use crate::mpi::collective::algorithms::bcast;

pub(crate) const ALGORITHM: Algorithm<Bcast> = Algorithm {
    name: "binomial",
    about: "along a binomial tree, in segments",
    ..bcast::knomial::of_radix::<2>()
};
