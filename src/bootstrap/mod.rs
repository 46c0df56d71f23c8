//! Wire-up: how a process learns who it is and what its peers published (PMI).
