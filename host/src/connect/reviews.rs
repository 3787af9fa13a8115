//! Adapter: lets the API server review the tokens of clients that request the metrics.

use futures::future::BoxFuture;
use k8s_openapi::api::{
    authentication::v1::{TokenReview, TokenReviewSpec, UserInfo},
    authorization::v1::{NonResourceAttributes, SubjectAccessReview, SubjectAccessReviewSpec},
};
use kube::api::{Api, PostParams};

use crate::admin::{Reviewer, Unreviewed, Verdict};

/// The path and the verb that an identity must be allowed.
const METRICS: (&str, &str) = ("/metrics", "get");

/// Creates a TokenReview and then a SubjectAccessReview.
pub(crate) struct Reviews(kube::Client);

// === impl Reviews ===

impl Reviews {
    pub(crate) fn new(client: kube::Client) -> Self {
        Self(client)
    }

    /// The identity of a token. Returns `None` if the API server does not accept the token.
    async fn identity(&self, token: &str) -> Result<Option<UserInfo>, kube::Error> {
        let spec = TokenReviewSpec { token: token.to_owned(), ..TokenReviewSpec::default() };
        let review = TokenReview { spec, ..TokenReview::default() };
        let reviews = Api::<TokenReview>::all(self.0.clone());
        let status = reviews.create(&PostParams::default(), &review).await?.status.unwrap_or_default();
        Ok(status.user.filter(|_| status.authenticated == Some(true)))
    }

    async fn may_get_metrics(&self, identity: UserInfo) -> Result<bool, kube::Error> {
        let UserInfo { username, groups, uid, extra } = identity;
        let (path, verb) = METRICS;
        let attributes = NonResourceAttributes { path: Some(path.to_owned()), verb: Some(verb.to_owned()) };
        let spec = SubjectAccessReviewSpec {
            user: username,
            groups,
            uid,
            extra,
            non_resource_attributes: Some(attributes),
            ..SubjectAccessReviewSpec::default()
        };
        let review = SubjectAccessReview { spec, ..SubjectAccessReview::default() };
        let reviews = Api::<SubjectAccessReview>::all(self.0.clone());
        let status = reviews.create(&PostParams::default(), &review).await?.status;
        Ok(status.is_some_and(|status| status.allowed))
    }
}

impl Reviewer for Reviews {
    fn review<'a>(&'a self, token: &'a str) -> BoxFuture<'a, Result<Verdict, Unreviewed>> {
        Box::pin(async move {
            let Some(identity) = self.identity(token).await.map_err(unreviewed)? else {
                return Ok(Verdict::Unknown);
            };
            let allowed = self.may_get_metrics(identity).await.map_err(unreviewed)?;
            Ok(if allowed { Verdict::Allowed } else { Verdict::Forbidden })
        })
    }
}

fn unreviewed(error: kube::Error) -> Unreviewed {
    match &error {
        kube::Error::Api(status) if matches!(status.code, 401 | 403) => Unreviewed::Denied(error),
        kube::Error::Api(_) | kube::Error::SerdeError(_) => Unreviewed::Failed(error),
        _ => Unreviewed::Unreachable(error),
    }
}
