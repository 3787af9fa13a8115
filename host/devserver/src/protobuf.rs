//! Protobuf request bodies: the typed clients of client-go always send them.
//!
//! Answers are never in protobuf, because every client that sends protobuf accepts JSON. The layout of the messages
//! comes from the [`schema`](crate::schema).

use base64::{Engine as _, prelude::BASE64_STANDARD};
use bytes::Bytes;
use jiff::{Timestamp, fmt::temporal::DateTimePrinter};
use serde_json::{Map, Value};

use crate::schema::{Field, Message, Schema, Shape, Type};
use ProtobufError::Malformed;

/// The media type of these bodies.
pub(crate) const MEDIA_TYPE: &str = "application/vnd.kubernetes.protobuf";

/// The prefix of every body.
const MAGIC: &[u8] = b"k8s\0";
/// The deepest nesting of messages. No Kubernetes object is as deep, so deeper bodies are refused.
const MAX_DEPTH: usize = 64;

const CUT: ProtobufError = Malformed("it ends in the middle of a field");
const MISMATCH: ProtobufError = Malformed("a field has the wrong type");

type Result<T> = std::result::Result<T, ProtobufError>;

/// A body that cannot be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum ProtobufError {
    /// The body is not valid Kubernetes protobuf.
    #[error("the body is not Kubernetes protobuf: {0}")]
    Malformed(&'static str),
    /// The schema does not have this kind.
    #[error("{kind} in {api_version:?} cannot be read as protobuf: send JSON")]
    UnknownKind {
        /// The `apiVersion` of the envelope.
        api_version: String,
        /// The `kind` of the envelope.
        kind: String,
    },
}

/// The value of a field by wire type.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Wire<'a> {
    Varint(u64),
    Fixed32(u32),
    Fixed64(u64),
    Bytes(&'a [u8]),
}

/// The numbers and values of the fields of a message.
struct Reader<'a> {
    rest: &'a [u8],
}

/// Decodes the object in a body to JSON.
///
/// # Errors
/// [`ProtobufError`] if the body is not valid or its kind is unknown.
pub(crate) fn decode(body: &Bytes) -> Result<Value> {
    let envelope = body.strip_prefix(MAGIC).ok_or(Malformed("the prefix is missing"))?;
    let (type_meta, raw) = (bytes_in(envelope, 1)?, bytes_in(envelope, 2)?);
    let (api_version, kind) = (text_of(bytes_in(type_meta, 1)?)?, text_of(bytes_in(type_meta, 2)?)?);
    let schema = Schema::get();
    let Some(message) = schema.root(&api_version, &kind) else {
        return Err(ProtobufError::UnknownKind { api_version, kind });
    };
    let mut fields = decode_message(schema, message, raw, 0)?;
    fields.insert("apiVersion".into(), api_version.into());
    fields.insert("kind".into(), kind.into());
    Ok(Value::Object(fields))
}

fn decode_message(
    schema: &Schema,
    message: &Message,
    bytes: &[u8],
    depth: usize,
) -> Result<Map<String, Value>> {
    if depth > MAX_DEPTH {
        return Err(Malformed("it is nested too deeply"));
    }
    let mut fields = Map::new();
    for part in Reader::new(bytes) {
        let (number, wire) = part?;
        // A field of a newer Kubernetes version is left out, as an older kube-apiserver does.
        let Some(field) = message.field(number) else { continue };
        match &field.shape {
            Shape::One => put(&mut fields, field, decode_value(schema, &field.kind, wire, depth)?),
            Shape::List => {
                let value = decode_value(schema, &field.kind, wire, depth)?;
                let list = fields.entry(&field.json).or_insert_with(|| Value::Array(Vec::new()));
                if let Value::Array(items) = list {
                    items.push(value);
                }
            }
            Shape::Map => {
                let (key, value) = decode_entry(schema, field, wire, depth)?;
                let map = fields.entry(&field.json).or_insert_with(|| Value::Object(Map::new()));
                if let Value::Object(entries) = map {
                    entries.insert(key, value);
                }
            }
        }
    }
    Ok(fields)
}

