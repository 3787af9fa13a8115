//! The meaning of a story: the checked text of its file.

use std::{
    path::{Path, PathBuf},
    time::Duration,
};

use informer_system::read_file;
use informer_types::{Gvr, ObjectKey, Pattern};
use jiff::{SignedDuration, Timestamp};
use serde_json::{Map, Value};
use serde_saphyr::Spanned;

use super::{
    BadStory,
    answer::Answer,
    expect::Expectation,
    expected::Expected,
    file::{AnswerText, Buckets, ExpectText, Fault, Files, Located, StepText, StoryText},
    seen::Kind,
};

/// The most bytes of a story.
const BYTES: u64 = 16 << 20;

/// The wall clock of the guest at the start, unless the story sets it.
const CLOCK: &str = "2025-01-01T00:00:00Z";

/// A story that can be played.
#[derive(Debug)]
pub struct Story {
    pub(super) file: PathBuf,
    pub(super) config: PathBuf,
    pub(super) plugin: Option<Located<String>>,
    /// Time since 1970.
    pub(super) clock: Duration,
    /// Replaces keys of `[[plugin]]`.
    pub(super) settings: Option<Located<Map<String, Value>>>,
    pub(super) objects: Vec<Located<Value>>,
    pub(super) keyvalue: Buckets,
    /// The files of `config-files` that the story brings, at the start.
    pub(super) files: Files,
    pub(super) http: Vec<Answer>,
    pub(super) api: Vec<Answer>,
    pub(super) start: Expectation,
    pub(super) steps: Vec<Step>,
}

/// One step.
#[derive(Debug)]
pub(super) struct Step {
    pub(super) line: usize,
    pub(super) name: String,
    pub(super) action: Action,
    pub(super) expect: Expectation,
}

/// The action of a step.
#[derive(Debug)]
pub(super) enum Action {
    Add(Vec<Value>),
    Update(Vec<Value>),
    Delete(Gvr, ObjectKey),
    Resync(Gvr),
    Restart,
    Reload(Map<String, Value>),
    Pass(Duration),
    Key(String),
    Files(Files),
}

// === impl Story ===

impl Story {
    /// Reads the file of a story.
    ///
    /// # Errors
    /// [`BadStory`] with the first mistake.
    pub fn read(file: &Path) -> Result<Self, BadStory> {
        let bad = |line, message: String| BadStory { file: file.to_owned(), line, message };
        let bytes = read_file(file, BYTES).map_err(|error| bad(None, format!("cannot be read: {error}")))?;
        let text =
            String::from_utf8(bytes).map_err(|_| bad(None, "not UTF-8: save it as UTF-8".to_owned()))?;
        Self::parse(&text, file).map_err(|(line, message)| bad((line > 0).then_some(line), message))
    }

    /// Returns true if the plugin has `config-files` of the story.
    pub(super) fn brings_files(&self) -> bool {
        let writes = |step: &Step| matches!(step.action, Action::Files(_));
        !self.files.is_empty() || self.steps.iter().any(writes)
    }

    /// Reads the text of a story.
    pub(super) fn parse(text: &str, file: &Path) -> Result<Self, Fault> {
        let read: StoryText = serde_saphyr::from_str(text).map_err(|error| {
            let line = error.location().map_or(0, |location| line(location.line()));
            let message = error.without_snippet().to_string();
            // The line stands before the text already.
            let first = message.lines().next().unwrap_or_default();
            (line, first.rsplit_once(" at line ").map_or(first, |(text, _)| text).to_owned())
        })?;
        let base = file.parent().unwrap_or(Path::new(""));
        let clock = match &read.clock {
            Some(clock) => since_1970(&clock.value).map_err(|why| (at(clock), why))?,
            None => since_1970(CLOCK).map_err(|why| (0, why))?,
        };
        let objects: Vec<_> = read.objects.into_iter().map(located).collect();
        for object in &objects {
            named(&object.value).map_err(|why| (object.line, why))?;
        }
        Ok(Self {
            file: file.to_owned(),
            config: base.join(read.config),
            plugin: read.plugin.map(located),
            clock,
            settings: read.settings.map(located),
            objects,
            keyvalue: read.keyvalue,
            files: match read.files {
                Some(files) => {
                    let line = at(&files);
                    let texts = files.value.into_iter().map(|(name, text)| (name, Some(text)));
                    file_names(texts.collect()).map_err(|why| (line, why))?
                }
                None => Files::new(),
            },
            http: read.http.into_iter().map(answer).collect::<Result<_, _>>()?,
            api: read.api.into_iter().map(answer).collect::<Result<_, _>>()?,
            start: expectation(read.start.unwrap_or_default())?,
            steps: read.steps.into_iter().map(step).collect::<Result<_, _>>()?,
        })
    }
}

