//! Types for TypeScript: a declaration file for the modules of a world, as the engine represents them.
//!
//! | WIT | TypeScript |
//! |---|---|
//! | names | `camelCase` for fields and functions, `PascalCase` for types |
//! | `option<T>` | `T \| null` |
//! | the result `result<T, E>` of a function | `T`; `E` is thrown, in `payload` of the exception if the host throws it |
//! | `result<T, E>` anywhere else | `{ tag: "ok", val: T } \| { tag: "err", val: E }` |
//! | `u64`, `s64` | `number` in QuickJS, `bigint` in StarlingMonkey |
//! | `variant` | `{ tag, val }` |
//! | `enum` | the texts of the cases |
//! | `list<u8>` | `Uint8Array` |
#![expect(clippy::indexing_slicing, reason = "an id of a `Resolve` is in its arena")]

use std::fmt::Write as _;

use heck::{ToLowerCamelCase as _, ToUpperCamelCase as _};
use wit_parser::{
    Function, FunctionKind, Handle, Interface, Resolve, Type, TypeDef, TypeDefKind, TypeOwner, WorldItem,
};

use super::Generated;
use crate::{Engine, wit_world::World};

const HEAD: &str = "// Written by `informer build` from the WIT files. A function whose WIT type is a `result` throws its error.\n";

/// The name of the type of 64-bit integers, which differs between the engines. No name of WIT becomes this one.
const INTEGER_64: &str = "Integer_64";

/// The declarations of the world: `informer.d.ts`.
pub(crate) fn typescript(world: &World, engine: Engine) -> Generated {
    let World { resolve, id, .. } = world;
    let integer = match engine {
        Engine::QuickJs => "number",
        Engine::StarlingMonkey => "bigint",
    };
    let mut text = format!("{HEAD}\ntype {INTEGER_64} = {integer};\n");
    for (key, item) in &resolve.worlds[*id].imports {
        if let WorldItem::Interface { id, .. } = item {
            text += &module(resolve, &resolve.name_world_key(key), &resolve.interfaces[*id], false);
        }
    }
    for (key, item) in &resolve.worlds[*id].exports {
        if let WorldItem::Interface { id, .. } = item {
            text += &module(resolve, &resolve.name_world_key(key), &resolve.interfaces[*id], true);
        }
    }
    vec![("informer.d.ts".to_owned(), text)]
}

/// An interface as an ambient module. An exported one has the type `Exports` of the object that a plugin exports.
fn module(resolve: &Resolve, name: &str, interface: &Interface, exported: bool) -> String {
    let mut body = String::new();
    for id in interface.types.values() {
        definition(resolve, interface, &resolve.types[*id], &mut body);
    }
    let functions =
        interface.functions.values().filter(|function| function.kind == FunctionKind::Freestanding);
    let (indent, keyword) = if exported { ("    ", "") } else { ("  ", "export function ") };
    let signatures = functions.map(|function| {
        let comment = comment(function.docs.contents.as_deref(), indent);
        let (name, signature) = (function.name.to_lower_camel_case(), signature(resolve, function, 0));
        format!("{comment}{indent}{keyword}{name}{signature};\n")
    });
    let functions: String = signatures.collect();
    if exported {
        // Writing to a string does not fail.
        let _ = write!(body, "  export interface Exports {{\n{functions}  }}\n");
    } else {
        body += &functions;
    }
    format!("\ndeclare module \"{name}\" {{\n{body}}}\n")
}

fn definition(resolve: &Resolve, interface: &Interface, definition: &TypeDef, out: &mut String) {
    let Some(name) = definition.name.as_ref().map(|name| name.to_upper_camel_case()) else { return };
    *out += &comment(definition.docs.contents.as_deref(), "  ");
    let line = match &definition.kind {
        TypeDefKind::Record(record) => {
            let fields = record.fields.iter().map(|field| {
                let comment = comment(field.docs.contents.as_deref(), "    ");
                format!("{comment}    {}: {};\n", field.name.to_lower_camel_case(), of(resolve, &field.ty))
            });
            format!("  export interface {name} {{\n{}  }}\n", fields.collect::<String>())
        }
        TypeDefKind::Resource => class(resolve, interface, definition, &name),
        TypeDefKind::Type(Type::Id(id)) if resolve.types[*id].owner != definition.owner => {
            imported(resolve, &resolve.types[*id], &name)
        }
        kind => format!("  export type {name} = {};\n", structure(resolve, kind)),
    };
    *out += &line;
}

/// A type that another interface defines.
fn imported(resolve: &Resolve, definition: &TypeDef, name: &str) -> String {
    let TypeOwner::Interface(owner) = definition.owner else { return String::new() };
    let module = resolve.id_of(owner).unwrap_or_default();
    let original = definition.name.as_deref().unwrap_or_default().to_upper_camel_case();
    format!("  export type {name} = import(\"{module}\").{original};\n")
}

