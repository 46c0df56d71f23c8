//! The variables that MPI identifies by their addresses (MPI 5.0 §2.5.4): each is alone in a COMMON
//! block, the same one for `mpif.h` and the modules. The library has a cell of equal size; if a program
//! has the block, the loader binds both to the program's address.

/// Bytes of each COMMON block, including its filling variable. Equal to the largest alignment that a
/// linker gives a block, so that size and alignment are those of the cell.
pub(crate) const BLOCK_BYTES: usize = 64;

/// A variable that is identified by its address.
pub(crate) struct Sentinel {
    /// Its name in Fortran.
    pub name: &'static str,
    /// Its COMMON block. No underscore: some compilers append two to a name that has one.
    pub block: &'static str,
}

pub(crate) const SENTINELS: &[Sentinel] = &[
    Sentinel { name: "MPI_ARGVS_NULL", block: "suiroargvsnull" },
    Sentinel { name: "MPI_ARGV_NULL", block: "suiroargvnull" },
    Sentinel { name: "MPI_BOTTOM", block: "suirobottom" },
    Sentinel { name: "MPI_BUFFER_AUTOMATIC", block: "suirobufferautomatic" },
    Sentinel { name: "MPI_ERRCODES_IGNORE", block: "suiroerrcodesignore" },
    Sentinel { name: "MPI_IN_PLACE", block: "suiroinplace" },
    Sentinel { name: "MPI_STATUSES_IGNORE", block: "suirostatusesignore" },
    Sentinel { name: "MPI_STATUS_IGNORE", block: "suirostatusignore" },
    Sentinel { name: "MPI_UNWEIGHTED", block: "suirounweighted" },
    Sentinel { name: "MPI_WEIGHTS_EMPTY", block: "suiroweightsempty" },
];

impl Sentinel {
    /// The symbols of the block: most compilers append an underscore.
    pub(crate) fn symbols(&self) -> [String; 3] {
        [format!("{}_", self.block), self.block.to_owned(), self.block.to_uppercase()]
    }
}

/// The library's cells in Rust, and for each variable a function that compares its addresses.
pub(crate) fn render() -> String {
    let mut text = String::new();
    for sentinel in SENTINELS {
        let Sentinel { name, .. } = sentinel;
        for symbol in sentinel.symbols() {
            text += &format!(
                "/// `{name}`.\n#[unsafe(no_mangle)]\n#[allow(non_upper_case_globals)]\n\
                 pub static mut {symbol}: Cell = Cell([0; {BLOCK_BYTES}]);\n"
            );
        }
        let is =
            sentinel.symbols().map(|symbol| format!("ptr::addr_eq(given, &raw const {symbol})"));
        text += &format!(
            "/// Whether this is the address of `{name}`.\n#[inline]\n\
             fn is_{}<T>(given: *const T) -> bool {{\n    {}\n}}\n",
            name.to_lowercase(),
            is.join(" || ")
        );
    }
    text
}
