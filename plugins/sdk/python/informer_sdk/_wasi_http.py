"""`wasi:http`, which sends a request in steps: the head, the body, and then the answer. `testing` replaces this module."""

from __future__ import annotations

from typing import Any, List, Optional, Tuple

from componentize_py_types import Err
from wit_world.imports import outgoing_handler, streams
from wit_world.imports import wasi_http_types as types

from .errors import HostError, call

# The most bytes that a stream takes at once, and those that are read at once.
_PIECE = 4096
_READ = 65536

_NANOS_PER_MILLI = 1_000_000


def send(
    method: str, scheme: str, authority: str, path: str, headers: List[Tuple[str, str]], body: Optional[bytes], millis: Optional[int]
) -> Tuple[int, List[Tuple[str, str]], bytes]:
    """Sends a request. Returns the status, the headers and the body of the answer."""
    request = _head(method, scheme, authority, path, headers)
    outgoing = None if body is None else _fits(request.body)
    future = call(outgoing_handler.handle, request, None if millis is None else _patience(millis))
    if outgoing is not None and body is not None:
        _write(outgoing, body)
    with future, _wait(future) as response:
        with response.headers() as fields:
            pairs = [(name, value.decode("utf-8", "replace")) for name, value in fields.entries()]
        return response.status(), pairs, _read(response)


def _fits(function: Any, *args: Any) -> Any:
    try:
        return function(*args)
    except Err:
        refused = HostError("invalid", "the host refuses a part of the request")
    raise refused


def _head(method: str, scheme: str, authority: str, path: str, headers: List[Tuple[str, str]]) -> Any:
    fields = _fits(types.Fields.from_list, [(name, value.encode()) for name, value in headers])
    request = types.OutgoingRequest(fields)
    known = getattr(types, f"Method_{method.capitalize()}", None) if method.isupper() and method != "OTHER" else None
    _fits(request.set_method, known() if known else types.Method_Other(method))
    _fits(request.set_scheme, types.Scheme_Https() if scheme == "https" else types.Scheme_Http())
    _fits(request.set_authority, authority)
    _fits(request.set_path_with_query, path)
    return request


def _patience(millis: int) -> Any:
    options = types.RequestOptions()
    for wait in (options.set_connect_timeout, options.set_first_byte_timeout, options.set_between_bytes_timeout):
        _fits(wait, millis * _NANOS_PER_MILLI)
    return options


def _write(outgoing: Any, body: bytes) -> None:
    """Sends the body. If that fails, the answer reports it."""
    try:
        with outgoing.write() as stream:
            for begin in range(0, len(body), _PIECE):
                stream.blocking_write_and_flush(body[begin : begin + _PIECE])
        types.OutgoingBody.finish(outgoing, None)
    except Err:
        return


def _wait(future: Any) -> Any:
    with future.subscribe() as ready:
        ready.block()
    got = future.get().value
    if isinstance(got, Err):
        return call(_raise, got)
    return got.value


def _raise(error: Err) -> None:
    raise error


def _read(response: Any) -> bytes:
    pieces = []
    with response.consume() as body, body.stream() as stream:
        while True:
            try:
                pieces.append(stream.blocking_read(_READ))
            except Err as error:
                ended = error.value
                break
    if isinstance(ended, streams.StreamError_LastOperationFailed):
        # The host has no code for an answer that breaks off. Its log has the reason.
        code = types.http_error_code(ended.value)
        call(_raise, Err(types.ErrorCode_HttpResponseIncomplete() if code is None else code))
    return b"".join(pieces)
