//! Bindings for C: a header and its implementation, from wit-bindgen.

use heck::ToShoutySnakeCase as _;
use wit_bindgen_c::{Opts, component_type_object::linking_symbol};

use super::{Generated, NoBindings, generated};
use crate::wit_world::World;

/// The name of the files and the prefix of the types that belong to no interface.
const NAME: &str = "plugin";

/// The bindings of the world: `plugin.h` and `plugin.c`, and what the SDK needs to know about the world.
///
/// # Errors
/// The generator does not support the world.
pub(crate) fn c(world: &mut World) -> Result<Generated, NoBindings> {
    // The build embeds the type of the component, so no object file has to.
    let exports: String = world.exported_interfaces().iter().map(|name| define(name)).collect();
    let options = Opts { no_object_file: true, rename_world: Some(NAME.to_owned()), ..Opts::default() };
    let mut files = generated(options.build(), world)?;
    let symbol = linking_symbol(NAME);
    files.push((
        "component_type.c".to_owned(),
        format!(
            "// The generated code refers to this function, and never calls it.\nvoid {symbol}(void) {{}}\n"
        ),
    ));
    files.push(("world.h".to_owned(), format!("// What the world exports.\n{exports}")));
    Ok(files)
}

fn define(interface: &str) -> String {
    format!("#define INFORMER_WORLD_{}\n", interface.to_shouty_snake_case())
}
