//! The ready-made plugins of `plugins` together in one configuration.

use std::{
    collections::BTreeMap,
    fs, io,
    path::{Path, PathBuf},
};

/// The fragments of these plugins as they are shipped, as one text. `component` is the file of the component of a plugin, and
/// `adjust` may change the text of the fragment of a plugin before that.
///
/// If several fragments watch a resource, the text has one watch of it. This watch keeps whole objects if one of the fragments needs more
/// than the metadata.
///
/// # Errors
/// A fragment cannot be read.
pub fn fragments(
    names: &[&str],
    component: impl Fn(&str) -> PathBuf,
    adjust: impl Fn(&str, String) -> String,
) -> io::Result<String> {
    let plugins = Path::new(env!("CARGO_MANIFEST_DIR")).join("../plugins");
    let mut watches: BTreeMap<String, String> = BTreeMap::new();
    let mut text = String::new();
    for name in names {
        let fragment = fs::read_to_string(plugins.join(name).join("informer.toml"))?;
        let shipped = format!("../../target/wasm32-wasip2/plugin/informer_{}.wasm", name.replace('-', "_"));
        let fragment = adjust(name, fragment.replace(&shipped, &component(name).display().to_string()));
        for table in tables(&fragment) {
            match resource(&table) {
                Some(gvr) => keep(watches.entry(gvr).or_default(), table),
                None => text.push_str(&table),
            }
        }
        text.push('\n');
    }
    Ok(watches.into_values().collect::<String>() + &text)
}

/// The tables of the first level, each with what is below it.
fn tables(fragment: &str) -> Vec<String> {
    let mut tables = vec![String::new()];
    for line in fragment.lines() {
        if line.starts_with("[[") {
            tables.push(String::new());
        }
        if let Some(table) = tables.last_mut() {
            table.push_str(line);
            table.push('\n');
        }
    }
    tables
}

/// The resource of a `[[watch]]`.
fn resource(table: &str) -> Option<String> {
    let lines = table.strip_prefix("[[watch]]\n")?;
    let gvr = lines.lines().find_map(|line| line.strip_prefix("gvr = \""))?;
    Some(gvr.trim_end_matches('"').to_owned())
}

/// Keeps the watch that keeps more of the objects.
fn keep(kept: &mut String, other: String) {
    let rank = |table: &str| (!table.contains("metadata-only = true"), table.contains("[watch.index]"));
    if kept.is_empty() || rank(&other) > rank(kept) {
        *kept = other;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_resource_that_several_plugins_watch_is_watched_once_and_whole() {
        let names = ["janitor", "reloader", "replicator"];
        let text = fragments(&names, |name| PathBuf::from(name), |_, text| text).unwrap();
        assert_eq!(text.matches("gvr = \"v1/configmaps\"").count(), 1);
        assert_eq!(text.matches("[[plugin]]").count(), 3);
        let maps = tables(&text).into_iter().find(|table| table.contains("gvr = \"v1/configmaps\""));
        let maps = maps.unwrap();
        assert!(!maps.contains("metadata-only") && maps.contains("[watch.index]"), "{maps}");
    }
}
