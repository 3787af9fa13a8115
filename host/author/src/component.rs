//! From a core module to a component.

use wasi_preview1_component_adapter_provider::{
    WASI_SNAPSHOT_PREVIEW1_ADAPTER_NAME, WASI_SNAPSHOT_PREVIEW1_REACTOR_ADAPTER,
};
use wit_component::{ComponentEncoder, StringEncoding, embed_component_metadata};

use crate::{Language, wit_world::World};

/// A module that cannot become a component of a world.
#[derive(Debug, thiserror::Error)]
#[error("the compiled module does not fit the world")]
pub struct NotOfTheWorld(#[source] Box<dyn std::error::Error + Send + Sync>);

/// Makes a component of a core module that was compiled for WASI preview 1 with the bindings of the world. It imports only what
/// the module calls.
///
/// # Errors
/// The module lacks an export of the world, or imports what neither the world nor WASI has.
pub(crate) fn of_module(mut module: Vec<u8>, world: &World) -> Result<Vec<u8>, NotOfTheWorld> {
    let mut encode = || {
        embed_component_metadata(&mut module, &world.resolve, world.id, StringEncoding::UTF8)?;
        let (name, adapter) = (WASI_SNAPSHOT_PREVIEW1_ADAPTER_NAME, WASI_SNAPSHOT_PREVIEW1_REACTOR_ADAPTER);
        ComponentEncoder::default().validate(true).module(&module)?.adapter(name, adapter)?.encode()
    };
    encode().map_err(|error| NotOfTheWorld(error.into()))
}

/// Writes into a component what its source is written in: a section `producers` at its end, as the tool conventions of
/// WebAssembly define it.
pub(crate) fn declare(component: &mut Vec<u8>, language: Language) {
    // One field with one value.
    let mut section = vec![1];
    text_into(&mut section, "language");
    section.push(1);
    text_into(&mut section, &language.to_string());
    text_into(&mut section, "");
    section_into(component, "producers", &section);
}

/// Appends a custom section to a component or a module.
pub(crate) fn section_into(component: &mut Vec<u8>, name: &str, contents: &[u8]) {
    let mut section = Vec::new();
    text_into(&mut section, name);
    section.extend(contents);
    component.push(0);
    length_into(component, section.len());
    component.extend(section);
}

fn text_into(bytes: &mut Vec<u8>, text: &str) {
    length_into(bytes, text.len());
    bytes.extend(text.bytes());
}

/// A number in LEB128.
pub(crate) fn length_into(bytes: &mut Vec<u8>, mut number: usize) {
    loop {
        let low = u8::try_from(number & 0x7f).unwrap_or_default();
        number >>= 7;
        if number == 0 {
            return bytes.push(low);
        }
        bytes.push(low | 0x80);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Inspection;

    #[test]
    fn a_component_shows_the_language_that_was_declared() {
        let mut component = wat::parse_str("(component (core module))").unwrap();

        declare(&mut component, Language::Ts);

        let toolchain = Inspection::of(&component).unwrap().toolchain.unwrap();
        assert_eq!((toolchain.language, toolchain.compiler), (Language::Ts, None));
    }
}
