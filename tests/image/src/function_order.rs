//! The order of functions in the binary: the functions that a running host executes come first.
//!
//! The binary has 50,000 functions, and a running host executes a tenth of them. The kernel maps 64 KiB of a file around each address
//! that is used, so executed functions that are spread over the whole binary make half of the binary resident. The linker reads the
//! order from the script `host/function-order.ld`. A name in the script that does not exist in the binary has no effect.

use std::{
    collections::{HashMap, HashSet},
    fmt::Write as _,
};

/// A function of a binary.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Function {
    /// The section of the object file, which has the mangled name of the function: `.text.main`, or `.text.unlikely.` and the name.
    pub section: String,
    /// The address in the binary.
    pub address: u64,
    /// The size in bytes.
    pub size: u64,
}

/// The kernel maps this number of bytes around an address that is used.
const MAPPED: u64 = 64 << 10;

/// The script names a family of any size if the functions of the family that were not executed have less than `MOST` times the bytes of
/// those that were.
const MOST: u64 = 2;

/// The text before the hash at the end of a mangled name, and the length of the hash in hexadecimal digits.
const BEFORE_HASH: &str = "17h";
const HASH_DIGITS: usize = 16;

/// The functions whose names differ only in the hash.
#[derive(Clone, Copy, Debug, Default)]
struct Family {
    bytes: u64,
    executed_bytes: u64,
    executed: u64,
}

// === impl Family ===

impl Family {
    fn is_dense(self) -> bool {
        self.bytes - self.executed_bytes < MOST * self.executed_bytes
    }

    /// Returns true if the whole family takes at most the memory that its executed functions take in different places.
    fn is_small(self) -> bool {
        self.bytes <= MAPPED * self.executed
    }
}

/// The functions in a map of LLD (`-Wl,-Map=FILE`).
#[must_use]
pub fn functions(map: &str) -> Vec<Function> {
    map.lines().filter_map(function).collect()
}

/// Reads a line of the map: two addresses, the size, the alignment, and the section of an object file.
fn function(line: &str) -> Option<Function> {
    let (_, section) = line.rsplit_once(":(")?;
    let section = section.strip_suffix(')').filter(|section| section.starts_with(".text."))?;
    let mut numbers = line.split_ascii_whitespace().map(|number| u64::from_str_radix(number, 16));
    let (address, _, size) = (numbers.next()?.ok()?, numbers.next()?, numbers.next()?.ok()?);
    (size > 0).then(|| Function { section: section.to_owned(), address, size })
}

/// The script that places the executed functions, in this order, before all others.
///
/// The hash at the end of a name changes with an update of a crate, and it is the only difference between the instances of a generic
/// function. A family has all functions that differ only in the hash. The script first names each executed function, so that the pages in
/// use have nothing else. Then it names families without a hash, for binaries with other hashes: those of which more than a third of the
/// bytes was executed, and those that are small.
#[must_use]
pub fn script(functions: &[Function], executed: &[u64]) -> String {
    let at: HashMap<u64, &Function> = functions.iter().map(|function| (function.address, function)).collect();
    let is_executed: HashSet<u64> = executed.iter().copied().collect();
    let mut families: HashMap<&str, Family> = HashMap::new();
    for function in functions {
        let family = families.entry(path(&function.section)).or_default();
        family.bytes += function.size;
        if is_executed.contains(&function.address) {
            family.executed_bytes += function.size;
            family.executed += 1;
        }
    }
    let (mut first, mut last) = (Vec::new(), Vec::new());
    for function in executed.iter().filter_map(|address| at.get(address)) {
        let path = path(&function.section);
        let family = families.get(path).copied().unwrap_or_default();
        let has_hash = path != function.section;
        first.push(function.section.clone());
        last.extend((has_hash && (family.is_dense() || family.is_small())).then(|| format!("{path}*")));
    }
    let (mut written, mut lines) = (HashSet::new(), String::new());
    for pattern in first.into_iter().chain(last) {
        if written.insert(pattern.clone()) {
            // Writing to a string does not fail.
            let _ = writeln!(lines, "    *({pattern})");
        }
    }
    format!(
        "/* The functions that a running host executes, in the order of their first use. \
         `cargo xtask function-order` writes this file. */\n\
         SECTIONS\n{{\n  .text.executed :\n  {{\n{lines}  }}\n}}\nINSERT BEFORE .text;\n"
    )
}

