//! The options of ACP's library in the arguments of a program: `--acp-NAME VALUE` or `--acp-NAME=VALUE`.
//!
//! They are those of ACP 3: sizes of the memory that each rank has from the beginning, and what its launcher
//! tells its own transports, which has no meaning here.

/// The sizes of memory, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct SystemSizes {
    pub(crate) starter: usize,
    pub(crate) heap: usize,
}

impl Default for SystemSizes {
    /// The starter memory of ACP's library. Its heap has as much; here pages that are not used cost nothing.
    fn default() -> Self {
        Self { starter: 10_240, heap: 64 << 20 }
    }
}

/// Options with a number that have an effect.
const STARTER: &str = "size-smem";
const HEAP: &str = "size-smem-dl";

/// Options with a number that are accepted without effect.
const NUMBERS: &[&str] = &[
    "size-smem-cl",
    "malloc-hook-small",
    "malloc-hook-large",
    "malloc-hook-huge",
    "malloc-hook-low",
    "malloc-hook-high",
    "ethernet-speed",
    "taskid",
    "offsetrank",
    "myrank",
    "nprocs",
    "port-local",
    "port-remote",
];

/// Options with a text that are accepted without effect.
const TEXTS: &[&str] = &["portfile", "host-remote"];

/// Options without a value that are accepted without effect.
const FLAGS: &[&str] = &["multirun"];

/// Takes the options out of a list of arguments: the indices of the arguments that stay, and the sizes.
///
/// # Errors
/// A sentence about an option that is none, or has a wrong value.
pub(crate) fn take(
    arguments: &[&[u8]], mut sizes: SystemSizes,
) -> Result<(Vec<usize>, SystemSizes), String> {
    let (mut left, mut at) = (Vec::new(), 0);
    while let Some(argument) = arguments.get(at) {
        let text = String::from_utf8_lossy(argument);
        let Some(option) = text.strip_prefix("--acp-") else {
            left.push(at);
            at += 1;
            continue;
        };
        let (name, value) = match option.split_once('=') {
            Some((name, value)) => (name, Some(value.to_owned())),
            None => (option, None),
        };
        let mut value = || {
            let next = value.clone().or_else(|| {
                at += 1;
                let next = arguments.get(at)?;
                Some(String::from_utf8_lossy(next).into_owned())
                    .filter(|next| !next.starts_with('-'))
            });
            next.ok_or_else(|| format!("the option --acp-{name} needs a value"))
        };
        if TEXTS.contains(&name) {
            value()?;
        } else if name == STARTER || name == HEAP || NUMBERS.contains(&name) {
            let text = value()?;
            let number = number(&text).ok_or_else(|| {
                format!("--acp-{name} {text}: expected a number that is not negative")
            })?;
            match name {
                STARTER => sizes.starter = number,
                HEAP => sizes.heap = number,
                _ => {}
            }
        } else if !FLAGS.contains(&name) {
            return Err(format!("--acp-{name} is no option of ACP"));
        }
        at += 1;
    }
    Ok((left, sizes))
}

/// A number as strtoul(3) with base 0 reads it, without anything behind.
fn number(text: &str) -> Option<usize> {
    let lower = text.to_ascii_lowercase();
    if let Some(digits) = lower.strip_prefix("0x") {
        return usize::from_str_radix(digits, 16).ok();
    }
    match lower.strip_prefix('0') {
        Some(digits) if !digits.is_empty() => usize::from_str_radix(digits, 8).ok(),
        _ => lower.parse().ok(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn taken(arguments: &[&str]) -> Result<(Vec<usize>, SystemSizes), String> {
        let arguments: Vec<_> = arguments.iter().map(|argument| argument.as_bytes()).collect();
        take(&arguments, SystemSizes::default())
    }

    #[test]
    fn options_are_taken_and_other_arguments_stay() {
        let arguments = [
            "prog",
            "--acp-size-smem",
            "0x100",
            "-v",
            "--acp-size-smem-dl=010",
            "--acp-portfile",
            "f",
        ];
        let sizes = SystemSizes { starter: 256, heap: 8 };
        assert_eq!(taken(&arguments), Ok((vec![0, 3], sizes)));
        assert_eq!(
            taken(&["prog", "--acp-multirun", "x"]),
            Ok((vec![0, 2], SystemSizes::default()))
        );
        assert_eq!(taken(&[]), Ok((vec![], SystemSizes::default())));
    }

    #[test]
    fn what_is_wrong_is_named() {
        let why = |arguments: &[&str]| taken(arguments).unwrap_err();
        assert_eq!(why(&["prog", "--acp-colour", "1"]), "--acp-colour is no option of ACP");
        assert_eq!(why(&["--acp-size-smem"]), "the option --acp-size-smem needs a value");
        assert_eq!(why(&["--acp-taskid", "-1"]), "the option --acp-taskid needs a value");
        let bad = why(&["--acp-size-smem", "4k"]);
        assert_eq!(bad, "--acp-size-smem 4k: expected a number that is not negative");
    }
}
