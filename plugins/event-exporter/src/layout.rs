//! `layout`: a nested map of templates that makes the document of an Event.

use serde::Deserialize;
use serde_json::{Map, Value};

use crate::{
    record::method,
    template::{Template, TemplateError},
};

/// A template in the configuration. It is parsed when the plugin starts.
#[derive(Debug, Clone, Deserialize)]
#[serde(try_from = "String")]
pub(crate) struct Text(Template);

/// A value whose texts are templates.
#[derive(Debug, Clone, Deserialize)]
#[serde(try_from = "Value")]
pub(crate) enum Layout {
    Text(Template),
    List(Vec<Layout>),
    Map(Vec<(String, Layout)>),
    /// A number, a boolean or null, as it is.
    Plain(Value),
}

// === impl Text ===

impl Text {
    /// Returns true if the text is the same for all Events.
    pub(crate) fn is_constant(&self) -> bool {
        self.0.is_constant()
    }

    pub(crate) fn render(&self, document: &Value) -> Result<String, TemplateError> {
        self.0.render(document, method)
    }
}

impl TryFrom<String> for Text {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        Template::parse(&text).map(Self).map_err(|error| format!("the template `{text}`: {error}"))
    }
}

// === impl Layout ===

impl Layout {
    pub(crate) fn render(&self, document: &Value) -> Result<Value, TemplateError> {
        Ok(match self {
            Self::Text(template) => Value::from(template.render(document, method)?),
            Self::List(items) => items.iter().map(|item| item.render(document)).collect::<Result<_, _>>()?,
            Self::Map(fields) => {
                let render = |(name, value): &(String, Self)| Ok((name.clone(), value.render(document)?));
                Value::Object(fields.iter().map(render).collect::<Result<Map<_, _>, _>>()?)
            }
            Self::Plain(value) => value.clone(),
        })
    }
}

impl TryFrom<Value> for Layout {
    type Error = String;

    fn try_from(value: Value) -> Result<Self, String> {
        Ok(match value {
            Value::String(text) => Self::Text(Text::try_from(text)?.0),
            Value::Array(items) => {
                Self::List(items.into_iter().map(Self::try_from).collect::<Result<_, _>>()?)
            }
            Value::Object(fields) => {
                let field = |(name, value): (String, Value)| Ok((name, Self::try_from(value)?));
                Self::Map(fields.into_iter().map(field).collect::<Result<_, String>>()?)
            }
            plain => Self::Plain(plain),
        })
    }
}
