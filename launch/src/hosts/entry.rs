//! The mention of a host on the command line or in a line of a file.
//!
//! ```text
//!   word    [^][USER@]NAME[:SLOTS]      NAME: node1, node[01-03], 192.0.2.1, [2001:db8::1]
//!           +nINDEX, +e[COUNT]          a host of the allocation; hosts that nothing else names
//!   line    WORD [KEY=VALUE]...         slots, max_slots, user, port
//! ```
//!
//! `^` excludes a host, `:*` is as many slots as it has cores, `#` starts a comment.
//!
//! Sources: the manuals of Open MPI's mpirun ("Hostfiles", "Relative host indexing"), of MPICH's
//! hydra ("Using Hydra", host file) and of Intel MPI (machine file).

use std::net::Ipv6Addr;

use super::ranges;

/// A host as one word or line mentions it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct HostMention {
    pub target: MentionTarget,
    /// Written as `^name`.
    pub is_excluded: bool,
    /// It is the local host whatever its name is.
    pub is_local: bool,
    pub user: Option<String>,
    pub port: Option<u16>,
    pub slots: MentionSlots,
    pub slots_max: Option<u32>,
    /// Option, file and line, or variable, for messages.
    pub source: String,
}

/// The host that is meant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum MentionTarget {
    Name(String),
    /// The host of the allocation with this index.
    Index(u32),
    /// Hosts of the allocation that are not named otherwise: all, or this number.
    Unnamed(Option<u32>),
}

/// The slots of a mention.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum MentionSlots {
    /// No number.
    #[default]
    Default,
    /// As many as the host has cores.
    Cores,
    Count(u32),
}

impl MentionSlots {
    /// The number, if there is one.
    pub(super) fn count(self) -> Option<u32> {
        match self {
            Self::Count(count) => Some(count),
            Self::Default | Self::Cores => None,
        }
    }
}

impl HostMention {
    pub(super) fn named(source: &str, name: &str) -> Self {
        Self::of(source, MentionTarget::Name(name.to_owned()))
    }

    fn of(source: &str, target: MentionTarget) -> Self {
        Self {
            target,
            is_excluded: false,
            is_local: false,
            user: None,
            port: None,
            slots: MentionSlots::Default,
            slots_max: None,
            source: source.to_owned(),
        }
    }
}

/// Parses one word.
///
/// # Errors
/// What is wrong with it, without the source.
pub(super) fn word(source: &str, word: &str) -> Result<Vec<HostMention>, String> {
    let (is_excluded, rest) = match word.strip_prefix('^') {
        Some(rest) => (true, rest),
        None => (false, word),
    };
    let wrong = || format!("{word:?} is neither HOST nor HOST:SLOTS");
    let mentions = match rest.strip_prefix('+') {
        Some(rest) => vec![relative(source, rest).ok_or_else(|| {
            format!("{word:?}: expected +nINDEX (a host of the allocation) or +e[COUNT]")
        })?],
        None => absolute(source, rest).ok_or_else(wrong)??,
    };
    Ok(mentions.into_iter().map(|mention| HostMention { is_excluded, ..mention }).collect())
}

/// `n2`, `n2:4`, `e`, `e3`, `e:3`.
fn relative(source: &str, rest: &str) -> Option<HostMention> {
    if let Some(count) = rest.strip_prefix('e') {
        let count = count.strip_prefix(':').unwrap_or(count);
        let count = match count {
            "" => None,
            count => Some(count.parse().ok().filter(|count| *count > 0)?),
        };
        return Some(HostMention::of(source, MentionTarget::Unnamed(count)));
    }
    let rest = rest.strip_prefix('n')?;
    let (index, slots) = match rest.split_once(':') {
        Some((index, slots)) => (index, parse_slots(slots)?),
        None => (rest, MentionSlots::Default),
    };
    let index = index.parse().ok()?;
    Some(HostMention { slots, ..HostMention::of(source, MentionTarget::Index(index)) })
}

