//! Formats and destinations of the output of ranks.

use std::fs;
use std::path::Path;

use super::harness::{Outcome, folder, mpirun, run, start};

/// Prints two lines and a partial one, each with the rank, to both streams.
const PRINT: &str =
    "r=$PMI_RANK; echo out$r; echo err$r >&2; echo; printf part$r; printf end$r >&2";

/// Runs `options -n 2 sh -c script` in `folder`.
fn printed(folder: &Path, options: &[&str], script: &str) -> Outcome {
    let words = [options, &["-n", "2", "sh", "-c", script]].concat();
    let mut command = mpirun(&words);
    command.current_dir(folder);
    start(command).wait()
}

fn sorted(text: &str) -> Vec<&str> {
    let mut lines: Vec<_> = text.lines().collect();
    lines.sort_unstable();
    lines
}

/// Path and text of each file below `folder`, sorted.
fn files(folder: &Path) -> Vec<(String, String)> {
    let (mut found, mut pending) = (Vec::new(), vec![folder.to_owned()]);
    while let Some(path) = pending.pop() {
        match fs::read_dir(&path) {
            Ok(entries) => pending.extend(entries.map(|entry| entry.unwrap().path())),
            Err(_) => {
                let name = path.strip_prefix(folder).unwrap().to_str().unwrap().to_owned();
                found.push((name, fs::read_to_string(&path).unwrap()));
            }
        }
    }
    found.sort();
    found
}

#[test]
fn every_line_has_its_prefix() {
    let here = folder("launch-prefix");
    for (options, output, error) in [
        (&["-l"][..], "[#] ", "[#] "),
        (&["-prepend-rank"], "[#] ", "[#] "),
        (&["-prepend-pattern", "%r%%%g,%p>"], "#%0,0>", "#%0,0>"),
        (&["--tag-output"], "[1,#]<stdout>: ", "[1,#]<stderr>: "),
        (&["--output", "tag"], "[1,#]<stdout>: ", "[1,#]<stderr>: "),
        (&["--output", "rank,raw"], "[#]<stdout>: ", "[#]<stderr>: "),
        (&["-l", "--output=rank"], "[#]<stdout>: [#] ", "[#]<stderr>: [#] "),
    ] {
        let outcome = printed(&here, options, PRINT);
        let expected = |prefix: &str, texts: &[&str]| {
            let line =
                |text: &&str| ["0", "1"].map(|rank| format!("{prefix}{text}").replace('#', rank));
            let mut lines: Vec<_> = texts.iter().flat_map(line).collect();
            lines.sort_unstable();
            lines
        };
        let lines = expected(output, &["out#", "", "part#"]);
        assert_eq!(sorted(outcome.text()), lines, "{options:?}");
        assert_eq!(sorted(&outcome.stderr), expected(error, &["err#", "end#"]), "{options:?}");
        assert!(outcome.stdout.ends_with(b"\n") && outcome.code == Some(0), "{options:?}");
    }
}

#[test]
fn prefixes_have_the_time_the_host_and_the_process() {
    // A digit matches any number of digits, a letter any word.
    let shape = |line: &str| {
        let mut shape = String::new();
        for letter in line.chars() {
            let letter = match letter {
                '0'..='9' => '0',
                'a'..='z' | 'A'..='Z' => 'a',
                other => other,
            };
            if !(shape.ends_with(letter) && letter.is_alphanumeric()) {
                shape.push(letter);
            }
        }
        shape.replace("  ", " ")
    };
    let here = folder("launch-prefix-shape");
    for (options, expected) in [
        (&["--timestamp-output"][..], "[a a 0 0:0:0 0]<a>: a"),
        (&["--output", "timestamp,tag"], "[a a 0 0:0:0 0][0,0]<a>: a"),
        (&["-prepend-timestamp"], "0-0-0 0:0:0 : a"),
        (&["-prepend-pattern", "%t|"], "0-0-0 0:0:0|a"),
    ] {
        let outcome = printed(&here, options, "echo x");
        assert_eq!(outcome.lines().len(), 2);
        for line in outcome.lines() {
            assert_eq!(shape(line), expected, "{line}");
        }
    }
    let outcome = printed(&here, &["--output", "tag-detailed"], "echo $(uname -n):$$");
    for line in outcome.lines() {
        let (prefix, process) = line.split_once("]<stdout>: ").unwrap();
        assert!(prefix.ends_with(process), "{line}");
    }
    let outcome = printed(&here, &["--output", "tag-fullname"], "echo $PMI_RANK");
    let job = |line: &&str| line.split_once(',').unwrap().0.to_owned();
    assert_eq!(job(&outcome.lines()[0]), job(&outcome.lines()[1]));
}

