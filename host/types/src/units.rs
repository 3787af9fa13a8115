//! Durations in JSON: `#[serde(with = "informer_types::millis")]` on a `Duration` or an `Option<Duration>`.

/// Whole milliseconds.
pub mod millis {
    use std::time::Duration;

    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    /// Writes a number, or null for `None`.
    ///
    /// # Errors
    /// Those of the serializer.
    pub fn serialize<T, S>(time: &T, to: S) -> Result<S::Ok, S::Error>
    where
        T: Copy + Into<Option<Duration>>,
        S: Serializer,
    {
        (*time).into().map(|time| u64::try_from(time.as_millis()).unwrap_or(u64::MAX)).serialize(to)
    }

    /// Reads a number. Null gives the default.
    ///
    /// # Errors
    /// Those of the deserializer.
    pub fn deserialize<'de, T, D>(from: D) -> Result<T, D::Error>
    where
        T: Default + From<Duration>,
        D: Deserializer<'de>,
    {
        let number = Option::<u64>::deserialize(from)?;
        Ok(number.map_or_else(T::default, |number| Duration::from_millis(number).into()))
    }
}

/// Whole microseconds.
pub mod micros {
    use std::time::Duration;

    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    /// Writes a number.
    ///
    /// # Errors
    /// Those of the serializer.
    pub fn serialize<S: Serializer>(time: &Duration, to: S) -> Result<S::Ok, S::Error> {
        u64::try_from(time.as_micros()).unwrap_or(u64::MAX).serialize(to)
    }

    /// Reads a number.
    ///
    /// # Errors
    /// Those of the deserializer.
    pub fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Duration, D::Error> {
        u64::deserialize(from).map(Duration::from_micros)
    }
}