fn class(resolve: &Resolve, interface: &Interface, definition: &TypeDef, name: &str) -> String {
    let mut text = format!("  export class {name} {{\n");
    for function in interface.functions.values() {
        let belongs = |id| std::ptr::eq(&raw const resolve.types[id], definition);
        let (prefix, skipped) = match function.kind {
            FunctionKind::Method(id) if belongs(id) => ("", 1),
            FunctionKind::Static(id) if belongs(id) => ("static ", 0),
            FunctionKind::Constructor(id) if belongs(id) => {
                let parameters = parameters(resolve, function, 0);
                // Writing to a string does not fail.
                let _ = writeln!(text, "    constructor({parameters});");
                continue;
            }
            _ => continue,
        };
        let method = function.item_name().to_lower_camel_case();
        let comment = comment(function.docs.contents.as_deref(), "    ");
        // Writing to a string does not fail.
        let _ = writeln!(text, "{comment}    {prefix}{method}{};", signature(resolve, function, skipped));
    }
    text + "  }\n"
}

/// The parameters after the first `skipped` ones, and the result.
fn signature(resolve: &Resolve, function: &Function, skipped: usize) -> String {
    // The error of a `result` is thrown.
    let returned = function.result.as_ref().and_then(|ty| match ty {
        Type::Id(id) => match &resolve.types[*id].kind {
            TypeDefKind::Result(result) => result.ok.as_ref(),
            _ => Some(ty),
        },
        _ => Some(ty),
    });
    let returned = returned.map_or_else(|| "void".to_owned(), |ty| of(resolve, ty));
    format!("({}): {returned}", parameters(resolve, function, skipped))
}

/// The parameters after the first `skipped` ones.
fn parameters(resolve: &Resolve, function: &Function, skipped: usize) -> String {
    let parameters: Vec<String> = function
        .params
        .iter()
        .skip(skipped)
        .map(|parameter| {
            // `new` and other words of the language are no names of parameters.
            format!("{}_: {}", parameter.name.to_lower_camel_case(), of(resolve, &parameter.ty))
        })
        .collect();
    parameters.join(", ")
}

fn of(resolve: &Resolve, ty: &Type) -> String {
    match ty {
        Type::Bool => "boolean".to_owned(),
        Type::String | Type::Char => "string".to_owned(),
        Type::U64 | Type::S64 => INTEGER_64.to_owned(),
        Type::Id(id) => match &resolve.types[*id] {
            TypeDef { name: Some(name), .. } => name.to_upper_camel_case(),
            definition => structure(resolve, &definition.kind),
        },
        _ => "number".to_owned(),
    }
}

fn structure(resolve: &Resolve, kind: &TypeDefKind) -> String {
    let ty = |ty: &Type| of(resolve, ty);
    match kind {
        TypeDefKind::Type(other) => ty(other),
        TypeDefKind::Handle(Handle::Own(id) | Handle::Borrow(id)) => ty(&Type::Id(*id)),
        TypeDefKind::Option(inner) => format!("{} | null", ty(inner)),
        TypeDefKind::List(Type::U8) => "Uint8Array".to_owned(),
        TypeDefKind::List(inner) => format!("Array<{}>", ty(inner)),
        TypeDefKind::Tuple(tuple) => {
            format!("[{}]", tuple.types.iter().map(ty).collect::<Vec<_>>().join(", "))
        }
        TypeDefKind::Result(result) => {
            [case("ok", result.ok.as_ref().map(ty)), case("err", result.err.as_ref().map(ty))].join(" | ")
        }
        TypeDefKind::Enum(cases) => {
            cases.cases.iter().map(|case| format!("\"{}\"", case.name)).collect::<Vec<_>>().join(" | ")
        }
        TypeDefKind::Variant(variant) => {
            let cases = variant.cases.iter().map(|one| case(&one.name, one.ty.as_ref().map(ty)));
            cases.collect::<Vec<_>>().join(" | ")
        }
        TypeDefKind::Flags(flags) => {
            let fields =
                flags.flags.iter().map(|flag| format!("{}: boolean", flag.name.to_lower_camel_case()));
            format!("{{ {} }}", fields.collect::<Vec<_>>().join("; "))
        }
        // The interfaces of a plugin have no other types.
        _ => "unknown".to_owned(),
    }
}

/// A case of a variant, with the type of its value.
fn case(tag: &str, value: Option<String>) -> String {
    match value {
        Some(value) => format!("{{ tag: \"{tag}\"; val: {value} }}"),
        None => format!("{{ tag: \"{tag}\" }}"),
    }
}

/// The documentation of an item, as a comment.
fn comment(docs: Option<&str>, indent: &str) -> String {
    let Some(docs) = docs else { return String::new() };
    let lines = docs
        .lines()
        .map(|line| format!("{indent} * {}", line.replace("*/", "* /")).trim_end().to_owned() + "\n");
    format!("{indent}/**\n{}{indent} */\n", lines.collect::<String>())
}
