//! `[[plugin.timer]]`: times at which a plugin is called.

use std::{sync::LazyLock, time::Duration};

use crate::{
    config::{
        key::{Draft, Key, Section},
        problem::{Fault, Located, Problems},
        value::Name,
    },
    cron::Cron,
};

/// The shortest and the longest period.
const PERIODS: (Duration, Duration) = (Duration::from_secs(1), Duration::from_secs(7 * 24 * 60 * 60));

/// A time at which a plugin is called again and again.
#[derive(Clone, Debug, PartialEq)]
pub struct Timer {
    /// A DNS label. No two timers of a plugin have the same name.
    pub name: String,
    /// When it fires.
    pub schedule: Schedule,
}

/// When a timer fires.
#[derive(Clone, Debug, PartialEq)]
pub enum Schedule {
    /// After this period, by a clock that never jumps.
    Every(Duration),
    /// At these times of the wall clock, in UTC.
    Cron(Cron),
}

/// `[[plugin.timer]]` as it is written.
#[derive(Clone, Debug, Default)]
pub(super) struct TimerKeys {
    name: String,
    every: Option<Duration>,
    cron: Option<Cron>,
}

type K<V> = Key<TimerKeys, V>;

pub(super) static TIMER: LazyLock<Section<TimerKeys>> = LazyLock::new(|| {
    Section {
    doc: "A timer that calls the plugin at regular times. The component must export `timer-handler` of \
          informer:plugin@0.2.0. If the timer fires while its call is pending, nothing more happens; if it \
          fires while its call runs, one more call follows. A call that fails is made again as \
          [plugin.retry] says, and the timer fires at its next time in any case.",
    keys: vec![
        K::<Name>::new("name", |timer| &mut timer.name)
            .required("\"nightly\"")
            .doc("The name that the plugin is called with. No two timers of the plugin have the same name."),
        K::<Duration>::new("every", |timer| &mut timer.every).within(PERIODS).example("\"30s\"").doc(
            "The time from one call to the next, and from the start of the plugin to the first call. It is \
             measured by a clock that never jumps.",
        ),
        K::<Cron>::new("cron", |timer| &mut timer.cron).example("\"0 3 * * *\"").doc(
            "The times of the wall clock in UTC, in place of `every`: minute, hour, day of the month, month \
             and day of the week, or a word like \"@daily\". A jump of the wall clock takes effect within ten minutes.",
        ),
    ],
}
});

/// Judges the timers of a plugin.
pub(super) fn timers(written: Vec<Draft<TimerKeys>>, problems: &mut Problems<'_>) -> Vec<Timer> {
    let mut seen: Vec<Located<String>> = Vec::new();
    let mut timers = Vec::with_capacity(written.len());
    for draft in written {
        let TimerKeys { name, every, cron } = draft.value.clone();
        if let Some(place) = draft.written("name").map(|place| place.with(name.clone())) {
            if let Some(earlier) = seen.iter().find(|earlier| earlier.value == place.value) {
                let line = problems.line(earlier.at, place.at);
                let message = format!("a timer {line} is named `{name}` already");
                problems.refuse(&place, Fault::new(message, "give each its own name"));
            }
            seen.push(place);
        }
        let refused = draft.is_refused("every") || draft.is_refused("cron");
        let schedule = match (every, cron) {
            (Some(every), None) => Schedule::Every(every),
            (None, Some(cron)) => Schedule::Cron(cron),
            (Some(_), Some(_)) => {
                if let Some(place) = draft.written("cron") {
                    let fault = Fault::new("it has `every` too, and one timer has one of them", "remove one");
                    problems.refuse(place, fault);
                }
                continue;
            }
            (None, None) => {
                if let Some(place) = draft.place.as_ref().filter(|_| !refused) {
                    let remedy = "write every = \"30s\" or cron = \"0 3 * * *\"";
                    problems.refuse(place, Fault::new("it never fires", remedy));
                }
                continue;
            }
        };
        timers.push(Timer { name, schedule });
    }
    timers
}