fn step(text: Spanned<StepText>) -> Result<Step, Fault> {
    let line = at(&text);
    let text = text.value;
    let mut actions: Vec<(&str, String, Action)> = Vec::new();
    if let Some(add) = text.add {
        let manifests = manifests(&add)?;
        actions.push(("add", shown(&manifests), Action::Add(manifests)));
    }
    if let Some(update) = text.update {
        let manifests = manifests(&update)?;
        actions.push(("update", shown(&manifests), Action::Update(manifests)));
    }
    if let Some(delete) = text.delete {
        let (gvr, key) = reference(&delete.value).map_err(|why| (at(&delete), why))?;
        actions.push(("delete", delete.value, Action::Delete(gvr, key)));
    }
    if let Some(resync) = text.resync {
        let gvr = gvr(&resync.value).map_err(|why| (at(&resync), why))?;
        actions.push(("resync", resync.value, Action::Resync(gvr)));
    }
    if let Some(restart) = text.restart {
        if !restart.value {
            return Err((at(&restart), "`restart` is true, or the step has another action".to_owned()));
        }
        actions.push(("restart", String::new(), Action::Restart));
    }
    if let Some(reload) = text.reload {
        actions.push(("reload", String::new(), Action::Reload(reload.value)));
    }
    if let Some(pass) = text.pass {
        let by = duration(&pass.value).map_err(|why| (at(&pass), why))?;
        actions.push(("pass", pass.value, Action::Pass(by)));
    }
    if let Some(key) = text.key {
        actions.push(("key", key.value.clone(), Action::Key(key.value)));
    }
    if let Some(files) = text.files {
        let names: Vec<&str> = files.value.keys().map(String::as_str).collect();
        let what = names.join(", ");
        let line = at(&files);
        actions.push(("files", what, Action::Files(file_names(files.value).map_err(|why| (line, why))?)));
    }
    let count = actions.len();
    let (Some((word, what, action)), 1) = (actions.pop(), count) else {
        let remedy =
            "write one of `add`, `update`, `delete`, `resync`, `restart`, `reload`, `pass`, `key` or `files`";
        return Err((line, format!("a step has one action, and this one has {count}: {remedy}")));
    };
    let name = text.name.unwrap_or_else(|| format!("{word} {what}").trim().to_owned());
    Ok(Step { line, name, action, expect: expectation(text.expect.unwrap_or_default())? })
}

fn expectation(text: ExpectText) -> Result<Expectation, Fault> {
    let mut lists = Vec::new();
    let given = [
        (Kind::Calls, text.calls),
        (Kind::Failures, text.failures),
        (Kind::Log, text.log),
        (Kind::Writes, text.writes),
        (Kind::Http, text.http),
    ];
    for (kind, list) in given {
        let Some(list) = list else { continue };
        let items = list.into_iter().map(|item| Expected::read(kind, located(item)));
        lists.push((kind, items.collect::<Result<Vec<_>, Fault>>()?));
    }
    let objects: Vec<_> = text.objects.into_iter().map(located).collect();
    for object in &objects {
        named(&object.value).map_err(|why| (object.line, why))?;
    }
    let gone = text.gone.into_iter().map(|gone| {
        let (gvr, key) = reference(&gone.value).map_err(|why| (at(&gone), why))?;
        Ok(Located { line: at(&gone), value: (gvr, key) })
    });
    let gone = gone.collect::<Result<Vec<_>, Fault>>()?;
    Ok(Expectation { lists, objects, gone, keyvalue: text.keyvalue.map(located) })
}

