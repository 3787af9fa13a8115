//! The protocol between the host and the process that compiles: a request on its stdin, an answer on its stdout.
//!
//! A request is a [`Task`] and its input. An answer is one byte for its kind, the length of the rest as a `u64`, and the rest: the
//! result, or the reason why the input is not valid. Numbers are little-endian.

use wasmtime::OutOfMemory;

use super::engine::Codegen;

/// The starts of requests, so that a program that is started by hand refuses other input.
const COMPILE: [u8; 8] = *b"compile\n";
const COMPILE_FAST: [u8; 8] = *b"baseline";
const LOOK_UP: [u8; 8] = *b"look up\n";

/// The bytes of a [`Task`].
pub(super) const TASK_BYTES: usize = 32;

/// The bytes of an answer before its rest.
pub(super) const HEAD_BYTES: usize = 9;

/// The most bytes of a reason. It may have names from the component, which are as long as its author likes.
pub(super) const REASON_BYTES: usize = 4096;

/// What the process does with its input.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Work {
    /// Compiles a component. The result is its code.
    Compile(Codegen),
    /// Answers a question about frames. The result is their places.
    LookUp,
}

/// The work, its limits, and the length of the input that follows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Task {
    pub(super) work: Work,
    /// The limit of memory in bytes.
    pub(super) memory: u64,
    /// The limit of processor time, summed over all processors.
    pub(super) cpu_seconds: u64,
    /// Bytes of the input.
    pub(super) input: u64,
}

/// The result of the work.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Answer {
    Done(Vec<u8>),
    /// The reason, which has at most [`REASON_BYTES`].
    Invalid(String),
    OutOfMemory,
}

/// The kind of an answer, and the length of its rest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Head {
    Done(u64),
    Invalid(u64),
    OutOfMemory,
}

// === impl Task ===

impl Task {
    pub(super) fn encode(self) -> [u8; TASK_BYTES] {
        let mut bytes = [0; TASK_BYTES];
        let magic = match self.work {
            Work::Compile(Codegen::Optimised) => COMPILE,
            Work::Compile(Codegen::Baseline) => COMPILE_FAST,
            Work::LookUp => LOOK_UP,
        };
        let numbers = [u64::from_le_bytes(magic), self.memory, self.cpu_seconds, self.input];
        for (place, number) in bytes.chunks_exact_mut(8).zip(numbers) {
            place.copy_from_slice(&number.to_le_bytes());
        }
        bytes
    }

    /// Returns `None` if the bytes are no task.
    pub(super) fn decode(bytes: [u8; TASK_BYTES]) -> Option<Self> {
        let mut numbers = bytes.chunks_exact(8).map(number);
        let work = match numbers.next()?.to_le_bytes() {
            COMPILE => Work::Compile(Codegen::Optimised),
            COMPILE_FAST => Work::Compile(Codegen::Baseline),
            LOOK_UP => Work::LookUp,
            _ => return None,
        };
        Some(Self { work, memory: numbers.next()?, cpu_seconds: numbers.next()?, input: numbers.next()? })
    }
}

// === impl Answer ===

impl Answer {
    pub(super) fn of(compiled: wasmtime::Result<Vec<u8>>) -> Self {
        match compiled {
            Ok(code) => Self::Done(code),
            Err(error) if error.is::<OutOfMemory>() => Self::OutOfMemory,
            Err(error) => Self::Invalid(bounded(format!("{error:#}"))),
        }
    }

    pub(super) fn of_look_up(places: Result<Vec<u8>, String>) -> Self {
        places.map_or_else(|error| Self::Invalid(bounded(error)), Self::Done)
    }

    /// The head, and the rest.
    pub(super) fn encode(&self) -> ([u8; HEAD_BYTES], &[u8]) {
        let (kind, rest) = match self {
            Self::Done(result) => (b'D', result.as_slice()),
            Self::Invalid(why) => (b'I', why.as_bytes()),
            Self::OutOfMemory => (b'M', [].as_slice()),
        };
        let mut head = [kind; HEAD_BYTES];
        for (place, byte) in head.iter_mut().skip(1).zip((rest.len() as u64).to_le_bytes()) {
            *place = byte;
        }
        (head, rest)
    }
}

// === impl Head ===

impl Head {
    /// Returns `None` if the bytes are no head, or if the rest is longer than it may be. `most` is the limit of the result.
    pub(super) fn decode(bytes: [u8; HEAD_BYTES], most: u64) -> Option<Self> {
        let (kind, length) = bytes.split_first()?;
        match (kind, number(length)) {
            (b'D', length) if length <= most => Some(Self::Done(length)),
            (b'I', length) if length <= REASON_BYTES as u64 => Some(Self::Invalid(length)),
            (b'M', 0) => Some(Self::OutOfMemory),
            _ => None,
        }
    }
}

fn number(bytes: &[u8]) -> u64 {
    bytes.iter().rev().fold(0, |number, byte| number << 8 | u64::from(*byte))
}

/// Cuts a text that is too long.
fn bounded(mut text: String) -> String {
    const CUT: &str = " ... (cut)";
    if text.len() > REASON_BYTES {
        text.truncate(text.floor_char_boundary(REASON_BYTES - CUT.len()));
        text.push_str(CUT);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_task_is_read_as_it_was_written_and_nothing_else_is_one() {
        for work in [Work::Compile(Codegen::Optimised), Work::Compile(Codegen::Baseline), Work::LookUp] {
            let task = Task { work, memory: 1 << 40, cpu_seconds: 7, input: u64::MAX };

            assert_eq!(Task::decode(task.encode()), Some(task));
        }
        assert_eq!(Task::decode([b'\n'; TASK_BYTES]), None);
    }

    #[test]
    fn an_answer_is_read_as_it_was_written() {
        let answers = [Answer::Done(vec![7; 300]), Answer::Invalid("no".to_owned()), Answer::OutOfMemory];
        let heads = answers.iter().map(|answer| Head::decode(answer.encode().0, 300));

        assert_eq!(
            heads.collect::<Vec<_>>(),
            [Some(Head::Done(300)), Some(Head::Invalid(2)), Some(Head::OutOfMemory)]
        );
        assert_eq!(answers[0].encode().1, [7; 300]);
    }

    #[test]
    fn an_answer_that_is_too_long_or_of_another_kind_is_refused() {
        let mut long = [0; HEAD_BYTES];
        long[0] = b'I';
        long[2] = 0x11;

        assert_eq!(Head::decode(Answer::Done(vec![7; 300]).encode().0, 299), None);
        assert_eq!(Head::decode(long, u64::MAX), None, "a reason of 4352 bytes");
        assert_eq!(Head::decode(*b"<!doctype", u64::MAX), None);
        assert_eq!(Head::decode([b'M'; HEAD_BYTES], u64::MAX), None);
    }

    #[test]
    fn a_reason_is_cut_at_its_bound_between_two_characters() {
        let names = "\u{20ac}".repeat(5000);

        let Answer::Invalid(reason) = Answer::of(Err(wasmtime::Error::msg(names))) else { panic!() };

        assert!(reason.len() <= REASON_BYTES && reason.len() > REASON_BYTES - 4, "{}", reason.len());
        assert!(reason.ends_with("\u{20ac} ... (cut)"), "{reason}");
    }
}
