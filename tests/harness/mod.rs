//! Runs `mpirun` under a time limit, and finds remaining processes and files.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

/// Time limit of a run, far above all run times; it ends a test that hangs.
pub const LIMIT: Duration = Duration::from_secs(60);

/// Marks every process below one `mpirun` of one test.
const MARK: &str = "SUIRO_TEST_MARK";

/// Result of a finished `mpirun`.
#[derive(Debug)]
pub struct Outcome {
    /// The exit code; `None` if a signal ended it.
    pub code: Option<i32>,
    pub stdout: Vec<u8>,
    pub stderr: String,
}

impl Outcome {
    pub fn text(&self) -> &str {
        std::str::from_utf8(&self.stdout).unwrap()
    }

    /// The sorted lines of standard output: the order of ranks is not defined.
    pub fn lines(&self) -> Vec<&str> {
        let mut lines: Vec<_> = self.text().lines().collect();
        lines.sort_unstable();
        lines
    }
}

/// A running `mpirun`. Dropping it kills all of its processes.
pub struct Running {
    child: Child,
    mark: String,
    stdout: Option<Collector>,
    stderr: Option<Collector>,
}

/// Reads a stream to its end in a thread.
struct Collector {
    bytes: Arc<Mutex<Vec<u8>>>,
    thread: JoinHandle<()>,
}

/// The folder of the repository, for tests of every package.
pub fn root() -> &'static Path {
    let package = Path::new(env!("CARGO_MANIFEST_DIR"));
    package.ancestors().find(|folder| folder.join("Cargo.lock").exists()).unwrap()
}

/// A program of the workspace, built by `cargo build --workspace` beside the library.
///
/// # Panics
/// If it has not been built.
pub fn built(name: &str) -> String {
    // A test is <profile>/deps/NAME.
    let test = std::env::current_exe().unwrap();
    let program = test.ancestors().nth(2).unwrap().join(name);
    assert!(program.exists(), "{} is missing: cargo build --workspace", program.display());
    program.to_str().unwrap().to_owned()
}

/// The command `mpirun words`, with a unique mark.
pub fn mpirun(words: &[impl AsRef<std::ffi::OsStr>]) -> Command {
    let mut command = marked(&built("mpirun"));
    command.args(words);
    command
}

/// The command `program`, which starts one `mpirun`, with a unique mark.
pub fn marked(program: &str) -> Command {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    let mut command = Command::new(program);
    command.env(MARK, format!("{}.{number}", std::process::id()));
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

/// Runs `mpirun words` until it exits.
pub fn run(words: &[impl AsRef<std::ffi::OsStr>]) -> Outcome {
    start(mpirun(words)).wait()
}

/// Runs `sh -c script` on `count` ranks until the job ends.
pub fn run_shell(count: &str, script: &str) -> Outcome {
    run(&["-n", count, "sh", "-c", script])
}

/// `text` as one word of a shell.
pub fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', r"'\''"))
}

/// Runs `mpirun words` with standard input `input` until it exits.
pub fn run_with_input(words: &[impl AsRef<std::ffi::OsStr>], input: &[u8]) -> Outcome {
    feed(mpirun(words), input)
}

/// Runs a command of [`marked`] with standard input `input` until it exits.
pub fn feed(mut command: Command, input: &[u8]) -> Outcome {
    command.stdin(Stdio::piped());
    let mut running = start(command);
    let mut stdin = running.child.stdin.take().unwrap();
    // An error here means that the reader has exited, which the outcome shows.
    let _ = stdin.write_all(input);
    drop(stdin);
    running.wait()
}

/// Starts a command of [`marked`].
pub fn start(mut command: Command) -> Running {
    let mark = command
        .get_envs()
        .find_map(|(name, value)| (name == MARK).then(|| value.unwrap().to_str().unwrap()))
        .unwrap();
    let mark = format!("{MARK}={mark}");
    let mut child = command.spawn().unwrap();
    let stdout = child.stdout.take().map(Collector::new);
    let stderr = child.stderr.take().map(Collector::new);
    Running { child, mark, stdout, stderr }
}

impl Collector {
    fn new(mut stream: impl Read + Send + 'static) -> Self {
        let bytes = Arc::new(Mutex::new(Vec::new()));
        let sink = bytes.clone();
        let thread = thread::spawn(move || {
            let mut buffer = [0; 4096];
            while let Ok(count @ 1..) = stream.read(&mut buffer) {
                sink.lock().unwrap().extend_from_slice(&buffer[..count]);
            }
        });
        Self { bytes, thread }
    }

    fn finish(self) -> Vec<u8> {
        self.thread.join().unwrap();
        std::mem::take(&mut self.bytes.lock().unwrap())
    }
}

impl Running {
    /// The supervisor process of `mpirun`.
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// The job loop process of `mpirun`.
    pub fn job_loop(&self) -> u32 {
        let below = |pid: &u32| parent(*pid) == Some(self.pid());
        until(|| processes(&self.mark).into_iter().find(below))
    }