fn answer(text: Spanned<AnswerText>) -> Result<Answer, Fault> {
    let line = at(&text);
    let AnswerText { request, status, headers, body, json, times } = text.value;
    if !(100..=599).contains(&status) {
        return Err((line, format!("{status} is no status of HTTP: write a number from 100 to 599")));
    }
    let mut headers: Vec<_> = headers.into_iter().collect();
    let body = match (body, json) {
        (Some(_), Some(_)) => return Err((line, "an answer has `body` or `json`, not both".to_owned())),
        (Some(body), None) => body,
        (None, Some(json)) => {
            headers.push(("content-type".to_owned(), "application/json".to_owned()));
            json.to_string()
        }
        (None, None) => String::new(),
    };
    Ok(Answer { request: Pattern::new(request), status, headers, body, times })
}

/// The objects of `add` and `update`: one, or a list.
fn manifests(of: &Spanned<Value>) -> Result<Vec<Value>, Fault> {
    let list = match &of.value {
        Value::Array(list) => list.clone(),
        one => vec![one.clone()],
    };
    for object in &list {
        named(object).map_err(|why| (at(of), why))?;
    }
    Ok(list)
}

/// Files with names that a mounted ConfigMap may have.
fn file_names(files: Files) -> Result<Files, String> {
    match files.keys().find(|name| name.is_empty() || name.starts_with('.') || name.contains('/')) {
        Some(name) => Err(format!(
            "`{name}` is no file of `config-files`: write a name without a directory and without a dot at its beginning"
        )),
        None => Ok(files),
    }
}

fn shown(manifests: &[Value]) -> String {
    let all = manifests.iter().map(|object| {
        let text = |pointer| object.pointer(pointer).and_then(Value::as_str).unwrap_or_default();
        format!("{} {}", text("/kind"), text("/metadata/name"))
    });
    all.collect::<Vec<_>>().join(", ")
}

/// Checks that a manifest has the fields that identify its object.
fn named(object: &Value) -> Result<(), String> {
    for pointer in ["/apiVersion", "/kind", "/metadata/name"] {
        let field = || pointer.trim_start_matches('/').replace('/', ".");
        match object.pointer(pointer) {
            Some(Value::String(text)) if !text.is_empty() => {}
            None | Some(Value::Null | Value::String(_)) => {
                return Err(format!(
                    "the object has no `{}`: write it as in a manifest for kubectl",
                    field()
                ));
            }
            Some(other) => {
                return Err(format!(
                    "`{}` is {other}, which is no text in YAML: write it in quotes",
                    field()
                ));
            }
        }
    }
    Ok(())
}

/// `apps/v1/deployments default/web`
fn reference(text: &str) -> Result<(Gvr, ObjectKey), String> {
    let wanted = || {
        format!(
            "`{text}` names no object: write a resource and a key, like `apps/v1/deployments default/web`"
        )
    };
    let (resource, key) = text.trim().split_once(' ').ok_or_else(wanted)?;
    Ok((gvr(resource)?, key.trim().parse().map_err(|_| wanted())?))
}

fn gvr(text: &str) -> Result<Gvr, String> {
    text.parse().map_err(|error| format!("`{text}` is no resource: {error}"))
}

fn duration(text: &str) -> Result<Duration, String> {
    let parsed: Option<SignedDuration> = text.parse().ok();
    let parsed = parsed.and_then(|parsed| Duration::try_from(parsed).ok());
    parsed.ok_or_else(|| format!("`{text}` is no duration: write `30s`, `1h30m` or `500ms`"))
}

fn since_1970(text: &str) -> Result<Duration, String> {
    let parsed: Option<Timestamp> = text.parse().ok();
    let parsed = parsed.and_then(|time| Duration::try_from(time.as_duration()).ok());
    parsed.ok_or_else(|| format!("`{text}` is no time since 1970: write it like `{CLOCK}`"))
}

