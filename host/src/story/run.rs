//! Plays a story: each step changes something, the plugin comes to rest, and what it did is compared.

use std::{collections::BTreeMap, time::Instant};

use informer_runtime::capabilities::{KeyValueSource, Place, Quota};

use super::{
    BadStory,
    cluster::refusal,
    expect::Expectation,
    expected::differs,
    file::{Buckets, Located},
    report::{Finding, StepReport, StoryReport, Verdict},
    script::{Action, Step, Story},
    seen::{Kind, Seen},
    setup,
    stage::Stage,
};
use crate::{
    config::Config,
    state::{KeyValues, State},
};

/// The name of the step in which the host starts.
const START: &str = "the plugin starts";

// === impl Story ===

impl Story {
    /// Plays the story.
    ///
    /// # Errors
    /// [`BadStory`] if the configuration, an object or a setting of the story is wrong, so that it cannot be played.
    pub async fn run(&self) -> Result<StoryReport, BadStory> {
        let config = setup::configuration(self)?;
        let bad = |line: Option<usize>, error: &anyhow::Error| BadStory {
            file: self.file.clone(),
            line,
            message: format!("{error:#}"),
        };
        let stage = Stage::new(self, &config).await;
        let mut stage = stage.map_err(|error| bad(None, &error))?;
        self.prepare(&stage, &config).await.map_err(|(line, error)| bad(line, &error))?;
        let mut steps = vec![self.start(&mut stage, config).await];
        let started = stage.app().is_ok() && !matches!(steps.first(), Some(step) if step.did_not_start);
        for step in &self.steps {
            steps.push(if started {
                Played::step(self, step, &mut stage).await
            } else {
                Played::skipped(step)
            });
        }
        stage.end().await;
        let steps = steps.into_iter().map(|played| played.report).collect();
        Ok(StoryReport { file: self.file.clone(), steps })
    }

    /// Creates the objects and key-values that exist before the host starts.
    async fn prepare(&self, stage: &Stage, config: &Config) -> Result<(), (Option<usize>, anyhow::Error)> {
        for Located { line, value } in &self.objects {
            let object = stage.cluster.in_a_namespace(value).await.map_err(|error| (Some(*line), error))?;
            stage.load(object).map_err(|error| (Some(*line), error))?;
        }
        let plugin = config.plugins.first();
        for watch in plugin.iter().flat_map(|plugin| &plugin.subscriptions).map(|on| &on.watch) {
            if !stage.cluster.serves(watch).await.map_err(|error| (None, error))? {
                let message = "the API server of the test does not serve it: add its CustomResourceDefinition to `objects`";
                return Err((None, anyhow::anyhow!("the plugin subscribes to {watch}, and {message}")));
            }
        }
        if !self.keyvalue.is_empty() {
            let store = KeyValues::new(State::open(Some(stage.state())));
            for (bucket, values) in &self.keyvalue {
                let place = Place { plugin: stage.plugin.as_str().into(), bucket: bucket.as_str().into() };
                let changes =
                    values.iter().map(|(key, value)| (key.clone(), Some(value.clone().into_bytes())));
                let written = store.change(place, changes.collect(), Quota(u64::MAX)).await;
                written.map_err(|error| (None, error.into()))?;
            }
        }
        Ok(())
    }

    async fn start(&self, stage: &mut Stage, config: Config) -> Played {
        let begun = Instant::now();
        let mut did_not_start = false;
        if let Err(error) = stage.start(config).await {
            did_not_start = true;
            stage.observed.add(Kind::Failures, Seen::text(format!("start: {error:#}")));
        }
        let mut played = Played::compared(START.to_owned(), (0, &self.start), stage, begun, Vec::new()).await;
        played.did_not_start = did_not_start;
        played
    }
}

/// A step that was played.
struct Played {
    report: StepReport,
    /// The plugin does not run.
    did_not_start: bool,
}

// === impl Played ===

impl Played {
    async fn step(story: &Story, step: &Step, stage: &mut Stage) -> Self {
        let begun = Instant::now();
        let mut findings = Vec::new();
        let done = act(story, &step.action, stage).await;
        let done = match done {
            Ok(()) if stage.app().is_ok() => stage.rest().await,
            other => other,
        };
        if let Err(error) = done {
            findings.push(Finding { line: step.line, text: refusal(&error).to_string() });
        }
        Self::compared(step.name.clone(), (step.line, &step.expect), stage, begun, findings).await
    }