/// The name without its hash. A name without a hash is returned whole.
fn path(name: &str) -> &str {
    let Some((before, after)) = name.rsplit_once(BEFORE_HASH) else { return name };
    let digits = after.get(..HASH_DIGITS).unwrap_or_default();
    let has_hash = digits.len() == HASH_DIGITS && digits.bytes().all(|byte| byte.is_ascii_hexdigit());
    if has_hash { &name[..before.len() + BEFORE_HASH.len()] } else { name }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ONE: &str = ".text._ZN4core5slice4sort17h0123456789abcdefE";
    const OTHER: &str = ".text._ZN4core5slice4sort17hfedcba9876543210E";
    const BOTH: &str = ".text._ZN4core5slice4sort17h*";

    fn of(section: &str, address: u64, size: u64) -> Function {
        Function { section: section.to_owned(), address, size }
    }

    fn patterns(functions: &[Function], executed: &[u64]) -> Vec<String> {
        let script = script(functions, executed);
        let lines = script.lines().filter_map(|line| line.trim().strip_prefix("*(")?.strip_suffix(')'));
        lines.map(str::to_owned).collect()
    }

    #[test]
    fn a_map_has_the_functions_that_have_sections_of_their_own() {
        let map = "\
             VMA              LMA     Size Align Out     In      Symbol
             2e0              2e0       1c     1 .interp
             2e0              2e0       1c     1         <internal>:(.interp)
          a7a370          a7a370       12f    16 .text
          a7a370          a7a370       22    16         /usr/lib/Scrt1.o:(.text)
          a7a3a0          a7a3a0      12f    16         /with space/host.o:(.text._ZN8informer4main17h0123456789abcdefE)
          a7a3a0          a7a3a0      12f     1                 informer::main
          a7a4d0          a7a4d0        0     1         /host.o:(.text.empty)
          a7a4d0          a7a4d0        8     1         /host.rlib(x.o):(.text.unlikely.cold)
";

        let expected = [
            of(".text._ZN8informer4main17h0123456789abcdefE", 0xa7_a3a0, 0x12f),
            of(".text.unlikely.cold", 0xa7_a4d0, 8),
        ];
        assert_eq!(functions(map), expected);
    }

    #[test]
    fn executed_functions_are_named_in_the_order_of_their_first_use() {
        let functions = [of(".text.first", 1, 10), of(".text.never", 2, 10), of(".text.second", 3, 10)];

        assert_eq!(patterns(&functions, &[3, 1, 3, 4]), [".text.second", ".text.first"]);
    }

    #[test]
    fn a_family_is_named_last_if_more_than_a_third_of_it_was_executed_or_if_it_is_small() {
        let functions = |size| [of(ONE, 1, MAPPED), of(OTHER, 2, size), of(".text.main", 3, 10)];

        assert_eq!(patterns(&functions(2 * MAPPED - 1), &[1, 3]), [ONE, ".text.main", BOTH]);
        assert_eq!(patterns(&functions(2 * MAPPED), &[1, 3]), [ONE, ".text.main"]);
        assert_eq!(patterns(&functions(9 * MAPPED), &[1, 2]), [ONE, OTHER, BOTH]);
        let small = [of(ONE, 1, 100), of(OTHER, 2, MAPPED - 100)];
        assert_eq!(patterns(&small, &[1]), [ONE, BOTH]);
    }

    #[test]
    fn a_name_without_a_hash_stays_whole() {
        for name in [
            ".text.ZSTD_compress",
            ".text._ZN3foo17hashes_of_all_objectsE",
            "17h",
            ".text._ZN3foo17h0123E",
            ".text._ZN3foo17h0123456789abcdeéE",
        ] {
            assert_eq!(path(name), name);
        }
    }
}