/// Writes a field, unless JSON leaves out its zero value.
fn put(fields: &mut Map<String, Value>, field: &Field, value: Value) {
    if field.json.is_empty() {
        if let Value::Object(inline) = value {
            fields.extend(inline);
        }
        return;
    }
    let is_zero = match &value {
        Value::Null => true,
        Value::Bool(flag) => !flag,
        Value::Number(number) => number.as_f64() == Some(0.0),
        Value::String(text) => text.is_empty(),
        Value::Array(items) => items.is_empty(),
        Value::Object(inner) => inner.is_empty(),
    };
    let omitted = value.is_null() || (is_zero && field.omits_zero);
    if !omitted {
        fields.insert(field.json.clone(), value);
    }
}

fn decode_entry(schema: &Schema, field: &Field, wire: Wire<'_>, depth: usize) -> Result<(String, Value)> {
    let Wire::Bytes(entry) = wire else { return Err(MISMATCH) };
    let (mut key, mut value) = (String::new(), None);
    for part in Reader::new(entry) {
        match part? {
            (1, Wire::Bytes(text)) => key = text_of(text)?,
            (2, wire) => value = Some(decode_value(schema, &field.kind, wire, depth)?),
            _ => {}
        }
    }
    let empty = || decode_value(schema, &field.kind, Wire::Bytes(&[]), depth);
    Ok((key, value.map_or_else(empty, Ok)?))
}

fn decode_value(schema: &Schema, kind: &Type, wire: Wire<'_>, depth: usize) -> Result<Value> {
    Ok(match (kind, wire) {
        (Type::Text, Wire::Bytes(text)) => text_of(text)?.into(),
        // Signed integers are encoded as two's complement.
        (Type::Integer, Wire::Varint(bits)) => i64::from_le_bytes(bits.to_le_bytes()).into(),
        (Type::Boolean, Wire::Varint(bits)) => (bits != 0).into(),
        (Type::Float, Wire::Fixed64(bits)) => f64::from_bits(bits).into(),
        (Type::Float, Wire::Fixed32(bits)) => f64::from(f32::from_bits(bits)).into(),
        (Type::Bytes, Wire::Bytes(bytes)) => BASE64_STANDARD.encode(bytes).into(),
        (Type::Time, Wire::Bytes(bytes)) => time(bytes, None)?,
        (Type::MicroTime, Wire::Bytes(bytes)) => time(bytes, Some(6))?,
        (Type::Duration, Wire::Bytes(bytes)) => duration(bytes)?,
        (Type::Quantity, Wire::Bytes(bytes)) => quantity(bytes)?,
        (Type::IntOrString, Wire::Bytes(bytes)) => int_or_string(bytes)?,
        (Type::RawJson, Wire::Bytes(bytes)) => raw_json(bytes)?,
        (Type::Message(name), Wire::Bytes(bytes)) => {
            let message = schema.message(name).ok_or(MISMATCH)?;
            Value::Object(decode_message(schema, message, bytes, depth + 1)?)
        }
        _ => return Err(MISMATCH),
    })
}

fn text_of(bytes: &[u8]) -> Result<String> {
    let text = std::str::from_utf8(bytes).map_err(|_| Malformed("a text is not UTF-8"))?;
    Ok(text.to_owned())
}

/// The number in field `wanted` of a small message; 0 if the field is missing.
fn number_in(bytes: &[u8], wanted: u32) -> Result<i64> {
    Ok(match last(bytes, |number, wire| number == wanted && matches!(wire, Wire::Varint(_)))? {
        Some(Wire::Varint(bits)) => i64::from_le_bytes(bits.to_le_bytes()),
        _ => 0,
    })
}

/// The bytes in field `wanted` of a small message; empty if the field is missing.
fn bytes_in(bytes: &[u8], wanted: u32) -> Result<&[u8]> {
    Ok(match last(bytes, |number, wire| number == wanted && matches!(wire, Wire::Bytes(_)))? {
        Some(Wire::Bytes(inner)) => inner,
        _ => &[],
    })
}

