"""HTTP requests. They need the grant `http`, which names the places::

    answer = http.request("POST", "https://chat.example.com/hooks/platform", json={"text": "hello"})
    if not answer.ok:
        raise RuntimeError(f"the chat answers {answer.status}")

The host follows no redirect, and sends no request to the API server.
"""

from __future__ import annotations

import json as _json
from typing import Any, Dict, Mapping, Optional, Union
from urllib.parse import SplitResult, urlsplit

from . import _wasi_http
from .errors import HostError, millis, text


class Answer:
    """An answer to a request. Each status is an answer, also 404 or 500."""

    status: int
    headers: Dict[str, str]
    """The headers, with names in lower case. Values of one name are joined by commas."""
    body: bytes

    def __init__(self, status: int, headers: Dict[str, str], body: bytes) -> None:
        self.status = status
        self.headers = headers
        self.body = body

    @property
    def ok(self) -> bool:
        """True for a status of 200 to 299."""
        return 200 <= self.status < 300

    @property
    def text(self) -> str:
        """The body as UTF-8."""
        return self.body.decode("utf-8", "replace")

    def json(self) -> Any:
        """The body, parsed."""
        return _json.loads(self.body)


def request(
    method: str,
    url: str,
    *,
    headers: Optional[Mapping[str, str]] = None,
    body: Union[bytes, str, None] = None,
    json: Any = None,
    timeout: Optional[float] = None,
) -> Answer:
    """Sends a request and waits for the answer.

    `json` is sent as JSON text instead of `body`. `timeout` is the time in seconds for the connection, for the head of the answer and for
    each piece of its body; the deadline of the call ends the request in any case.

    Raises a `HostError` whose code is `http-request-denied` if the host denies the request, `invalid` if the URL or a header is malformed,
    and the code of `wasi:http`, like `connection-refused`, if there is no answer.
    """
    sent = {text(name, "the name of a header").lower(): text(value, name) for name, value in (headers or {}).items()}
    if json is not None:
        body = _json.dumps(json, ensure_ascii=False)
        sent.setdefault("content-type", "application/json")
    payload = body.encode() if isinstance(body, str) else body
    if payload is not None:
        if not isinstance(payload, bytes):
            raise TypeError(f"the body is neither bytes nor a string: {type(payload).__name__}")
        sent["content-length"] = str(len(payload))
    parts = _split(text(url, "url"))
    # The path of a webhook is often a secret, and so is a password before the host, so that no error has them.
    place = f"{text(method, 'method')} {parts.scheme}://{parts.netloc.rpartition('@')[2]}"
    path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    wait = None if timeout is None else millis(timeout, "timeout")
    try:
        status, pairs, answered = _wasi_http.send(method, parts.scheme, parts.netloc, path, list(sent.items()), payload, wait)
    except HostError as error:
        raise HostError(error.code, f"{place}: {_reason(error.code)}") from None
    received: Dict[str, str] = {}
    for name, value in pairs:
        received[name] = f"{received[name]}, {value}" if name in received else value
    return Answer(status, received, answered)


def get(url: str, *, headers: Optional[Mapping[str, str]] = None, timeout: Optional[float] = None) -> Answer:
    """Sends a GET request."""
    return request("GET", url, headers=headers, timeout=timeout)


def _split(url: str) -> SplitResult:
    try:
        parts = urlsplit(url)
    except ValueError:
        parts = None
    if parts is None or parts.scheme not in ("http", "https") or not parts.netloc:
        raise HostError("invalid", "the URL does not begin with http:// or https:// and a host")
    return parts


def _reason(code: str) -> str:
    if code == "http-request-denied":
        return "the host denies it; `http` under [plugin.grant] names the places, and the log has the reason"
    return "the host refuses a part of the request" if code == "invalid" else "there is no answer"