/// `None` if the form is wrong, an error if the brackets are.
fn absolute(source: &str, text: &str) -> Option<Result<Vec<HostMention>, String>> {
    let (user, rest) = match text.rsplit_once('@') {
        Some((user, rest)) => (Some(user.to_owned()).filter(|user| is_user(user)), rest),
        None => (None, text),
    };
    if text.contains('@') && user.is_none() {
        return None;
    }
    let (name, slots) = name_and_slots(rest)?;
    let names = match name.parse::<Ipv6Addr>().is_ok() || !name.contains(['[', ']']) {
        true => vec![name.to_owned()],
        false => match ranges::expand(name) {
            Ok(names) => names,
            Err(why) => return Some(Err(why)),
        },
    };
    names.iter().all(|name| is_name(name)).then(|| {
        let mention = |name: &String| HostMention {
            user: user.clone(),
            slots,
            ..HostMention::named(source, name)
        };
        Ok(names.iter().map(mention).collect())
    })
}

/// An IPv6 address contains colons, and may be in brackets.
fn name_and_slots(text: &str) -> Option<(&str, MentionSlots)> {
    if text.parse::<Ipv6Addr>().is_ok() {
        return Some((text, MentionSlots::Default));
    }
    if let Some((address, after)) = text.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
        let slots = match after.strip_prefix(':') {
            Some(slots) => parse_slots(slots)?,
            None => Some(MentionSlots::Default).filter(|_| after.is_empty())?,
        };
        return address.contains(':').then_some((address, slots));
    }
    match text.rsplit_once(':') {
        Some((name, slots)) => Some((name, parse_slots(slots)?)),
        None => Some((text, MentionSlots::Default)),
    }
}

fn parse_slots(text: &str) -> Option<MentionSlots> {
    match text {
        "*" => Some(MentionSlots::Cores),
        _ => Some(MentionSlots::Count(text.parse().ok().filter(|slots| *slots > 0)?)),
    }
}

/// Names are arguments of other commands: none looks like an option.
fn is_name(name: &str) -> bool {
    let allowed =
        |character: char| character.is_ascii_alphanumeric() || "-._:%".contains(character);
    !name.is_empty() && !name.starts_with('-') && name.chars().all(allowed)
}

fn is_user(user: &str) -> bool {
    let allowed = |character: char| !character.is_whitespace() && !character.is_control();
    !user.is_empty() && !user.starts_with('-') && user.chars().all(allowed)
}

/// Parses a line of a file; an empty line mentions nothing.
///
/// # Errors
/// What is wrong with it, without the source.
pub(super) fn line(source: &str, line: &str) -> Result<Vec<HostMention>, String> {
    let mut words = line.split('#').next().unwrap_or_default().split_whitespace().peekable();
    let Some(first) = words.next() else { return Ok(Vec::new()) };
    let mut mentions = word(source, first)?;
    while let Some(word) = words.next() {
        // Open MPI's files may have spaces around "=".
        let mut pair = word.to_owned();
        while pair.ends_with('=') || words.peek().is_some_and(|next| next.starts_with('=')) {
            let Some(next) = words.next() else { break };
            pair.push_str(next);
        }
        let (key, value) =
            pair.split_once('=').ok_or_else(|| format!("{word:?} is not KEY=VALUE"))?;
        mentions.iter_mut().try_for_each(|mention| set(mention, key, value))?;
    }
    Ok(mentions)
}

