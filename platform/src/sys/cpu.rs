//! Processors and processor time available to this process: the affinity mask and the quota of its
//! control groups. The size of the machine is not used.

#![allow(unsafe_code)]

use std::io;
use std::path::Path;

use super::control_group::{CgroupReader, GroupDirectory, directories};

/// Processors in the first mask that is tried, as in `cpu_set_t`; the kernel refuses a mask that is too
/// short for its processors.
const FIRST_CAPACITY: usize = 1024;

/// Processors in the longest mask, far more than a kernel can be configured for (8192).
const LAST_CAPACITY: usize = 1 << 20;

/// A set of processors in the system's form, of any length.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct CpuMask(Vec<libc::c_ulong>);

/// The processors on which the calling thread may run, by number, ascending.
///
/// # Errors
/// The error of sched_getaffinity(2).
pub fn affinity() -> io::Result<Vec<usize>> {
    let read = |mask: &mut [libc::c_ulong]| {
        // SAFETY: the kernel writes at most the passed number of bytes, which is the slice's; the set
        // is words of `c_ulong` in the kernel as well.
        let code = unsafe {
            libc::sched_getaffinity(
                0,
                size_of_val(mask),
                mask.as_mut_ptr().cast::<libc::cpu_set_t>(),
            )
        };
        if code < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
    };
    Ok(CpuMask::read(read)?.processors())
}

/// Confines the calling thread, and its later children, to `cpus`.
///
/// # Errors
/// The error of sched_setaffinity(2), e.g. if none of `cpus` may be used.
pub fn set_affinity(cpus: &[usize]) -> io::Result<()> {
    CpuMask::of(cpus)?.confine()
}

