//! Bindings: the interfaces of a world in a language.

mod c;
mod go;
mod typescript;

use wit_bindgen_core::{Files, WorldGenerator};

use crate::wit_world::World;

pub(crate) use c::c;
pub(crate) use go::go;
pub(crate) use typescript::typescript;

/// A generated file: the path below the folder of the bindings, and the text.
pub(crate) type Generated = Vec<(String, String)>;

/// Bindings that cannot be generated, because the world has something that the language does not support.
#[derive(Debug, thiserror::Error)]
#[error("no bindings can be generated for the world")]
pub struct NoBindings(#[source] Box<dyn std::error::Error + Send + Sync>);

/// Runs a generator of wit-bindgen.
fn generated(mut generator: Box<dyn WorldGenerator>, world: &mut World) -> Result<Generated, NoBindings> {
    let mut files = Files::default();
    generator.generate(&mut world.resolve, world.id, &mut files).map_err(|error| NoBindings(error.into()))?;
    let text =
        |(path, contents): (&str, &[u8])| (path.to_owned(), String::from_utf8_lossy(contents).into_owned());
    Ok(files.iter().map(text).collect())
}

#[cfg(test)]
mod tests;
