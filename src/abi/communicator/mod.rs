//! Communicators, groups and topologies (MPI 5.0, chapters 7 and 8).

pub(crate) mod comm;
pub(crate) mod group;
pub(crate) mod intercomm;
pub(crate) mod split_type;
pub(crate) mod topology;
