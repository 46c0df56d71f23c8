//! Forms of types of other crates in messages.

/// The end of a process.
pub(super) mod exit {
    use platform::sys::process::Exit;
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    #[derive(Serialize, Deserialize)]
    #[serde(remote = "Exit")]
    enum ExitForm {
        Code(i32),
        Signal(i32),
    }

    #[derive(Serialize, Deserialize)]
    struct Wrapped(#[serde(with = "ExitForm")] Exit);

    pub(in crate::control) fn serialize<S: Serializer>(
        exit: &Exit, serializer: S,
    ) -> Result<S::Ok, S::Error> {
        ExitForm::serialize(exit, serializer)
    }

    pub(in crate::control) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Exit, D::Error> {
        ExitForm::deserialize(deserializer)
    }

    /// The end of a process, if it is known.
    pub(in crate::control) mod option {
        use super::*;

        pub(in crate::control) fn serialize<S: Serializer>(
            exit: &Option<Exit>, serializer: S,
        ) -> Result<S::Ok, S::Error> {
            exit.map(Wrapped).serialize(serializer)
        }

        pub(in crate::control) fn deserialize<'de, D: Deserializer<'de>>(
            deserializer: D,
        ) -> Result<Option<Exit>, D::Error> {
            Ok(Option::<Wrapped>::deserialize(deserializer)?.map(|Wrapped(exit)| exit))
        }
    }
}

/// Whether a rank has joined.
#[derive(serde::Serialize, serde::Deserialize)]
#[serde(remote = "platform::bootstrap::JoinState")]
pub(super) enum JoinForm {
    NotJoined,
    Joined,
    Left,
}

/// A request about the name of a service.
#[derive(serde::Serialize, serde::Deserialize)]
#[serde(remote = "platform::bootstrap::NameRequest")]
pub(super) enum NameForm {
    Publish {
        service: String,
        port: String,
        #[serde(with = "ScopeForm")]
        scope: platform::bootstrap::NameScope,
        replaces: bool,
    },
    Lookup {
        service: String,
        #[serde(with = "ScopeForm")]
        scope: platform::bootstrap::NameScope,
    },
    Unpublish {
        service: String,
        #[serde(with = "ScopeForm")]
        scope: platform::bootstrap::NameScope,
    },
}

/// Where a name is.
#[derive(serde::Serialize, serde::Deserialize)]
#[serde(remote = "platform::bootstrap::NameScope")]
enum ScopeForm {
    Any,
    Job,
    Global,
}

/// A call about spawned jobs.
#[derive(serde::Serialize, serde::Deserialize)]
#[serde(remote = "platform::bootstrap::SpawnCall")]
pub(super) enum SpawnForm {
    Start(#[serde(with = "SpawnWordsForm")] platform::bootstrap::SpawnWords),
    State { number: u32 },
    Disconnected { number: u32 },
    End { number: u32 },
}

/// A job to spawn.
#[derive(serde::Serialize, serde::Deserialize)]
#[serde(remote = "platform::bootstrap::SpawnWords")]
struct SpawnWordsForm {
    words: Vec<String>,
    names_hosts: bool,
    parent_port: String,
}

/// A fence.
#[derive(serde::Serialize, serde::Deserialize)]
#[serde(remote = "platform::bootstrap::Fence")]
pub(super) struct FenceForm {
    program: u32,
    group: String,
    #[serde(with = "serde_bytes")]
    pairs: Vec<u8>,
}
