//! Durations as kubectl prints them: `5s`, `3m12s`, `4h5m`, `2d`.

use jiff::Timestamp;

/// The time since a Kubernetes timestamp; `<unknown>` if the text is not a timestamp.
pub(super) fn since(time: &str) -> String {
    match time.parse::<Timestamp>() {
        Ok(then) => human(Timestamp::now().as_second().saturating_sub(then.as_second())),
        Err(_) => "<unknown>".to_owned(),
    }
}

/// Formats with two units if the larger unit alone is too coarse.
fn human(seconds: i64) -> String {
    let seconds = seconds.max(0);
    let (minutes, hours, days) = (seconds / 60, seconds / 3600, seconds / 86_400);
    let pair = |large: i64, unit: char, small: i64, small_unit: char| match small {
        0 => format!("{large}{unit}"),
        _ => format!("{large}{unit}{small}{small_unit}"),
    };
    match seconds {
        0..120 => format!("{seconds}s"),
        120..600 => pair(minutes, 'm', seconds % 60, 's'),
        600..10_800 => format!("{minutes}m"),
        10_800..28_800 => pair(hours, 'h', minutes % 60, 'm'),
        28_800..172_800 => format!("{hours}h"),
        172_800..691_200 => pair(days, 'd', hours % 24, 'h'),
        691_200..63_072_000 => format!("{days}d"),
        63_072_000..252_288_000 => pair(days / 365, 'y', days % 365, 'd'),
        _ => format!("{}y", days / 365),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ages_have_the_form_of_kubectl() {
        for (seconds, text) in [
            (-5, "0s"),
            (119, "119s"),
            (120, "2m"),
            (192, "3m12s"),
            (3600, "60m"),
            (14_700, "4h5m"),
            (40_000, "11h"),
            (180_000, "2d2h"),
            (864_000, "10d"),
        ] {
            assert_eq!(human(seconds), text, "{seconds}");
        }
        assert_eq!(since("nonsense"), "<unknown>");
    }
}