#[test]
fn merged_output_keeps_its_order() {
    let here = folder("launch-merge");
    let script = "i=0; while [ $i -lt 50 ]; do echo o$i; echo e$i >&2; i=$((i+1)); done";
    for option in ["--merge-stderr-to-stdout", "--output=merge"] {
        let outcome = printed(&here, &[option, "-l"], script);
        assert_eq!(outcome.stderr, "");
        for rank in ["[0] ", "[1] "] {
            let lines = outcome.text().lines().filter_map(|line| line.strip_prefix(rank));
            let expected = (0..50).flat_map(|number| [format!("o{number}"), format!("e{number}")]);
            assert!(lines.eq(expected), "{}", outcome.text());
        }
    }
    let outcome = printed(&here, &["--output", "merge,tag"], "echo o; echo e >&2");
    let lines = ["[1,0]<stderr>: e", "[1,0]<stdout>: o", "[1,1]<stderr>: e", "[1,1]<stdout>: o"];
    assert_eq!(outcome.lines(), lines);
}

#[test]
fn a_delayed_line_continues_without_a_second_prefix() {
    let here = folder("launch-late");
    let asking = mpirun(&["-l", "-n", "1", "sh", "-c", "printf 'name? '; read x; echo; echo b"]);
    let outcome = start(asking).wait();
    assert_eq!(outcome.text(), "[0] name? \n[0] b\n");
    // Rank 0 prints a prompt; once it is written, rank 1 prints a line, and then rank 0 continues.
    let script = "case $PMI_RANK in
        0) printf 'name? '; until [ -e said ]; do sleep 0.01; done; echo me;;
        1) until [ -e asked ]; do sleep 0.01; done; echo x;; esac";
    let mut command = mpirun(&["-l", "-n", "2", "sh", "-c", script]);
    command.current_dir(&here);
    let running = start(command);
    running.until_output(|text| (text == "[0] name? ").then_some(()));
    fs::write(here.join("asked"), "").unwrap();
    running.until_output(|text| (text == "[0] name? \n[1] x\n").then_some(()));
    fs::write(here.join("said"), "").unwrap();
    assert_eq!(running.wait().text(), "[0] name? \n[1] x\n[0] me\n");
}

#[test]
fn all_bytes_pass_unchanged_after_prefixes() {
    let script = r"printf '\033[1mbold\033[0m\000\377\n\r\n'";
    let outcome = run(&["-l", "-n", "1", "sh", "-c", script]);
    assert_eq!(outcome.stdout, b"[0] \x1b[1mbold\x1b[0m\0\xff\n[0] \r\n");
}