    /// Every process of this `mpirun`, including itself.
    pub fn processes(&self) -> Vec<u32> {
        processes(&self.mark)
    }

    /// Waits until `wanted` returns a value for the standard output.
    pub fn until_output<Found>(&self, wanted: impl Fn(&str) -> Option<Found>) -> Found {
        let bytes = &self.stdout.as_ref().unwrap().bytes;
        until(|| wanted(std::str::from_utf8(&bytes.lock().unwrap()).unwrap()))
    }

    /// Waits until `wanted` returns a value for the standard error.
    pub fn until_errors<Found>(&self, wanted: impl Fn(&str) -> Option<Found>) -> Found {
        let bytes = &self.stderr.as_ref().unwrap().bytes;
        until(|| wanted(&String::from_utf8_lossy(&bytes.lock().unwrap())))
    }

    /// The processes of ranks in a role, by rank, once all `size` have joined.
    pub fn joined(&self, size: usize) -> Vec<u32> {
        self.until_output(|text| {
            let number = |word: Option<&str>| word.and_then(|word| word.parse::<u32>().ok());
            let mut ranks: Vec<_> = text
                .lines()
                .filter_map(|line| {
                    let mut words = line.strip_prefix("joined ")?.split(' ');
                    Some((number(words.next())?, number(words.next())?))
                })
                .collect();
            ranks.sort_unstable();
            (ranks.len() == size).then(|| ranks.into_iter().map(|(_, pid)| pid).collect())
        })
    }

    pub fn signal(&self, signal: &str) {
        signal_process(self.pid(), signal);
    }

    /// Waits for the exit and checks that no process or file remains.
    pub fn wait(self) -> Outcome {
        self.wait_from(Instant::now()).1
    }

    /// As [`wait`](Self::wait); also returns the time from `begin` to the exit of the last process.
    pub fn wait_from(mut self, begin: Instant) -> (Duration, Outcome) {
        let status = self.exit();
        self.expect_nothing_left();
        let took = begin.elapsed();
        let stdout = self.stdout.take().map(Collector::finish).unwrap_or_default();
        let stderr = self.stderr.take().map(Collector::finish).unwrap_or_default();
        let stderr = String::from_utf8(stderr).unwrap();
        (took, Outcome { code: status.code(), stdout, stderr })
    }

    fn exit(&mut self) -> ExitStatus {
        let start = Instant::now();
        loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                return status;
            }
            assert!(start.elapsed() < LIMIT, "mpirun did not end:\n{}", self.picture());
            thread::sleep(Duration::from_millis(2));
        }
    }

    /// The running processes at a time-out.
    fn picture(&self) -> String {
        let line = |pid: u32| {
            let words = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
            let words = String::from_utf8_lossy(&words).replace('\0', " ");
            format!("{pid} {:?} below {:?}: {words}\n", state(pid), parent(pid))
        };
        self.processes().into_iter().map(line).collect()
    }

    fn expect_nothing_left(&self) {
        let start = Instant::now();
        while !processes(&self.mark).is_empty() {
            assert!(start.elapsed() < LIMIT, "processes are left:\n{}", self.picture());
            thread::sleep(Duration::from_millis(2));
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
        for pid in processes(&self.mark) {
            signal_process(pid, "KILL");
        }
    }
}

/// Polls until there is a value.
pub fn until<Answer>(mut ask: impl FnMut() -> Option<Answer>) -> Answer {
    let start = Instant::now();
    loop {
        if let Some(answer) = ask() {
            return answer;
        }
        assert!(start.elapsed() < LIMIT, "waited in vain");
        thread::sleep(Duration::from_millis(2));
    }
}

pub fn signal_process(pid: u32, signal: &str) {
    let _ = Command::new("kill")
        .args(["-s", signal, &pid.to_string()])
        .stderr(Stdio::null())
        .status()
        .unwrap();
}

/// The living processes that have `mark` in their environment.
fn processes(mark: &str) -> Vec<u32> {
    let has_mark = |pid: &u32| {
        let environment = fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
        environment.split(|byte| *byte == 0).any(|variable| variable == mark.as_bytes())
    };
    let entries = fs::read_dir("/proc").unwrap().flatten();
    let pids = entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    pids.filter(has_mark).collect()
}

/// The fields of /proc/PID/stat from the state on.
fn stat(pid: u32) -> Option<Vec<String>> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let (_, fields) = stat.rsplit_once(')')?;
    Some(fields.split_ascii_whitespace().map(str::to_owned).collect())
}

/// The state letter of a process, as in ps.
pub fn state(pid: u32) -> Option<char> {
    stat(pid)?[0].chars().next()
}

pub fn parent(pid: u32) -> Option<u32> {
    stat(pid)?[1].parse().ok()
}

