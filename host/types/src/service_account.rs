//! A ServiceAccount, as the API server names it.

use std::{fmt, str::FromStr};

use crate::name::{is_namespace, is_object_name};

/// The prefix of the user names of ServiceAccounts.
const PREFIX: &str = "system:serviceaccount:";

/// A ServiceAccount. Its text is its user name: `system:serviceaccount:shop:reloader`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ServiceAccount {
    /// The namespace.
    pub namespace: String,
    /// The name.
    pub name: String,
}

/// The text does not name a ServiceAccount. The message shows the right form.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not the user name of a ServiceAccount; write system:serviceaccount:NAMESPACE:NAME")]
pub struct InvalidServiceAccount(String);

// === impl ServiceAccount ===

impl FromStr for ServiceAccount {
    type Err = InvalidServiceAccount;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let parts = text.strip_prefix(PREFIX).and_then(|rest| rest.split_once(':'));
        match parts.filter(|(namespace, name)| is_namespace(namespace) && is_object_name(name)) {
            Some((namespace, name)) => Ok(Self { namespace: namespace.to_owned(), name: name.to_owned() }),
            None => Err(InvalidServiceAccount(text.to_owned())),
        }
    }
}

impl fmt::Display for ServiceAccount {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{PREFIX}{}:{}", self.namespace, self.name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_service_account_is_read_and_shown_as_its_user_name() {
        for text in ["system:serviceaccount:shop:reloader", "system:serviceaccount:0:a.b-c.d"] {
            assert_eq!(text.parse::<ServiceAccount>().unwrap().to_string(), text);
        }
        for text in [
            "",
            "reloader",
            "shop/reloader",
            "system:serviceaccount:shop",
            "system:serviceaccount:shop:",
            "system:serviceaccount::reloader",
            "system:serviceaccount:shop:Reloader",
            "system:serviceaccount:sh.op:reloader",
            "system:serviceaccount:shop:a:b",
            "system:serviceaccount:shop:a\r\nImpersonate-Group: system:masters",
            "system:serviceaccounts:shop:reloader",
            " system:serviceaccount:shop:reloader",
            "system:admin",
        ] {
            let refused = text.parse::<ServiceAccount>().unwrap_err().to_string();
            assert!(refused.ends_with("write system:serviceaccount:NAMESPACE:NAME"), "{refused}");
        }
        let long = format!("system:serviceaccount:shop:{}", "x".repeat(254));
        assert!(long.parse::<ServiceAccount>().is_err());
    }
}