/// Makes the calling thread one that runs when others leave room (`SCHED_BATCH`): it takes no processor from a
/// thread at the moment it is woken, and still gets its share. A thread of another policy than the default keeps
/// that.
///
/// # Errors
/// The error of sched_setscheduler(2).
pub fn defer_to_others() -> io::Result<()> {
    let priority: libc::c_int = 0;
    // By number: musl has no such functions. The kernel's `sched_param` is this one number.
    // SAFETY: the first call reads no memory, the second one only the number; 0 is the calling thread.
    let code = unsafe {
        match libc::syscall(libc::SYS_sched_getscheduler, 0) {
            policy if policy == libc::c_long::from(libc::SCHED_OTHER) => {
                let policy = libc::SCHED_BATCH;
                libc::syscall(libc::SYS_sched_setscheduler, 0, policy, &raw const priority)
            }
            other => other.min(0),
        }
    };
    if code < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

impl CpuMask {
    const WORD_BITS: usize = libc::c_ulong::BITS as usize;

    /// A set of `cpus`.
    ///
    /// # Errors
    /// `InvalidInput` for a number that no system has.
    pub(super) fn of(cpus: &[usize]) -> io::Result<Self> {
        let len = cpus.iter().max().map_or(0, |last| last / Self::WORD_BITS + 1);
        if len > LAST_CAPACITY / Self::WORD_BITS {
            return Err(io::ErrorKind::InvalidInput.into());
        }
        let mut words = vec![0; len];
        for cpu in cpus {
            words[cpu / Self::WORD_BITS] |= 1 << (cpu % Self::WORD_BITS);
        }
        Ok(Self(words))
    }

    /// The set that `read` writes into a mask, which grows until it is long enough.
    fn read(mut read: impl FnMut(&mut [libc::c_ulong]) -> io::Result<()>) -> io::Result<Self> {
        let mut capacity = FIRST_CAPACITY;
        loop {
            let mut words = vec![0; capacity / Self::WORD_BITS];
            match read(&mut words) {
                Ok(()) => return Ok(Self(words)),
                Err(error)
                    if error.raw_os_error() == Some(libc::EINVAL) && capacity < LAST_CAPACITY =>
                {
                    capacity *= 2;
                }
                Err(error) => return Err(error),
            }
        }
    }

    fn processors(&self) -> Vec<usize> {
        let count = self.0.len() * Self::WORD_BITS;
        let is_set =
            |cpu: &usize| self.0[cpu / Self::WORD_BITS] >> (cpu % Self::WORD_BITS) & 1 == 1;
        (0..count).filter(is_set).collect()
    }

    /// Confines the calling thread to the set; allocates nothing and takes no lock.
    ///
    /// # Errors
    /// The error of sched_setaffinity(2).
    pub(super) fn confine(&self) -> io::Result<()> {
        let (words, len_bytes) = (self.0.as_ptr(), size_of_val(&self.0[..]));
        // SAFETY: the kernel reads at most the passed number of bytes, which is the vector's.
        let code =
            unsafe { libc::sched_setaffinity(0, len_bytes, words.cast::<libc::cpu_set_t>()) };
        if code < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
    }
}

/// Number of threads that can run at once: the processors of the mask, or the whole processors in
/// the quota if that is less; at least 1.
pub fn allowed() -> usize {
    within_quota(affinity().map_or(1, |cpus| cpus.len()))
}

/// Number of threads that can run at once on `processors` processors; at least 1.
pub fn within_quota(processors: usize) -> usize {
    let quota = quota().map_or(usize::MAX, |cpus| cpus as usize);
    processors.min(quota).max(1)
}

/// Processor time that the control groups grant this process, in processors, if they limit it.
pub fn quota() -> Option<f64> {
    let read = |path: &Path| std::fs::read_to_string(path).ok();
    let groups = read(Path::new("/proc/self/cgroup"))?;
    let mounts = read(Path::new("/proc/self/mountinfo"))?;
    smallest_quota(&groups, &mounts, &read)
}

/// The smallest quota of the groups in `/proc/self/cgroup` and of their parent groups.
fn smallest_quota(groups: &str, mounts: &str, read: CgroupReader<'_>) -> Option<f64> {
    let quota = |directory: &GroupDirectory| match directory.unified {
        true => quota_v2(&directory.path, read),
        false => quota_v1(&directory.path, read),
    };
    let quotas = directories(groups, mounts, "cpu");
    quotas.iter().filter_map(quota).min_by(f64::total_cmp)
}

fn quota_v2(directory: &Path, read: CgroupReader<'_>) -> Option<f64> {
    let text = read(&directory.join("cpu.max"))?;
    let (quota, period) = text.trim().split_once(' ')?;
    ratio(quota.parse().ok()?, period.parse().ok()?)
}

fn quota_v1(directory: &Path, read: CgroupReader<'_>) -> Option<f64> {
    let number = |name| read(&directory.join(name))?.trim().parse().ok();
    ratio(number("cpu.cfs_quota_us")?, number("cpu.cfs_period_us")?)
}

/// Both in microseconds; a negative quota means no limit.
fn ratio(quota: f64, period: f64) -> Option<f64> {
    (quota > 0.0 && period > 0.0).then(|| quota / period)
}

#[cfg(test)]
mod tests {
    use super::*;

    const V2: &str = "30 24 0:26 / /sys/fs/cgroup rw,nosuid shared:4 - cgroup2 cgroup2 rw\n";
    const V1: &str = "31 24 0:27 /docker/a /sys/fs/cgroup/cpu,cpuacct rw - cgroup c rw,cpu,cpuacct\n\
                      32 24 0:28 / /sys/fs/cgroup/memory rw - cgroup c rw,memory\n";

    fn quota_of(groups: &str, mounts: &str, files: &[(&str, &str)]) -> Option<f64> {
        let read = |path: &Path| {
            let file = files.iter().find(|(name, _)| Path::new(name) == path);
            file.map(|(_, text)| (*text).to_owned())
        };
        smallest_quota(groups, mounts, &read)
    }

    #[test]
    fn version_2_takes_the_smallest_on_the_way_up() {
        let files = [
            ("/sys/fs/cgroup/a/b/cpu.max", "max 100000\n"),
            ("/sys/fs/cgroup/a/cpu.max", "150000 100000\n"),
        ];
        assert_eq!(quota_of("0::/a/b\n", V2, &files), Some(1.5));
        assert_eq!(quota_of("0::/\n", V2, &files), None);
        let container = [("/sys/fs/cgroup/cpu.max", "400000 100000\n")];
        assert_eq!(quota_of("0::/\n", V2, &container), Some(4.0));
    }

    #[test]
    fn version_1_finds_the_mount_of_its_controller() {
        let groups = "4:memory:/docker/a\n1:cpu,cpuacct:/docker/a\n0::/\n";
        let quota = "/sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us";
        let period = ("/sys/fs/cgroup/cpu,cpuacct/cpu.cfs_period_us", "100000\n");
        assert_eq!(quota_of(groups, V1, &[(quota, "200000\n"), period]), Some(2.0));
        assert_eq!(quota_of(groups, V1, &[(quota, "-1\n"), period]), None);
    }

    #[test]
    fn damaged_files_limit_nothing() {
        let files = [("/sys/fs/cgroup/cpu.max", "many\n")];
        assert_eq!(quota_of("0::/\nnonsense\n", V2, &files), None);
        assert_eq!(quota_of("0::/\n", "nonsense\n", &files), None);
    }

    #[test]
    fn machines_of_more_than_1024_processors_have_longer_masks() {
        let processors = [0, 1023, 1024, 4095];
        let machine = CpuMask::of(&processors).unwrap();
        let kernel = |mask: &mut [libc::c_ulong]| match mask.get_mut(..machine.0.len()) {
            None => Err(io::Error::from_raw_os_error(libc::EINVAL)),
            Some(mask) => {
                mask.copy_from_slice(&machine.0);
                Ok(())
            }
        };
        assert_eq!(CpuMask::read(kernel).unwrap().processors(), processors);
        let refuse = |_: &mut [libc::c_ulong]| Err(io::Error::from_raw_os_error(libc::EINVAL));
        assert!(CpuMask::read(refuse).is_err());
        assert!(CpuMask::of(&[usize::MAX]).is_err());
        // Processors that this machine does not have.
        assert!(set_affinity(&[LAST_CAPACITY - 1]).is_err());
    }

    #[test]
    fn this_thread_may_run_somewhere_and_be_confined_to_it() {
        let cpus = affinity().unwrap();
        assert!(!cpus.is_empty());
        assert!((1..=cpus.len()).contains(&allowed()));
        std::thread::spawn(move || {
            set_affinity(&cpus[..1]).unwrap();
            assert_eq!(affinity().unwrap(), cpus[..1]);
            assert_eq!(allowed(), 1);
            assert!(set_affinity(&[]).is_err());
        })
        .join()
        .unwrap();
    }

    #[test]
    fn a_thread_that_defers_keeps_any_other_policy() {
        let set = |policy: libc::c_int| {
            let priority: libc::c_int = 0;
            // SAFETY: the call reads the number; 0 is the calling thread.
            unsafe { libc::syscall(libc::SYS_sched_setscheduler, 0, policy, &raw const priority) }
        };
        // SAFETY: it reads no memory.
        let policy = || unsafe { libc::syscall(libc::SYS_sched_getscheduler, 0) };
        std::thread::spawn(move || {
            assert_eq!(set(libc::SCHED_OTHER), 0);
            defer_to_others().unwrap();
            assert_eq!(policy(), libc::c_long::from(libc::SCHED_BATCH));
            assert_eq!(set(libc::SCHED_IDLE), 0);
            defer_to_others().unwrap();
            assert_eq!(policy(), libc::c_long::from(libc::SCHED_IDLE));
        })
        .join()
        .unwrap();
    }
}
