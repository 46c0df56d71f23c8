//! `mpirun`: arguments, placement, spawning, output, reaping.
