//! Random histories of several objects through random filters: whatever happens, what a handler believes to exist is
//! what matches (P-21), by a reference model that knows neither the filter nor CEL.

#[cfg(test)]
mod history;
#[cfg(test)]
mod model;
#[cfg(test)]
mod restarts;

#[cfg(test)]
mod tests {
    use std::collections::VecDeque;

    use informer_dispatch::{Events, Filter, FilterConfig, Initial, Queue, QueueConfig, Settlement};
    use informer_types::{Notification, NotificationSink};
    use proptest::{collection::vec, prelude::*, test_runner::TestCaseError};

    use crate::{
        history::{History, State, Step, namespace, step_or_relabel},
        model::{Belief, Wish, wish},
    };

    pub(crate) fn config(wish: &Wish) -> FilterConfig {
        FilterConfig {
            labels: wish.labels().parse().unwrap(),
            namespaces_labels: wish.namespaces_labels().parse().unwrap(),
            fields: wish.fields().parse().unwrap(),
            when: wish.when().map(|text| text.parse().unwrap()),
            annotations: wish.annotations().parse().unwrap(),
            changed: wish.changed(),
            initial: if wish.initial { Initial::Deliver } else { Initial::Skip },
            events: wish.events,
            ..FilterConfig::default()
        }
    }

    /// What an informer offers for a step. The filter learns first which namespaces match.
    fn offered<S: NotificationSink>(
        filter: &Filter<S>,
        history: &mut History,
        step: Step,
    ) -> VecDeque<Notification> {
        let offered = history.play(step);
        let Step::Relabel(one) = step else { return offered.into() };
        let name = namespace(one);
        filter.set_namespace(&name, history.matching().any(|matching| matching == name));
        history.revisit(one, |object| filter.revisit(object)).into()
    }

    /// Offers each notification of the steps to a filter, and checks the handler's belief after each step.
    fn play(wish: &Wish, steps: Vec<Step>) -> Result<(), TestCaseError> {
        let belief = Belief::new(wish.clone());
        let mut history = History::default();
        let filter = Filter::new(config(wish), belief.clone()).choosing(history.matching());
        for step in steps {
            for notification in offered(&filter, &mut history, step) {
                filter.offer(notification);
            }
            belief.check(&history)?;
        }
        let stats = filter.stats();
        prop_assert_eq!(stats.passed + stats.suppressed.total(), history.offered());
        Ok(())
    }

    /// The new object of a replacement is not initial, so `initial = false` does not withhold it (C-11). The handler knows
    /// the old object from a resync or an update, and its subscription omits deletions.
    #[test]
    fn a_replacement_during_the_first_list_is_delivered_without_initial_additions()
    -> Result<(), TestCaseError> {
        let wish = Wish::of_events(Events { delete: false, ..Events::ALL }, false);
        let state = |n| State { app: 0, n: Some(n), status: 0, mark: 0 };
        let (first, second) = (state(3), state(0));

        play(&wish, vec![Step::Replace(3, first), Step::Resync, Step::Replace(3, second)])?;
        play(&wish, vec![Step::Put(1, second), Step::Put(1, first), Step::Replace(1, second)])?;
        let gone = Step::Delete(1, None);
        play(&wish, vec![Step::Put(1, second), Step::Put(1, first), gone, Step::Put(1, second)])
    }

    proptest! {
        /// Each call by itself: no update of what the handler does not know, no addition of what it does, nothing of
        /// what does not match; and after each step it believes what is true.
        #[test]
        fn a_handler_believes_in_what_matches(wish in wish(), steps in vec(step_or_relabel(), 1..60)) {
            play(&wish, steps)?;
        }

        /// Through the queue, where what is pending merges, taken at random: when all is delivered, it believes what
        /// is true.
        #[test]
        fn merging_changes_nothing_about_what_is_believed_in_the_end(
            wish in wish(),
            steps in vec((step_or_relabel(), 0..3_usize), 1..60),
        ) {
            let belief = Belief::new(wish.clone());
            let queue = Queue::new(&QueueConfig::default());
            let mut history = History::default();
            let filter = Filter::new(config(&wish), queue.clone()).choosing(history.matching());
            let deliver = |most: usize| {
                for _ in 0..most {
                    let Some((lease, delivery)) = queue.take() else { break };
                    belief.receive(delivery.notification.change);
                    lease.settle(Settlement::Acknowledged);
                }
            };
            for (step, calls) in steps {
                filter.offer_all(&mut offered(&filter, &mut history, step));
                deliver(calls);
            }
            deliver(usize::MAX);
            belief.check(&history)?;
        }
    }
}