/// The last field for which `is_wanted` returns true.
fn last(bytes: &[u8], is_wanted: impl Fn(u32, Wire<'_>) -> bool) -> Result<Option<Wire<'_>>> {
    Reader::new(bytes).try_fold(None, |found, part| {
        let (number, wire) = part?;
        Ok(if is_wanted(number, wire) { Some(wire) } else { found })
    })
}

/// A time as JSON text. An empty message is the zero time, which is `null` in JSON.
fn time(bytes: &[u8], precision: Option<u8>) -> Result<Value> {
    if bytes.is_empty() {
        return Ok(Value::Null);
    }
    let nanoseconds = i32::try_from(number_in(bytes, 2)?).unwrap_or(0);
    let nanoseconds = if precision.is_some() { nanoseconds } else { 0 };
    let time =
        Timestamp::new(number_in(bytes, 1)?, nanoseconds).map_err(|_| Malformed("a time is out of range"))?;
    let printer = DateTimePrinter::new().precision(precision.or(Some(0)));
    Ok(printer.timestamp_to_string(&time).into())
}

/// A duration in the text form of Go.
fn duration(bytes: &[u8]) -> Result<Value> {
    let nanoseconds = number_in(bytes, 1)?;
    let seconds = nanoseconds / 1_000_000_000;
    Ok(match nanoseconds % 1_000_000_000 {
        0 => format!("{seconds}s"),
        _ => format!("{nanoseconds}ns"),
    }
    .into())
}

fn quantity(bytes: &[u8]) -> Result<Value> {
    let text = text_of(bytes_in(bytes, 1)?)?;
    Ok(if text.is_empty() { "0".into() } else { text.into() })
}

fn int_or_string(bytes: &[u8]) -> Result<Value> {
    Ok(match number_in(bytes, 1)? {
        0 => number_in(bytes, 2)?.into(),
        _ => text_of(bytes_in(bytes, 3)?)?.into(),
    })
}

fn raw_json(bytes: &[u8]) -> Result<Value> {
    let json = bytes_in(bytes, 1)?;
    if json.is_empty() {
        return Ok(Value::Null);
    }
    serde_json::from_slice(json).map_err(|_| Malformed("embedded JSON is not valid"))
}

// === impl Reader ===

impl<'a> Reader<'a> {
    fn new(message: &'a [u8]) -> Self {
        Self { rest: message }
    }

    fn field(&mut self) -> Result<(u32, Wire<'a>)> {
        let tag = self.varint()?;
        let number = u32::try_from(tag >> 3).map_err(|_| Malformed("a field number is too large"))?;
        let value = match tag & 7 {
            0 => Wire::Varint(self.varint()?),
            1 => Wire::Fixed64(u64::from_le_bytes(self.array()?)),
            2 => {
                let length = usize::try_from(self.varint()?).map_err(|_| CUT)?;
                Wire::Bytes(self.take(length)?)
            }
            5 => Wire::Fixed32(u32::from_le_bytes(self.array()?)),
            _ => return Err(Malformed("a field is of an unknown wire type")),
        };
        Ok((number, value))
    }

    fn varint(&mut self) -> Result<u64> {
        let mut value = 0u64;
        for shift in (0..64).step_by(7) {
            let [byte] = self.array()?;
            value |= u64::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                return Ok(value);
            }
        }
        Err(Malformed("a number is too long"))
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N]> {
        self.take(N)?.try_into().map_err(|_| CUT)
    }

    fn take(&mut self, length: usize) -> Result<&'a [u8]> {
        let (taken, rest) = self.rest.split_at_checked(length).ok_or(CUT)?;
        self.rest = rest;
        Ok(taken)
    }
}

impl<'a> Iterator for Reader<'a> {
    type Item = Result<(u32, Wire<'a>)>;

    fn next(&mut self) -> Option<Self::Item> {
        (!self.rest.is_empty()).then(|| self.field())
    }
}

#[cfg(test)]
mod tests;
