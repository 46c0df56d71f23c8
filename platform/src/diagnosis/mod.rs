//! Why a job does not go on: reports of waiting calls, the graph of waits between ranks, and the table in
//! shared memory through which ranks and launcher exchange reports.

pub mod status;
pub mod status_table;
pub mod wait_graph;
pub mod wait_report;