/// An empty folder for this test.
pub fn folder(name: &str) -> PathBuf {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name);
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).unwrap();
    folder
}

/// The program of `tests/data/NAME.c`.
pub fn compiled(name: &str) -> String {
    let source = root().join(format!("tests/data/{name}.c"));
    compile(&source, &["-O2", "-g"]).to_str().unwrap().to_owned()
}

/// A C program, compiled by this `mpicc`.
///
/// # Panics
/// As [`compile_by`].
pub fn compile(source: &Path, flags: &[&str]) -> PathBuf {
    compile_by("mpicc", source, flags)
}

/// A C program, compiled by a wrapper compiler once for all tests with the same flags, and again only
/// after a change of its source, a header or the wrapper.
///
/// # Panics
/// If the compilation fails, with the messages of the compiler.
pub fn compile_by(wrapper: &str, source: &Path, flags: &[&str]) -> PathBuf {
    let name = source.file_stem().unwrap().to_str().unwrap();
    let mut hasher = DefaultHasher::new();
    (wrapper, source, flags).hash(&mut hasher);
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let folder = folder.join(format!("compiled/{name}-{:016x}", hasher.finish()));
    fs::create_dir_all(&folder).unwrap();
    let (program, made_from) = (folder.join(name), folder.join("made-from"));
    // Tests are concurrent processes.
    let lock = fs::File::create(folder.join("lock")).unwrap();
    lock.lock().unwrap();
    let wrapper = built(wrapper);
    let inputs = digest_of_inputs(source, Path::new(&wrapper));
    if fs::read_to_string(&made_from).is_ok_and(|made_from| made_from == inputs) {
        return program;
    }
    let new = folder.join("new");
    let mut command = Command::new(wrapper);
    let output = command.args(flags).arg("-o").args([&new, source]).arg("-lm").output().unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{} does not compile:\n{errors}", source.display());
    // Atomically: a test may be running the old program.
    fs::rename(new, &program).unwrap();
    fs::write(made_from, inputs).unwrap();
    program
}

/// Digest of the inputs of a compilation: the source, headers that it may include, and the
/// modification time of the compiler wrapper.
fn digest_of_inputs(source: &Path, wrapper: &Path) -> String {
    let of_all = ["include", "c-tests"].map(|folder| root().join(folder));
    let headers = of_all.iter().map(PathBuf::as_path).chain(source.parent());
    let files = headers.flat_map(|folder| fs::read_dir(folder).unwrap());
    let mut files: Vec<_> = files.map(|entry| entry.unwrap().path()).collect();
    files.retain(|path| path.extension().is_some_and(|extension| extension == "h"));
    files.sort_unstable();
    files.push(source.to_owned());
    let mut hasher = DefaultHasher::new();
    files.iter().for_each(|path| fs::read(path).unwrap().hash(&mut hasher));
    fs::metadata(wrapper).unwrap().modified().unwrap().hash(&mut hasher);
    format!("{:016x}\n", hasher.finish())
}

/// Runs the command line of an agent here, whatever the host is.
pub const HERE: &str = r#"sh -c 'eval "$1"'"#;

/// The processes of the agents of other hosts.
pub fn agents(running: &Running) -> Vec<u32> {
    let is_agent = |pid: &u32| {
        let words = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        words.ends_with(b"mpirun\0--agent\0")
    };
    running.processes().into_iter().filter(is_agent).collect()
}

/// The processes of the running ranks.
pub fn ranks(running: &Running) -> BTreeMap<u32, u32> {
    let rank = |pid: u32| {
        let environment = fs::read(format!("/proc/{pid}/environ")).ok()?;
        let mut variables = environment.split(|byte| *byte == 0);
        let rank = variables.find_map(|variable| variable.strip_prefix(b"PMI_RANK="))?;
        Some((std::str::from_utf8(rank).ok()?.parse().ok()?, pid))
    };
    running.processes().into_iter().filter_map(rank).collect()
}

/// The files in the folders where jobs create files.
pub fn files() -> BTreeSet<String> {
    let folders = ["/dev/shm", "/tmp"].into_iter().filter_map(|folder| fs::read_dir(folder).ok());
    let entries = folders.flatten().flatten();
    entries.map(|entry| entry.path().to_string_lossy().into_owned()).collect()
}

/// Checks that no new file has a name of the library or of a process of `job`.
pub fn nothing_new(before: &BTreeSet<String>, job: &[u32]) {
    let is_of_job = |path: &&String| {
        let numbers = path.split(|character: char| !character.is_ascii_digit());
        let mut numbers = numbers.filter_map(|number| number.parse::<u32>().ok());
        path.to_lowercase().contains("suiro") || numbers.any(|number| job.contains(&number))
    };
    let left: Vec<_> = files().difference(before).filter(is_of_job).cloned().collect();
    assert!(left.is_empty(), "files left: {left:?}");
}
