//! Names of files: prefixes that choose the code for a file system in other libraries.

/// The file systems that the ROMIO library knows.
const FILE_SYSTEMS: [&[u8]; 11] = [
    b"ufs", b"nfs", b"xfs", b"pvfs2", b"gpfs", b"panfs", b"lustre", b"daos", b"testfs", b"ime",
    b"quobyte",
];

/// The name for the system: without the name of a file system and a colon before it.
pub(crate) fn without_prefix(name: &[u8]) -> &[u8] {
    let colon = name.iter().position(|byte| *byte == b':');
    match colon.map(|colon| (&name[..colon], &name[colon + 1..])) {
        Some((prefix, rest)) if FILE_SYSTEMS.contains(&prefix) => rest,
        _ => name,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_prefixes_are_no_part_of_the_name() {
        for (name, expected) in [
            ("ufs:/tmp/x", "/tmp/x"),
            ("nfs:x:y", "x:y"),
            ("/tmp/a:b", "/tmp/a:b"),
            ("c:data", "c:data"),
            ("data", "data"),
            ("ufs:", ""),
        ] {
            assert_eq!(without_prefix(name.as_bytes()), expected.as_bytes());
        }
    }
}
