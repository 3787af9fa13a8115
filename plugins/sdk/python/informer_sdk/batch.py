"""Several notifications in one call."""

from __future__ import annotations

import logging
from dataclasses import dataclass
from typing import Any, Callable, List, Literal, Optional, Sequence, Union

from .errors import PermanentError, describe, failure, millis
from .objects import Cause, KubeObject


@dataclass(frozen=True)
class Notification:
    """A notification of a batch."""

    verb: Literal["added", "updated", "deleted"]
    """What happened to the object."""
    obj: KubeObject
    """The object; after a deletion, its last known state."""
    old: Optional[KubeObject]
    """The state before an update."""
    final_state_known: bool
    """False if the watch missed the deletion, so that the object may have changed since this state."""
    cause: Cause
    """Why the notification is delivered."""
    attempt: int
    """The number of the attempt to deliver it. The first is 1."""


@dataclass(frozen=True)
class Again:
    """The outcome of a notification that is handled, and whose object is delivered once more after some seconds."""

    after: float


Outcome = Union[None, Again, Exception]
"""The outcome of one notification: `None` if it is handled, an `Again`, or an exception if it has failed, as if a function had raised the
exception."""


def answers(exports: Any, notifications: Sequence[Any], on_batch: Callable[[List[Notification]], Sequence[Outcome]]) -> List[Any]:
    """The answer to a batch. If the function raises, the answer has no outcomes, so the host delivers each notification alone. If it raises
    for a batch of one notification, the notification has failed with this exception."""
    try:
        outcomes = on_batch([_notification(one) for one in notifications])
        if not isinstance(outcomes, (list, tuple)):
            raise PermanentError("on_batch has not returned a list: return one outcome for each notification")
        return [_answer(exports, outcome) for outcome in outcomes]
    except Exception as error:
        if len(notifications) == 1:
            return [exports.Outcome_Failed(failure(error))]
        message = "on_batch has failed, and its notifications are delivered one by one"
        logging.warning(message, extra={"error": describe(error)})
        return []


def _notification(wire: Any) -> Notification:
    old = None if wire.old is None else KubeObject.before(wire.old)
    obj = KubeObject(wire.gvr, wire.meta, wire.id)
    verb: Any = wire.verb.name.lower()
    cause: Any = wire.cause.name.lower()
    return Notification(verb, obj, old, wire.final_state_known, cause, wire.attempt)


def _answer(exports: Any, outcome: Outcome) -> Any:
    if outcome is None:
        return exports.Outcome_Handled()
    if isinstance(outcome, Exception):
        return exports.Outcome_Failed(failure(outcome))
    try:
        if isinstance(outcome, Again):
            return exports.Outcome_Again(millis(outcome.after, "after"))
    except TypeError as error:
        # It is the failure of this notification, and not of the whole batch.
        return exports.Outcome_Failed(failure(PermanentError(f"an outcome of on_batch is an Again, whose time is wrong: {error}")))
    problem = f"an outcome of on_batch is {outcome!r}: it is None, an Again or an exception"
    return exports.Outcome_Failed(failure(PermanentError(problem)))
