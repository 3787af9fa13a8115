//! Numbers of bytes.

use serde_json::{Value, json};
use toml::de::DeValue;

use super::scalar::{Scalar, wrong_type};
use crate::config::problem::Fault;

/// The units, the largest first: powers of 1024, as the names say.
const UNITS: [(&str, usize); 4] = [("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10), ("B", 1)];

/// A number of bytes. In the file a text with a unit, `"64MiB"`; a plain number is bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(in crate::config) struct Size(pub(in crate::config) usize);

// === impl Size ===

impl Scalar for Size {
    const KIND: &'static str = "a size";

    fn example() -> String {
        "\"64MiB\"".to_owned()
    }

    fn parse(text: &str) -> Result<Self, Fault> {
        let number = text.trim_end_matches(|letter: char| !letter.is_ascii_digit());
        let unit = text.strip_prefix(number).unwrap_or_default();
        let factor = UNITS.iter().find(|(name, _)| *name == unit).map(|(_, factor)| *factor);
        let is_number = !number.is_empty() && number.bytes().all(|digit| digit.is_ascii_digit());
        match factor {
            Some(factor) if is_number => {
                let bytes = number.parse().ok().and_then(|number: usize| number.checked_mul(factor));
                bytes.map(Self).ok_or_else(|| {
                    let most = format!("write at most \"{}GiB\"", usize::MAX >> 30);
                    Fault::new(
                        format!("`{text}` is larger than the memory that this machine can address"),
                        most,
                    )
                })
            }
            _ => Err(Fault::new(format!("`{text}` is not a size"), remedy(number, unit, is_number))),
        }
    }

    fn read(value: &DeValue<'_>) -> Result<Self, Fault> {
        match value {
            DeValue::String(text) => Self::parse(text),
            DeValue::Integer(number) => {
                let fault = |_| Fault::new(format!("{number} is not a size"), "write for example \"64MiB\"");
                usize::from_str_radix(number.as_str(), number.radix()).map(Self).map_err(fault)
            }
            _ => Err(wrong_type::<Self>(value)),
        }
    }

    /// With the largest unit that leaves a whole number.
    fn plain(&self) -> String {
        let whole = UNITS.iter().find(|(_, factor)| self.0 >= *factor && self.0.is_multiple_of(*factor));
        let (unit, factor) = whole.copied().unwrap_or(("B", 1));
        format!("{}{unit}", self.0 / factor)
    }

    fn schema(bounds: Option<&(Self, Self)>) -> Value {
        let text = json!({"type": "string", "pattern": "^[0-9]+(B|KiB|MiB|GiB)$"});
        let (least, most) = bounds.map_or((0, usize::MAX >> 1), |(least, most)| (least.0, most.0));
        json!({"anyOf": [text, {"type": "integer", "minimum": least, "maximum": most}]})
    }
}

/// `64Mi`, `64MB`, `64m`: the unit is guessed by its first letter.
fn remedy(number: &str, unit: &str, is_number: bool) -> String {
    let letter = unit.chars().next().map(|letter| letter.to_ascii_uppercase());
    let meant = UNITS.iter().find(|(name, _)| is_number && name.chars().next() == letter);
    match meant {
        Some((name, _)) => format!("did you mean \"{number}{name}\"?"),
        None => "write a whole number with the unit B, KiB, MiB or GiB, like \"64MiB\"".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_unit_multiplies() {
        for (text, bytes) in
            [("0B", 0), ("512B", 512), ("64KiB", 65_536), ("64MiB", 64 << 20), ("4GiB", 4 << 30)]
        {
            assert_eq!(Size::parse(text), Ok(Size(bytes)), "{text}");
        }
    }

    #[test]
    fn a_text_without_a_unit_or_with_an_unknown_one_is_refused() {
        for (text, remedy) in [
            ("64Mi", "did you mean \"64MiB\"?"),
            ("64MB", "did you mean \"64MiB\"?"),
            ("64m", "did you mean \"64MiB\"?"),
            ("64 KiB", "write a whole number with the unit B, KiB, MiB or GiB, like \"64MiB\""),
            ("1.5GiB", "write a whole number with the unit B, KiB, MiB or GiB, like \"64MiB\""),
            ("64", "write a whole number with the unit B, KiB, MiB or GiB, like \"64MiB\""),
            ("", "write a whole number with the unit B, KiB, MiB or GiB, like \"64MiB\""),
            ("-1MiB", "write a whole number with the unit B, KiB, MiB or GiB, like \"64MiB\""),
            ("MiB", "write a whole number with the unit B, KiB, MiB or GiB, like \"64MiB\""),
        ] {
            assert_eq!(Size::parse(text), Err(Fault::new(format!("`{text}` is not a size"), remedy)));
        }
    }

    #[test]
    fn a_size_beyond_the_machine_is_refused() {
        assert!(Size::parse("18446744073709551615GiB").is_err());
        assert!(Size::parse("99999999999999999999999B").is_err());
    }

    proptest! {
        #[test]
        fn a_shown_size_reads_back(bytes: usize) {
            prop_assert_eq!(Size::parse(&Size(bytes).plain()), Ok(Size(bytes)));
        }
    }
}
