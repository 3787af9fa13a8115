//! Median and range.

/// The middle value, or the mean of the two middle values. Returns `None` if there are no values.
pub(crate) fn median(values: impl IntoIterator<Item = f64>) -> Option<f64> {
    let mut values: Vec<f64> = values.into_iter().collect();
    values.sort_by(f64::total_cmp);
    let middle = values.len() / 2;
    let upper = values.get(middle).copied()?;
    if values.len() % 2 == 1 {
        return Some(upper);
    }
    Some(f64::midpoint(values.get(middle.checked_sub(1)?).copied()?, upper))
}

/// The smallest and the largest value. Returns `None` if there are no values.
pub(crate) fn range(values: impl IntoIterator<Item = f64>) -> Option<(f64, f64)> {
    values.into_iter().fold(None, |range, value| {
        let (least, greatest) = range.unwrap_or((value, value));
        Some((value.min(least), value.max(greatest)))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_is_the_middle_value_or_the_mean_of_the_middle_two() {
        assert_eq!(median([3.0, 1.0, 2.0]), Some(2.0));
        assert_eq!(median([4.0, 1.0]), Some(2.5));
        assert_eq!(median([]), None);
    }

    #[test]
    fn the_range_has_the_smallest_and_the_largest_value() {
        assert_eq!(range([2.0, 5.0, 1.0]), Some((1.0, 5.0)));
        assert_eq!(range([]), None);
    }
}
