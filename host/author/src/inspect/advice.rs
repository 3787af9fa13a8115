//! How a core module becomes a component.

use super::Toolchain;
use crate::Language;

/// The advice for a module of this toolchain with these imports.
pub(super) fn for_module(toolchain: Option<&Toolchain>, imports: &[String]) -> String {
    let informer_build = |language: Language| {
        format!(
            "`informer build` compiles {language} and makes a component of it; `informer new NAME --lang {}` writes a project \
             that shows how",
            language.word()
        )
    };
    match toolchain.map(|toolchain| toolchain.language) {
        Some(Language::Rust) if imports.iter().any(|import| import.starts_with("__wbindgen")) => {
            "it was built for a browser by wasm-bindgen: write it with informer-sdk, and build it with `cargo build --release \
             --target wasm32-wasip2`"
                .to_owned()
        }
        Some(Language::Rust) => {
            "build it for the target that gives components: `rustup target add wasm32-wasip2`, then `cargo build --release \
             --target wasm32-wasip2`"
                .to_owned()
        }
        Some(language) => informer_build(language),
        None => "`informer build` makes components of Rust, JavaScript, TypeScript, Python, Go and C; with another language, use \
                 `wasm-tools component new`"
            .to_owned(),
    }
}
