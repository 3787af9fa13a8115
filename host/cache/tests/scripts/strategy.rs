//! The strategies that generate scripts.

use proptest::{collection::vec, prelude::*};

use crate::{
    script::{Ending, Failure, Fault, Key, Listener, Nonsense, Op, Script, Setup, Step, Streaming, Wait},
    world::NAMESPACES,
};

/// The relative frequency of each kind of step.
#[derive(Clone, Copy)]
pub(crate) struct Weights {
    pub(crate) changes: u32,
    pub(crate) connections: u32,
    pub(crate) requests: u32,
    pub(crate) listeners: u32,
}

pub(crate) fn script(weights: Weights) -> impl Strategy<Value = Script> {
    // Most faults have an effect only on an open watch.
    let first = prop_oneof![1 => Just(None), 3 => Just(Some(Step::Wait(Wait::Seconds(1))))];
    (setup(), first, vec(step(weights), 4..32))
        .prop_map(|(setup, first, steps)| Script { setup, steps: first.into_iter().chain(steps).collect() })
}

fn setup() -> impl Strategy<Value = Setup> {
    let page_size = prop_oneof![1 => Just(None), 1 => (1..4_u32).prop_map(Some)];
    let queue = prop_oneof![2 => Just(0_usize), 1 => 1..4_usize];
    let latencies = prop_oneof![1 => Just(Vec::new()), 1 => vec(0..20_u8, 1..4)];
    let chunks = prop_oneof![2 => Just(Vec::new()), 1 => vec(20..300_u16, 1..4), 1 => vec(5..30_u16, 1..4)];
    let retry = prop_oneof![2 => Just(0_u8), 1 => Just(30_u8)];
    let streaming = prop_oneof![
        3 => Just(Streaming::Off),
        3 => Just(Streaming::Works),
        1 => Just(Streaming::Refused),
        1 => Just(Streaming::Unmarked),
        1 => Just(Streaming::UnmarkedEachTime),
    ];
    let flags = (any::<bool>(), any::<bool>(), any::<bool>());
    (flags, page_size, streaming, queue, latencies, chunks, retry).prop_map(
        |(flags, page_size, streaming, queue, latencies, chunks, internal_error_retry)| Setup {
            namespaces: flags.0,
            late_marks: flags.1,
            gone_by_event: flags.2,
            page_size,
            streaming,
            queue,
            latencies,
            chunks,
            internal_error_retry,
        },
    )
}

fn step(weights: Weights) -> impl Strategy<Value = Step> {
    prop_oneof![
        weights.changes => change(),
        weights.connections => connection(),
        weights.requests => request(),
        weights.listeners => listener(),
        16 => wait().prop_map(Step::Wait),
    ]
}

fn change() -> impl Strategy<Value = Step> {
    let key = (0..NAMESPACES, 0..3_u8).prop_map(|(namespace, name)| Key { namespace, name });
    let op = prop_oneof![
        5 => Just(Op::Put),
        3 => Just(Op::Delete),
        2 => Just(Op::Recreate),
        1 => Just(Op::Break),
    ];
    (op, key, prop::bool::weighted(0.2)).prop_map(|(op, key, hidden)| Step::Change { op, key, hidden })
}

fn connection() -> impl Strategy<Value = Step> {
    let watch = || 0..2_u8;
    let nonsense = prop::sample::select(vec![
        Nonsense::NotJson,
        Nonsense::UnknownType,
        Nonsense::Foreign,
        Nonsense::NoMetadata,
        Nonsense::EmptyLine,
    ]);
    prop_oneof![
        2 => Just(Step::Elsewhere),
        3 => Just(Step::Compact),
        2 => Just(Step::Lag),
        2 => Just(Step::CatchUp),
        1 => Just(Step::Remove),
        2 => Just(Step::Serve),
        4 => Just(Step::Bookmark),
        2 => watch().prop_map(Step::Duplicate),
        4 => (watch(), ending()).prop_map(|(watch, ending)| Step::End(watch, ending)),
        4 => (watch(), 0..300_u16, ending()).prop_map(|(watch, at, ending)| Step::Cut(watch, at, ending)),
        1 => (watch(), ending()).prop_map(|(watch, ending)| Step::CutNewline(watch, ending)),
        3 => (watch(), failure()).prop_map(|(watch, failure)| Step::Error(watch, failure)),
        2 => (watch(), nonsense).prop_map(|(watch, nonsense)| Step::Nonsense(watch, nonsense)),
    ]
}

fn request() -> impl Strategy<Value = Step> {
    prop_oneof![
        fault().prop_map(Step::FailList),
        fault().prop_map(Step::FailPage),
        fault().prop_map(Step::FailWatch),
    ]
}

fn fault() -> impl Strategy<Value = Fault> {
    prop_oneof![
        1 => Just(Fault::Refused),
        1 => Just(Fault::Broken),
        1 => Just(Fault::Silent),
        1 => Just(Fault::Html),
        5 => failure().prop_map(Fault::Status),
        3 => (0..600_u16, ending()).prop_map(|(at, ending)| Fault::Truncated(at, ending)),
    ]
}

fn failure() -> impl Strategy<Value = Failure> {
    prop_oneof![
        3 => Just(Failure::Expired),
        1 => Just(Failure::Gone),
        2 => Just(Failure::Throttled),
        2 => Just(Failure::Internal),
        1 => Just(Failure::Unavailable),
        1 => Just(Failure::Timeout),
        1 => Just(Failure::TooLarge),
        1 => prop::sample::select(vec![Failure::Unauthorized, Failure::Forbidden, Failure::NotFound]),
        1 => Just(Failure::Bare),
    ]
}

fn ending() -> impl Strategy<Value = Ending> {
    prop_oneof![3 => Just(Ending::Clean), 3 => Just(Ending::Reset), 1 => Just(Ending::Stall)]
}

fn listener() -> impl Strategy<Value = Step> {
    let resync = prop_oneof![2 => Just(0_u16), 1 => 30..900_u16];
    let listener = (resync, prop::bool::weighted(0.2), any::<bool>());
    prop_oneof![
        3 => listener.prop_map(|(resync, relist_all, holds)| Step::Join(Listener { resync, relist_all, holds })),
        2 => any::<u8>().prop_map(Step::Leave),
        1 => Just(Step::Acknowledge),
    ]
}

fn wait() -> impl Strategy<Value = Wait> {
    prop_oneof![
        6 => Just(Wait::Turn),
        6 => (1..30_u16).prop_map(Wait::Milliseconds),
        5 => (1..5_u16).prop_map(Wait::Seconds),
        1 => (5..1_200_u16).prop_map(Wait::Seconds),
    ]
}
