//! The fields of a configuration, and the values of the file that they hold.

use std::{
    collections::BTreeSet,
    num::{NonZeroU32, NonZeroU64, NonZeroUsize},
    time::Duration,
};

use informer_dispatch::Changed;
use informer_types::{SecretGrant, SecretGrants, WriteGrant, WriteGrants};

use super::{
    changed::ChangedPart,
    duration::Share,
    number::{Count, Number},
    size::Size,
    text::{LogFilter, Name},
};

/// A field that holds a value of this type.
pub(in crate::config) trait Holds<V> {
    fn put(&mut self, value: V);

    /// Returns `None` if the field holds no value.
    fn get(&self) -> Option<V>;
}

impl<V: Clone> Holds<V> for V {
    fn put(&mut self, value: V) {
        *self = value;
    }

    fn get(&self) -> Option<V> {
        Some(self.clone())
    }
}

impl<V: Clone> Holds<V> for Option<V> {
    fn put(&mut self, value: V) {
        *self = Some(value);
    }

    fn get(&self) -> Option<V> {
        self.clone()
    }
}

/// Fields of another type than the value: the conversion to the field, and the one back, which only defaults need.
macro_rules! holds {
    ($($field:ty, $value:ty: |$new:pat_param| $to:expr, |$own:pat_param| $back:expr;)*) => {$(
        impl Holds<$value> for $field {
            fn put(&mut self, $new: $value) {
                *self = $to;
            }

            fn get(&self) -> Option<$value> {
                let $own = self;
                $back
            }
        }
    )*};
}

holds! {
    u32, Count: |count| count.0, |own| Some(Count(*own));
    usize, Count: |count| count.size(), |own| Count::of(*own);
    NonZeroU32, Count: |count| count.non_zero().unwrap_or(Self::MIN), |own| Some(Count(u32::from(*own)));
    NonZeroUsize, Count: |count| count.non_zero_size().unwrap_or(Self::MIN), |own| Count::of(usize::from(*own));
    Option<NonZeroU32>, Count: |count| count.non_zero(), |own| Some(Count(own.map_or(0, u32::from)));
    Option<NonZeroUsize>, Count: |count| count.non_zero_size(), |_| None;
    Option<NonZeroU64>, Count: |count| count.non_zero().map(NonZeroU64::from), |_| None;
    f64, Number: |number| number.0, |own| Some(Number(*own));
    Option<f64>, Number: |number| Some(number.0).filter(|own| *own > 0.0), |own| own.map(Number);
    usize, Size: |size| size.0, |own| Some(Size(*own));
    Option<u64>, Size: |size| Some(size.0 as u64), |_| None;
    Option<Duration>, Share: |share| Some(share.0), |_| None;
    String, LogFilter: |filter| filter.0, |own| Some(LogFilter(own.clone()));
    String, Name: |name| name.0, |_| None;
    Vec<String>, Vec<Name>: |names| texts(names).collect(), |_| None;
    BTreeSet<String>, Vec<Name>: |names| texts(names).collect(), |_| None;
    Option<WriteGrants>, Vec<WriteGrant>: |grants| Some(grants.into_iter().collect()), |_| None;
    SecretGrants, Vec<SecretGrant>:
        |grants| grants.into_iter().collect(), |own| Some(own.iter().cloned().collect());
}

impl Holds<Vec<ChangedPart>> for Changed {
    fn put(&mut self, parts: Vec<ChangedPart>) {
        *self = Self::default();
        for part in parts {
            match part {
                ChangedPart::Generation => self.generation = true,
                ChangedPart::At(pointer) => self.pointers.push(pointer),
            }
        }
    }

    fn get(&self) -> Option<Vec<ChangedPart>> {
        let generation = self.generation.then_some(ChangedPart::Generation);
        Some(generation.into_iter().chain(self.pointers.iter().cloned().map(ChangedPart::At)).collect())
    }
}

fn texts(names: Vec<Name>) -> impl Iterator<Item = String> {
    names.into_iter().map(|name| name.0)
}