fn located<T>(of: Spanned<T>) -> Located<T> {
    Located { line: at(&of), value: of.value }
}

fn at<T>(of: &Spanned<T>) -> usize {
    line(of.referenced.line())
}

fn line(line: u64) -> usize {
    usize::try_from(line).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    const GUIDE: &str = include_str!("../../../plugins/guide/testing.md");

    fn parse(text: &str) -> Result<Story, Fault> {
        Story::parse(text, Path::new("a/b.test.yaml"))
    }

    #[test]
    fn each_block_of_the_guide_is_a_story() {
        // The name of the file stands behind the language.
        let after = GUIDE.split("```yaml ").skip(1);
        let blocks: Vec<&str> =
            after.filter_map(|rest| rest.split_once('\n')?.1.split("```").next()).collect();
        assert!(blocks.len() >= 2);
        for block in &blocks {
            let story = parse(block).unwrap_or_else(|(line, why)| panic!("line {line}: {why} in\n{block}"));
            assert_eq!(story.config, Path::new("a/informer.toml"));
        }
        let story = parse(blocks[0]).unwrap();
        let names: Vec<&str> = story.steps.iter().map(|step| step.name.as_str()).collect();
        assert_eq!(names, ["a Deployment is scaled", "delete apps/v1/deployments default/old"]);
        assert!(matches!(story.steps.last().unwrap().action, Action::Delete(..)));
    }

    #[test]
    fn lines_are_those_of_the_file() {
        let story = parse("steps:\n\n  - pass: 1m\n    expect:\n      log:\n        - a\n").unwrap();

        let step = story.steps.first().unwrap();
        assert_eq!(step.line, 3);
        assert!(matches!(step.action, Action::Pass(by) if by == Duration::from_secs(60)));
        assert_eq!(step.expect.lists.first().unwrap().1.first().unwrap().line, 6);
    }

    #[test]
    fn a_name_that_yaml_reads_as_another_value_needs_quotes() {
        for (name, read) in [("y", Some("true")), ("12", Some("12")), ("'y'", None)] {
            let object = format!("{{apiVersion: v1, kind: ConfigMap, metadata: {{name: {name}}}}}");
            let problem = parse(&format!("steps:\n  - add: {object}\n")).err().map(|(_, text)| text);

            let wanted = read.map(|read| format!("`metadata.name` is {read}, which is no text in YAML"));
            assert_eq!(problem.is_some(), wanted.is_some(), "{name}: {problem:?}");
            assert!(problem.unwrap_or_default().contains(&wanted.unwrap_or_default()), "{name}");
        }
    }

    #[test]
    fn a_list_without_a_value_is_empty_and_not_left_out() {
        let story = parse("steps:\n  - pass: 1m\n    expect:\n      log:\n      calls: []\n").unwrap();

        let lists = &story.steps.first().unwrap().expect.lists;
        let found: Vec<(Kind, usize)> = lists.iter().map(|(kind, list)| (*kind, list.len())).collect();
        assert_eq!(found, [(Kind::Calls, 0), (Kind::Log, 0)]);
    }

    #[test]
    fn nothing_that_can_be_written_panics() {
        for text in [
            "",
            "[]",
            "a",
            "steps: {}",
            "steps: [[]]",
            "steps: [{add: 1}]",
            "a: &a [*a]",
            "\u{feff}",
            "- - -",
            "{",
        ] {
            // An empty story is one.
            let _ = parse(text);
        }
        assert!(parse("steps: [{add: [1]}]").is_err());
        assert!(parse("http: [{request: a, status: 99}]").is_err());
        assert!(parse("http: [{request: a, body: a, json: 1}]").is_err());
        assert!(parse("steps: [{restart: false}]").is_err());
        assert!(parse("files: {../a: text}").is_err());
        assert!(parse("steps: [{files: {.a: text}}]").is_err());
        assert!(parse("clock: 1900-01-01T00:00:00Z").is_err());
    }
}