#[test]
fn files_have_the_expected_output() {
    let (out, err) = ("out#\n\npart#", "err#\nend#");
    let tagged = "[#] out#\n[#] \n[#] part#\n";
    // Options, the names and texts of the files, how often the terminal has each line.
    for (options, names, copies) in [
        (
            &["-outfile-pattern", "o/%r.%g.%p", "-errfile-pattern", "e.%r"][..],
            &[("e.#", err), ("o/#.0.0", out)][..],
            0,
        ),
        (&["-l", "-outfile-pattern=o.%r"], &[("o.#", tagged)], 0),
        (&["--output", "file=a/F"], &[("a/F.#.err", err), ("a/F.#.out", out)], 1),
        (&["--output-filename", "F,x:nocopy"], &[("F,x.#.err", err), ("F,x.#.out", out)], 0),
        (&["--output", "dir=D"], &[("D/1/rank.#/stderr", err), ("D/1/rank.#/stdout", out)], 1),
        (
            &["--output", "dir=D:nojobid", "--output", "nocopy"],
            &[("D/rank.#/stderr", err), ("D/rank.#/stdout", out)],
            0,
        ),
    ] {
        let here = folder("launch-files");
        let outcome = printed(&here, options, PRINT);
        assert_eq!(outcome.code, Some(0), "{options:?}: {}", outcome.stderr);
        let expected = names.iter().flat_map(|(name, text)| {
            ["0", "1"].map(|rank| (name.replace('#', rank), text.replace('#', rank)))
        });
        let mut expected: Vec<_> = expected.collect();
        expected.sort();
        assert_eq!(files(&here), expected, "{options:?}");
        assert_eq!(outcome.text().matches("out1").count(), copies, "{options:?}");
    }
}

#[test]
fn a_file_of_several_ranks_has_whole_lines_and_no_old_content() {
    let here = folder("launch-one-file");
    fs::write(here.join("all"), "old").unwrap();
    let options = ["-outfile-pattern", "all", "-errfile-pattern", "all"];
    let script = "i=0; while [ $i -lt 100 ]; do printf o; echo o; echo ee >&2; i=$((i+1)); done";
    assert_eq!(printed(&here, &options, script).code, Some(0));
    let text = fs::read_to_string(here.join("all")).unwrap();
    let count = |wanted: &str| text.lines().filter(|line| *line == wanted).count();
    assert_eq!((count("oo"), count("ee"), text.lines().count()), (200, 200, 400));
}

#[test]
fn a_file_that_cannot_be_written_is_named() {
    let here = folder("launch-bad-file");
    fs::write(here.join("file"), "").unwrap();
    for (pattern, why) in [
        (".", "cannot write .: Is a directory"),
        ("file/%r", "cannot write file/0: directory file: File exists"),
        ("/proc/no/%r", "cannot write /proc/no/0: "),
    ] {
        let outcome = printed(&here, &["-outfile-pattern", pattern], "echo started >&2");
        assert_eq!(outcome.code, Some(1));
        assert!(outcome.stderr.contains(why), "{}", outcome.stderr);
        assert_eq!(outcome.stderr.lines().count(), 1, "a rank was started");
    }
    let options = ["-outfile-pattern", "/dev/full"];
    let outcome = printed(&here, &options, "echo x; sleep 600");
    assert_eq!(outcome.code, Some(1));
    let why = "mpirun: cannot write /dev/full: No space left";
    assert!(outcome.stderr.starts_with(why), "{}", outcome.stderr);
}

#[test]
fn output_may_be_restricted_to_one_rank() {
    let outcome = printed(&folder("launch-only"), &["-output-from", "1", "-l"], PRINT);
    assert_eq!(sorted(outcome.text()), ["[1] ", "[1] out1", "[1] part1"]);
    assert_eq!(sorted(&outcome.stderr), ["[1] end1", "[1] err1"]);
}

#[test]
fn unknown_formats_are_refused() {
    for (options, why) in [
        (&["--output", "tags"][..], "--output tags: unknown"),
        (&["--output", "xml"], "--output xml: is not supported; use tag"),
        (&["--xml"], "--xml is not supported"),
        (&["--output", "dir"], "expected a name"),
        (&["--output", "dir=a,file=b"], "two different files"),
        (&["-prepend-pattern", "%z"], "%z: unknown"),
        (&["-outfile-pattern", "100%"], "% at the end"),
        (&["-output-from", "x"], "-output-from x: expected a rank"),
        (&["--stdin", "some"], "--stdin some: expected all, none"),
        (&["-s", "0,2"], "--stdin 2: the highest rank is 1"),
    ] {
        let outcome = printed(&folder("launch-no-form"), options, "echo started");
        assert_eq!((outcome.code, outcome.text()), (Some(2), ""), "{options:?}");
        assert!(outcome.stderr.contains(why), "{options:?}: {}", outcome.stderr);
    }
}