    fn skipped(step: &Step) -> Self {
        let verdict = Verdict::Skipped("the plugin did not start".to_owned());
        let report = StepReport {
            name: step.name.clone(),
            took: std::time::Duration::ZERO,
            verdict,
            asides: Vec::new(),
        };
        Self { report, did_not_start: false }
    }

    async fn compared(
        name: String,
        (line, expect): (usize, &Expectation),
        stage: &Stage,
        begun: Instant,
        mut findings: Vec<Finding>,
    ) -> Self {
        let (seen, asides) = stage.observed.take();
        findings.extend(expect.compare(&seen, line));
        findings.extend(afterwards(expect, stage).await);
        let verdict = if findings.is_empty() { Verdict::Passed } else { Verdict::Failed(findings) };
        Self { report: StepReport { name, took: begun.elapsed(), verdict, asides }, did_not_start: false }
    }
}

async fn act(story: &Story, action: &Action, stage: &mut Stage) -> anyhow::Result<()> {
    match action {
        Action::Restart => stage.restart(setup::configuration(story)?).await,
        Action::Pass(by) => stage.pass(*by).await,
        Action::Key(key) => stage.add_key(key),
        Action::Files(files) => stage.write_files(files).await,
        // The future is boxed because it is large.
        other => stage.change(Box::pin(change(story, other, stage))).await,
    }
}

/// Makes a change from which notifications follow.
async fn change(story: &Story, action: &Action, stage: &Stage) -> anyhow::Result<()> {
    match action {
        Action::Add(manifests) => {
            for manifest in manifests {
                stage.cluster.add(manifest).await?;
                stage.followed().await?;
            }
        }
        Action::Update(manifests) => {
            for manifest in manifests {
                stage.cluster.update(manifest).await?;
                stage.followed().await?;
            }
        }
        Action::Delete(gvr, key) => stage.cluster.delete(gvr, key).await?,
        Action::Resync(gvr) => stage.resync(gvr)?,
        Action::Reload(settings) => {
            let mut all = story.settings.as_ref().map(|own| own.value.clone()).unwrap_or_default();
            all.extend(settings.clone());
            stage.reload(setup::with_settings(story, Some(&all))?).await?;
        }
        Action::Restart | Action::Pass(_) | Action::Key(_) | Action::Files(_) => {}
    }
    Ok(())
}

/// Compares the objects and the key-values after the step with those that are expected.
async fn afterwards(expect: &Expectation, stage: &Stage) -> Vec<Finding> {
    let mut findings = Vec::new();
    for Located { line, value } in &expect.objects {
        let problem = match stage.cluster.get(value).await {
            Ok(Some(object)) => differs(value, &object, "object"),
            Ok(None) => Some("the API server has no such object".to_owned()),
            Err(error) => Some(refusal(&error).to_string()),
        };
        findings.extend(problem.map(|text| Finding { line: *line, text: format!("objects: {text}") }));
    }
    for Located { line, value: (gvr, key) } in &expect.gone {
        let problem = match stage.cluster.exists(gvr, key).await {
            Ok(false) => None,
            Ok(true) => Some(format!("{gvr} {key} still exists")),
            Err(error) => Some(refusal(&error).to_string()),
        };
        findings.extend(problem.map(|text| Finding { line: *line, text: format!("gone: {text}") }));
    }
    if let Some(Located { line, value }) = &expect.keyvalue {
        let problem = key_values(value, stage).await.unwrap_or_else(|error| Some(format!("{error:#}")));
        findings.extend(problem.map(|text| Finding { line: *line, text: format!("keyvalue: {text}") }));
    }
    findings
}

/// Compares each bucket as a whole.
async fn key_values(expected: &Buckets, stage: &Stage) -> anyhow::Result<Option<String>> {
    let app = stage.app()?;
    for (bucket, expected) in expected {
        let found = app.key_values(&stage.plugin, bucket).await?;
        let text = |value: Vec<u8>| String::from_utf8_lossy(&value).into_owned();
        let found: BTreeMap<String, String> =
            found.into_iter().map(|(key, value)| (key, text(value))).collect();
        if found != *expected {
            return Ok(Some(format!("bucket `{bucket}` has {found:?}, not {expected:?}")));
        }
    }
    Ok(None)
}
