//! The status in one line.

use std::{fmt, time::Duration};

use super::{InformerStatus, counted};

/// A duration in words: `3 s`, `4 min 10 s`, `2 h 5 min`, `3 d 1 h`.
pub(super) struct Lasting(pub(super) Duration);

impl fmt::Display for InformerStatus {
    /// One line: `v1/pods: watching, synced, 12 objects`, followed by the troubles.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let synced = if self.synced { "synced" } else { "not synced" };
        write!(f, "{}: {}, {synced}, {}", self.key, self.phase, counted(self.objects, "object"))?;
        let troubles = self.troubles();
        for trouble in &troubles {
            write!(f, "; {trouble}")?;
        }
        if let Some(reason) = self.unsynced_because().filter(|_| troubles.is_empty()) {
            write!(f, "; unsynced because {reason}")?;
        }
        for reason in self.reflectors.iter().filter_map(|reflector| reflector.plain_lists_because.as_ref()) {
            write!(f, "; plain lists because {reason}")?;
        }
        Ok(())
    }
}

impl fmt::Display for Lasting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Less than a second is shown as a second: "0 s" would mean no time at all.
        let seconds = (self.0.as_millis().div_ceil(1_000)).max(1);
        let (minutes, hours, days) = (seconds / 60, seconds / 3_600, seconds / 86_400);
        match (days, hours, minutes) {
            (0, 0, 0) => write!(f, "{seconds} s"),
            (0, 0, _) => write!(f, "{minutes} min {} s", seconds % 60),
            (0, ..) => write!(f, "{hours} h {} min", minutes % 60),
            _ => write!(f, "{days} d {} h", hours % 24),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_shown_in_the_two_largest_units() {
        for (millis, text) in [
            (0, "1 s"),
            (400, "1 s"),
            (59_900, "1 min 0 s"),
            (250_000, "4 min 10 s"),
            (7_500_000, "2 h 5 min"),
            (262_800_000, "3 d 1 h"),
        ] {
            assert_eq!(Lasting(Duration::from_millis(millis)).to_string(), text);
        }
    }
}