fn set(mention: &mut HostMention, key: &str, value: &str) -> Result<(), String> {
    let count = || {
        let count = value.parse().ok().filter(|count: &u32| *count > 0);
        count.ok_or_else(|| format!("{key}={value}: expected a positive number"))
    };
    match key.to_ascii_lowercase().replace(['-', '_'], "").as_str() {
        "slots" | "cpus" | "cpu" | "count" if value == "*" => mention.slots = MentionSlots::Cores,
        "slots" | "cpus" | "cpu" | "count" => mention.slots = MentionSlots::Count(count()?),
        "maxslots" | "slotsmax" | "cpusmax" | "maxcpus" => mention.slots_max = Some(count()?),
        "user" | "username" => {
            let user = Some(value.to_owned()).filter(|user| is_user(user));
            mention.user = Some(user.ok_or_else(|| format!("{key}={value}: expected a user"))?);
        }
        "port" => {
            let port = value.parse().ok().filter(|port| *port > 0);
            mention.port =
                Some(port.ok_or_else(|| format!("{key}={value}: expected a port of the host"))?);
        }
        // Of MPICH and Intel MPI. Options decide the binding, and the library the interface.
        "binding" | "bind" | "ifhn" | "if" => {}
        _ => return Err(format!("{key}={value}: expected slots, max_slots, user or port")),
    }
    match (mention.slots, mention.slots_max) {
        (MentionSlots::Count(slots), Some(most)) if most < slots => {
            Err(format!("max_slots={most} is less than slots={slots}"))
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn text(mentions: &[HostMention]) -> String {
        let one = |mention: &HostMention| {
            let HostMention { target, is_excluded, user, port, slots, slots_max, .. } = mention;
            let name = match target {
                MentionTarget::Name(name) => name.clone(),
                other => format!("{other:?}"),
            };
            let slots = match slots {
                MentionSlots::Default => String::new(),
                MentionSlots::Cores => "*".to_owned(),
                MentionSlots::Count(count) => count.to_string(),
            };
            let excluded = if *is_excluded { "^" } else { "" };
            let optional = |label: &str, value: Option<String>| {
                value.map_or(String::new(), |value| format!(" {label}{value}"))
            };
            format!(
                "{excluded}{name}/{slots}{}{}{}",
                optional("max ", slots_max.map(|most| most.to_string())),
                optional("user ", user.clone()),
                optional("port ", port.map(|port| port.to_string())),
            )
        };
        mentions.iter().map(one).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn every_dialect_of_a_line_is_read() {
        for (given, parsed) in [
            ("here:4", "here/4"),
            ("here slots=4 max_slots=8", "here/4 max 8"),
            ("here max-slots=8 slots=4 # many", "here/4 max 8"),
            ("here slots = 4", "here/4"),
            ("here:2 binding=user:0", "here/2"),
            ("here", "here/"),
            ("here:*", "here/*"),
            ("", ""),
            ("  # nothing", ""),
            ("bob@here:2", "here/2 user bob"),
            ("here:2 user=bob port=2222", "here/2 user bob port 2222"),
            ("n[08-10]:2", "n08/2 n09/2 n10/2"),
            ("+n0 slots=2", "Index(0)/2"),
            ("+n12:3", "Index(12)/3"),
            ("+e", "Unnamed(None)/"),
            ("+e2", "Unnamed(Some(2))/"),
            ("+e:2", "Unnamed(Some(2))/"),
            ("^there", "^there/"),
            ("::1", "::1/"),
            ("[::1]:2", "::1/2"),
            ("bob@[fe80::1]", "fe80::1/ user bob"),
            ("192.0.2.1:3", "192.0.2.1/3"),
        ] {
            assert_eq!(line("-f", given).map(|all| text(&all)), Ok(parsed.to_owned()), "{given}");
        }
    }

    #[test]
    fn wrong_lines_are_named() {
        for (given, why) in [
            ("here:many", "\"here:many\" is neither HOST nor HOST:SLOTS"),
            ("here:0", "\"here:0\""),
            ("here slots=0", "slots=0: expected a positive number"),
            ("here slots=x", "slots=x"),
            ("here slots", "\"slots\" is not KEY=VALUE"),
            ("here slots=4 max_slots=2", "max_slots=2 is less than slots=4"),
            ("here speed=4", "speed=4: expected slots, max_slots, user or port"),
            ("here port=99999", "port=99999"),
            ("a/b", "\"a/b\""),
            ("-oProxyCommand=x", "-oProxyCommand"),
            ("-x@here", "\"-x@here\""),
            ("@here", "\"@here\""),
            ("n[1-2", "']' is missing"),
            ("[n1]", "\"[n1]\""),
            ("+x1", "expected +nINDEX"),
            ("+n", "expected +nINDEX"),
            ("+e0", "expected +nINDEX"),
        ] {
            let found = line("-f", given).unwrap_err();
            assert!(found.contains(why), "{given}: {found}");
        }
    }

    proptest! {
        #[test]
        fn any_line_is_read_or_refused(given in "[a-c:=^@#0-9+n \\[\\],.*-]{0,24}") {
            let _ = line("-f", &given);
        }
    }
}
