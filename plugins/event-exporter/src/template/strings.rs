//! Functions of texts.

use base64::{Engine, prelude::BASE64_STANDARD};
use regex_lite::Regex;
use serde_json::Value;

use super::{
    error::TemplateError,
    values::{LARGEST, print, whole},
};

pub(super) const NAMES: &[&str] = &[
    "print",
    "println",
    "printf",
    "quote",
    "squote",
    "upper",
    "lower",
    "title",
    "trim",
    "trimAll",
    "trimPrefix",
    "trimSuffix",
    "trunc",
    "abbrev",
    "replace",
    "contains",
    "hasPrefix",
    "hasSuffix",
    "repeat",
    "nospace",
    "cat",
    "indent",
    "nindent",
    "b64enc",
    "b64dec",
    "html",
    "js",
    "urlquery",
    "regexMatch",
    "regexFind",
    "regexReplaceAll",
    "substr",
];

pub(super) fn call(name: &str, arguments: &[Value]) -> Result<Value, TemplateError> {
    match name {
        "print" => Ok(Value::from(arguments.iter().map(print).collect::<String>())),
        "println" => Ok(Value::from(format!("{}\n", joined(arguments)))),
        "cat" => Ok(Value::from(joined(arguments))),
        "printf" => printf(arguments),
        "quote" => Ok(Value::from(quoted(arguments, |text| Value::from(text).to_string()))),
        "squote" => Ok(Value::from(quoted(arguments, |text| format!("'{text}'")))),
        "trunc" | "abbrev" | "repeat" | "indent" | "nindent" | "substr" => sized(name, arguments),
        "contains" | "hasPrefix" | "hasSuffix" | "regexMatch" => test(name, arguments),
        "replace" | "regexReplaceAll" | "regexFind" => replacement(name, arguments),
        "trimAll" | "trimPrefix" | "trimSuffix" => trimmed(name, arguments),
        _ => one_text(name, arguments),
    }
}

fn joined(arguments: &[Value]) -> String {
    let texts: Vec<String> = arguments.iter().map(print).collect();
    texts.join(" ")
}

fn quoted(arguments: &[Value], quote: fn(&str) -> String) -> String {
    let present = arguments.iter().filter(|value| !value.is_null());
    let texts: Vec<String> = present.map(|value| quote(&print(value))).collect();
    texts.join(" ")
}

fn one_text(name: &str, arguments: &[Value]) -> Result<Value, TemplateError> {
    let [value] = arguments else { return Err(TemplateError::arguments(arguments)) };
    let text = print(value);
    let result = match name {
        "upper" => text.to_uppercase(),
        "lower" => text.to_lowercase(),
        "title" => title(&text),
        "trim" => text.trim().to_owned(),
        "nospace" => text.split_whitespace().collect(),
        "b64enc" => BASE64_STANDARD.encode(text),
        "b64dec" => {
            let bytes =
                BASE64_STANDARD.decode(text).map_err(|error| TemplateError::new(error.to_string()))?;
            String::from_utf8_lossy(&bytes).into_owned()
        }
        "html" => escaped(&text, |character| match character {
            '<' => Some("&lt;"),
            '>' => Some("&gt;"),
            '&' => Some("&amp;"),
            '"' => Some("&#34;"),
            '\'' => Some("&#39;"),
            _ => None,
        }),
        "js" => escaped(&text, |character| match character {
            '\\' => Some("\\\\"),
            '\'' => Some("\\'"),
            '"' => Some("\\\""),
            '<' => Some("\\u003C"),
            '>' => Some("\\u003E"),
            '\n' => Some("\\u000A"),
            _ => None,
        }),
        "urlquery" => percent_encoded(&text),
        _ => return Err(TemplateError::arguments(arguments)),
    };
    Ok(Value::from(result))
}

fn title(text: &str) -> String {
    let mut start = true;
    let capital = |character: char| {
        let first = start && character.is_alphabetic();
        start = character.is_whitespace();
        if first { character.to_ascii_uppercase() } else { character }
    };
    text.chars().map(capital).collect()
}

fn escaped(text: &str, escape: fn(char) -> Option<&'static str>) -> String {
    text.chars()
        .map(|character| escape(character).map_or_else(|| character.to_string(), str::to_owned))
        .collect()
}

fn percent_encoded(text: &str) -> String {
    let encode = |byte: u8| match byte {
        b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'_' | b'.' | b'~' => char::from(byte).to_string(),
        b' ' => "+".to_owned(),
        _ => format!("%{byte:02X}"),
    };
    text.bytes().map(encode).collect()
}

/// Fails if a result would have more bytes than a value may have. The check comes before the work.
fn bounded(bytes: usize) -> Result<(), TemplateError> {
    if bytes > LARGEST {
        return Err(TemplateError::new(format!("the result has more than {LARGEST} bytes")));
    }
    Ok(())
}

