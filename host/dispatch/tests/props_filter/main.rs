//! Random histories of several objects through random filters: whatever happens, what a handler believes to exist is
//! what matches (P-21), by a reference model that knows neither the filter nor CEL.

#[cfg(test)]
mod history;
#[cfg(test)]
mod model;

#[cfg(test)]
mod tests {
    use std::collections::VecDeque;

    use informer_dispatch::{Filter, FilterConfig, Queue, QueueConfig, Settlement};
    use informer_types::NotificationSink;
    use proptest::{collection::vec, prelude::*};

    use crate::{
        history::{History, step},
        model::{Belief, Wish, wish},
    };

    fn config(wish: &Wish) -> FilterConfig {
        FilterConfig {
            labels: wish.labels().parse().unwrap(),
            fields: wish.fields().parse().unwrap(),
            when: wish.when().map(|text| text.parse().unwrap()),
            changed: wish.changed().iter().map(|pointer| pointer.parse().unwrap()).collect(),
            initial: wish.initial,
            events: wish.events,
        }
    }

    proptest! {
        /// Each call by itself: no update of what the handler does not know, no addition of what it does, nothing of
        /// what does not match; and after each step it believes what is true.
        #[test]
        fn a_handler_believes_in_what_matches(wish in wish(), steps in vec(step(), 1..60)) {
            let belief = Belief::new(wish.clone());
            let filter = Filter::new(config(&wish), belief.clone());
            let mut history = History::default();
            for step in steps {
                for notification in history.play(step) {
                    filter.offer(notification);
                }
                belief.check(&history)?;
            }
            let stats = filter.stats();
            prop_assert_eq!(stats.passed + stats.suppressed.total(), history.told());
        }

        /// Through the queue, where what is pending merges, taken at random: when all is delivered, it believes what
        /// is true.
        #[test]
        fn merging_changes_nothing_about_what_is_believed_in_the_end(
            wish in wish(),
            steps in vec((step(), 0..3_usize), 1..60),
        ) {
            let belief = Belief::new(wish.clone());
            let queue = Queue::new(&QueueConfig::default());
            let filter = Filter::new(config(&wish), queue.clone());
            let mut history = History::default();
            let deliver = |most: usize| {
                for _ in 0..most {
                    let Some((lease, delivery)) = queue.take() else { break };
                    belief.hear(delivery.notification.change);
                    lease.settle(Settlement::Acknowledged);
                }
            };
            for (step, calls) in steps {
                let mut told: VecDeque<_> = history.play(step).into();
                filter.offer_all(&mut told);
                deliver(calls);
            }
            deliver(usize::MAX);
            belief.check(&history)?;
        }
    }
}
