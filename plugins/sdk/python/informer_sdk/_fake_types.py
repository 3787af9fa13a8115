"""The types of the bindings that the fake host has, and its errors."""

from __future__ import annotations

from dataclasses import dataclass, make_dataclass
from enum import Enum
from typing import Any, Dict, Optional


@dataclass(frozen=True)
class Err(Exception):
    """What the runtime raises for the error of a host call, and what an export raises for its failure."""

    value: Any


def enum(name: str, words: str) -> Any:
    return Enum(name, words.upper().replace("-", "_").split(), start=0)


def records(**records: str) -> Dict[str, Any]:
    return {name: make_dataclass(name, fields.split()) for name, fields in records.items()}


TYPES = records(
    ObjectKey="namespace name",
    ObjectMeta="namespace name uid resource_version creation_timestamp deleting labels controller",
    Owner="api_version kind name uid",
    Error="code message",
    Failure_Retry="value",
    Failure_RetryAfter="value",
    Failure_Permanent="value",
)
CLIENT = records(
    ApiError="code message status retry_after_ms",
    ListOptions="namespace labels fields limit token",
    WriteOptions="dry_run force subresource",
    DeleteOptions="dry_run uid resource_version propagation",
    ObjectEvent="gvr regarding warning reason action note",
)
STORE = records(Error_Other="value")
_ApiCode = enum(
    "ApiCode",
    "not-granted bad-argument limit-exceeded too-large invalid unauthorized forbidden not-found already-exists conflict gone "
    "too-many-requests timeout unavailable internal",
)
_ErrorCode = enum("ErrorCode", "unknown-resource not-granted stale-token stale-page invalid too-large limit-exceeded internal")
PatchKind = enum("PatchKind", "merge json-patch strategic-merge apply")
Verb = enum("Verb", "added updated deleted")
Cause = enum("Cause", "live initial relist resync replay")


def api_error(code: str, message: str = "refused", status: int = 0, retry_after_ms: Optional[int] = None) -> Err:
    """A refused request, for `host.refuse`."""
    return Err(CLIENT["ApiError"](_ApiCode[code.upper().replace("-", "_")], message, status, retry_after_ms))


def host_error(code: str, message: str = "refused") -> Err:
    """A refused call, for `host.refuse`."""
    return Err(TYPES["Error"](_ErrorCode[code.upper().replace("-", "_")], message))