fn sized(name: &str, arguments: &[Value]) -> Result<Value, TemplateError> {
    if let ("substr", [start, end, text]) = (name, arguments) {
        let (start, end) = (usize::try_from(whole(start)?).unwrap_or(0), usize::try_from(whole(end)?));
        let rest: Vec<char> = print(text).chars().skip(start).collect();
        let many = end.map_or(rest.len(), |end| end.saturating_sub(start));
        return Ok(Value::from(rest.into_iter().take(many).collect::<String>()));
    }
    let [number, text] = arguments else { return Err(TemplateError::arguments(arguments)) };
    let (number, text) = (whole(number)?, print(text));
    let many = usize::try_from(number.unsigned_abs()).unwrap_or(usize::MAX);
    let length = text.chars().count();
    let result = match name {
        "trunc" if number < 0 => text.chars().skip(length.saturating_sub(many)).collect(),
        "trunc" => text.chars().take(many).collect(),
        "abbrev" if length <= many || many < 4 => text,
        "abbrev" => text.chars().take(many - 3).chain("...".chars()).collect(),
        "repeat" => {
            let times = if number < 0 { 0 } else { many };
            bounded(text.len().saturating_mul(times))?;
            text.repeat(times)
        }
        _ => {
            bounded(text.len().saturating_add(text.lines().count().saturating_mul(many)))?;
            let pad = " ".repeat(many);
            let lines: Vec<String> = text.split('\n').map(|line| format!("{pad}{line}")).collect();
            let start = if name == "nindent" { "\n" } else { "" };
            format!("{start}{}", lines.join("\n"))
        }
    };
    Ok(Value::from(result))
}

fn test(name: &str, arguments: &[Value]) -> Result<Value, TemplateError> {
    let [what, text] = arguments else { return Err(TemplateError::arguments(arguments)) };
    let (what, text) = (print(what), print(text));
    Ok(Value::Bool(match name {
        "contains" => text.contains(&what),
        "hasPrefix" => text.starts_with(&what),
        "hasSuffix" => text.ends_with(&what),
        _ => regex(&what)?.is_match(&text),
    }))
}

fn regex(pattern: &str) -> Result<Regex, TemplateError> {
    Regex::new(pattern)
        .map_err(|error| TemplateError::new(format!("`{pattern}` is not a regular expression: {error}")))
}

fn replacement(name: &str, arguments: &[Value]) -> Result<Value, TemplateError> {
    match (name, arguments) {
        ("regexFind", [pattern, text]) => {
            let text = print(text);
            let found = regex(&print(pattern))?;
            Ok(Value::from(found.find(&text).map(|found| found.as_str()).unwrap_or_default()))
        }
        ("regexReplaceAll", [pattern, text, with]) => {
            let (pattern, text, with) = (regex(&print(pattern))?, print(text), print(with));
            // A reference in the replacement inserts at most its whole match.
            let (matches, matched) = pattern
                .find_iter(&text)
                .fold((0_usize, 0_usize), |(matches, bytes), found| (matches + 1, bytes + found.len()));
            let inserted = with.matches('$').count().saturating_mul(matched);
            let written = matches.saturating_mul(with.len()).saturating_add(inserted);
            bounded(written.saturating_add(text.len().saturating_sub(matched)))?;
            Ok(Value::from(pattern.replace_all(&text, with.as_str()).into_owned()))
        }
        ("replace", [old, new, text]) => {
            let (old, new, text) = (print(old), print(new), print(text));
            bounded(text.matches(&old).count().saturating_mul(new.len()))?;
            Ok(Value::from(text.replace(&old, &new)))
        }
        _ => Err(TemplateError::arguments(arguments)),
    }
}

fn trimmed(name: &str, arguments: &[Value]) -> Result<Value, TemplateError> {
    let [what, text] = arguments else { return Err(TemplateError::arguments(arguments)) };
    let (what, text) = (print(what), print(text));
    Ok(Value::from(match name {
        "trimPrefix" => text.strip_prefix(&what).unwrap_or(&text),
        "trimSuffix" => text.strip_suffix(&what).unwrap_or(&text),
        _ => text.trim_matches(|character| what.contains(character)),
    }))
}

/// The verbs `%s`, `%v`, `%d`, `%q`, `%t`, `%f` and `%%`, without widths; `%.2f` has a precision.
fn printf(arguments: &[Value]) -> Result<Value, TemplateError> {
    let [format, values @ ..] = arguments else { return Err(TemplateError::arguments(arguments)) };
    let format = print(format);
    let mut values = values.iter();
    let mut written = String::new();
    let mut characters = format.chars();
    while let Some(character) = characters.next() {
        if character != '%' {
            written.push(character);
            continue;
        }
        let mut verb = characters.next();
        let mut precision = String::new();
        if verb == Some('.') {
            verb = characters.next();
            while let Some(digit) = verb.filter(char::is_ascii_digit) {
                precision.push(digit);
                verb = characters.next();
            }
        }
        let value = if verb == Some('%') { None } else { values.next() };
        written.push_str(&match (verb, value) {
            (Some('%'), _) => "%".to_owned(),
            (Some('s' | 'v' | 'd' | 't'), Some(value)) => print(value),
            (Some('q'), Some(value)) => Value::from(print(value)).to_string(),
            (Some('f'), Some(value)) => {
                let places = precision.parse().unwrap_or(6_usize).min(20);
                format!("{:.places$}", value.as_f64().unwrap_or_default())
            }
            (Some(verb), Some(_)) => {
                return Err(TemplateError::new(format!("the verb `%{verb}` is not supported")));
            }
            (_, None) => return Err(TemplateError::new("a value for the format is missing")),
            (None, _) => return Err(TemplateError::new("the format ends in `%`")),
        });
        bounded(written.len())?;
    }
    Ok(Value::from(written))
}
