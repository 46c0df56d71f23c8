# Small limits, full and missing file systems, streams, and many jobs in a row. Sourced by scripts/faults.
# shellcheck shell=bash disable=SC2034,SC2154

fault F8 file-systems 1 1 round 120000 "full and read-only /tmp and /dev/shm, no /proc/sys, no /sys, a full disk for output and for files" \
    "the job runs, or one clear line says why not"
play_file_systems() {
    rust_tests faults::read_only_full_and_missing_file_systems_do_not_matter \
        faults::a_full_file_system_is_an_error_of_all_ranks_that_access_a_file
    cluster 4 || return
    only="a full disk" outputs_failed
}

fault F9 limits 1 1 round 120000 "RLIMIT_NOFILE, RLIMIT_AS, RLIMIT_MEMLOCK, RLIMIT_STACK, RLIMIT_NPROC" \
    "the job runs, or a line names the limit; no part of it is left"
play_limits() {
    rust_tests faults::small_limits_suffice_or_are_named several_hosts::limits_of_hosts_are_checked_before_the_start
    cluster 1 || return
    local enough program
    program=$(compiled tests/data/allreduce.c) || exit
    # The limit on processes is not one for root.
    on node1 setpriv --reuid=65534 --regid=65534 --clear-groups test -x "$program" -a -x "$bin/mpirun" ||
        { say skip "no other user can run programs of this folder"; return; }
    for enough in 1 3 4 5 6 8 16 64; do
        on node1 setpriv --reuid=65534 --regid=65534 --clear-groups bash -c "ulimit -u $enough; exec \"\$@\"" - \
            "$bin/mpirun" -n 3 "$program" 5 >"$T/out" 2>"$T/err" </dev/null &
        job=$!
        limited_end $enough
    done
}

# limited_end PROCESSES: the job has run, or one line names the limit of processes.
limited_end() {
    local wrong=
    strike wait_job 25000
    nothing_left 5000 "${all_nodes[@]}"
    if [ "$code" = 0 ]; then
        [ "$(grep -c finished "$T/out")" = 3 ] || wrong+=" code 0, but: $(head -c 300 "$T/out");"
    else
        [ "$code" != hangs ] || wrong+=" hangs;"
        grep -q "Resource temporarily unavailable" "$T/err" || wrong+=" no line names the reason;"
        [ "$(wc -l <"$T/err")" -le 6 ] || wrong+=" too many lines;"
    fi
    verdict "ulimit -u $1: code $code" "$wrong"
    echo "note ulimit -u $1: $code"
}

fault F17 jobs-in-a-row 100 10000 jobs 500 "jobs one after the other, all of them with the same process ids" \
    "each of them succeeds and leaves no file"
play_jobs_in_a_row() {
    SUIRO_JOBS=$count rust_tests faults::consecutive_jobs_are_independent
    cluster 1 || return
    local program wrong=''
    program=$(compiled tests/data/allreduce.c) || exit
    # shellcheck disable=SC2016 # The shell of the host expands it.
    on node1 bash -c 'for ((job = 0; job < $1; job++)); do
            echo 1000 >/proc/sys/kernel/ns_last_pid || exit 9
            "$2" -n 3 "$3" 2 >"$4" 2>&1 </dev/null || exit
            [ "$(grep -c finished "$4")" = 3 ] || exit 8
        done' - "$count" "$bin/mpirun" "$program" "$T/out" || wrong=" ends with $?: $(head -c 500 "$T/out")"
    strike true
    nothing_left 5000 "${all_nodes[@]}"
    verdict "$count jobs with the same process ids" "$wrong"
}

fault F18 streams 32 1024 MiB 2000 \
    "much input and output, a terminal, closed streams, full devices, readers that go away" \
    "every byte is exact; the job ends, with a line where it fails"
play_streams() {
    SUIRO_STREAM_MIB=$count rust_tests streams::much_input_arrives_from_files_and_pipes_at_one_and_at_all \
        streams::much_output_is_unchanged streams::a_keyboard_is_read_by_the_selected_ranks \
        streams::closed_streams_are_empty_or_discard streams::an_output_without_a_reader_ends_the_job_silently \
        streams::a_full_output_is_reported streams::a_full_standard_error_is_reported_on_standard_output \
        streams::a_standard_error_without_a_reader_ends_the_job_silently \
        streams::a_terminal_that_nobody_drains_does_not_keep_the_job_from_ending
}

fault - spawns 100 1000 spawns 4000 "processes are spawned and disconnected in a row, on one host and on two" \
    "every message is right; memory grows by 1 MiB at most and no descriptor is left, in parent and mpirun"
play_spawns() {
    cluster 2 || return
    local program hosts wrong
    program=$(compiled tests/faults/spawns.c) || exit
    for hosts in node1:1 node1:1,node2:1; do
        # Of two hosts, the parent is on the second, and so its mpirun is an agent.
        start -host $hosts -n 1 "$program" "$count"
        strike wait_job $((count * 1500 + 30000))
        wrong=
        nothing_left 5000 "${all_nodes[@]}"
        [ "$code" = 0 ] || wrong+=" code $code;"
        grep -Eqx "spawns = $count, right = $count, mpirun = [1-9], memory = [0-9]{1,3} KiB, descriptors = 0" \
            "$T/out" || wrong+=" $(head -c 300 "$T/out");"
        verdict "$count spawns, $hosts" "$wrong"
        echo "note $hosts: $(cut -d, -f4,5 "$T/out")"
    done
}
