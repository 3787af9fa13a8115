//! Debug information that is hostile: another process looks places up in it, within limits.

use std::fs;

use informer_guests::guest;

use super::compile::{Stage, sized, status};

/// More memory than the host of this test takes, with the sections of a component of 15 MB, in kB. The table of lines takes 360 MB.
const HOST_KB: u64 = 256 << 10;

/// The rows of the table of lines. Each has one byte in the component.
const ROWS: usize = 15_000_000;

/// The component with these sections at the end of its first core module.
fn with_sections(component: &[u8], sections: &[(&str, Vec<u8>)]) -> Vec<u8> {
    const CORE_MODULE: u8 = 1;
    let mut at = 8;
    loop {
        let id = component[at];
        let (mut length, mut shift, mut content) = (0, 0, at + 1);
        loop {
            let byte = component[content];
            length |= usize::from(byte & 0x7f) << shift;
            (shift, content) = (shift + 7, content + 1);
            if byte < 0x80 {
                break;
            }
        }
        let end = content + length;
        if id != CORE_MODULE {
            at = end;
            continue;
        }
        let mut module = component[content..end].to_vec();
        for (name, bytes) in sections {
            module.push(0);
            module.extend(sized(&[sized(name.as_bytes()), bytes.clone()].concat()));
        }
        return [&component[..=at], &sized(&module), &component[end..]].concat();
    }
}

/// A length of four bytes, and the bytes.
fn unit(bytes: &[u8]) -> Vec<u8> {
    [&u32::try_from(bytes.len()).unwrap().to_le_bytes(), bytes].concat()
}

/// DWARF 4 in which one unit covers all code, and its table has a row for each of many addresses.
fn table_of_lines() -> Vec<(&'static str, Vec<u8>)> {
    // A unit without children, with the places of its table and its first and last address.
    let abbreviations = vec![1, 0x11, 0, 0x10, 0x17, 0x11, 0x01, 0x12, 0x06, 0, 0, 0];
    let information = unit(&[&[4, 0][..], &[0; 4], &[4, 1], &[0; 4], &[0; 4], &[0xff; 4]].concat());
    // Special operations advance the address by one in steps of 14 from 13 on; the line of the last ones changes by zero.
    let header =
        [&[1, 1, 1, 0xfb, 14, 13][..], &[0, 1, 1, 1, 1, 0, 0, 0, 1, 0, 0, 1], &[0], b"a\0\0\0\0", &[0]]
            .concat();
    let lines = unit(&[&[4, 0][..], &unit(&header), &vec![32; ROWS], &[0, 1, 1]].concat());
    vec![(".debug_abbrev", abbreviations), (".debug_info", information), (".debug_line", lines)]
}

/// A component that traps when it starts, with a table of lines that expands.
pub(super) fn bomb() -> Vec<u8> {
    with_sections(&fs::read(guest("trap_start")).unwrap(), &table_of_lines())
}

#[tokio::test]
async fn a_table_of_lines_that_expands_is_given_up_and_the_host_stays_small() {
    let stage = Stage::new().await;
    let bomb = stage.path("bomb.wasm");
    fs::write(&bomb, self::bomb()).unwrap();
    let mut host = stage.run("", &[("bomb", &*bomb)]).await;

    let line = host.logged("the debug information of a component cannot be used").await;

    assert!(line.contains("a look-up in it"), "{line}");
    let most = status(host.id(), "VmHWM").unwrap();
    assert!(most < HOST_KB, "the host had {most} kB");
    host.stop().await;
}
