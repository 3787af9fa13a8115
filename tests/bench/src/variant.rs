//! Components that behave the same and have different digests.

/// The same component with another digest: the function appends a custom section that has no meaning.
pub(crate) fn variant(component: &[u8], number: usize) -> Vec<u8> {
    let number = u32::try_from(number).unwrap_or_default().to_le_bytes();
    // A section of kind 0 and six bytes: a name of one byte, and the number.
    [component, &[0, 6, 1, b'n'], &number].concat()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_variant_is_the_component_and_a_custom_section() {
        let variant = variant(b"\0asm", 258);

        assert_eq!(variant, [b"\0asm".as_slice(), &[0, 6, 1, b'n', 2, 1, 0, 0]].concat());
    }
}
