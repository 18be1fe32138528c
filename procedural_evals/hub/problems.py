"""Errors of the Hub, told so that one knows what happened and what to do; asking again."""

from __future__ import annotations

import logging
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TypeVar

from huggingface_hub import errors

_logger = logging.getLogger(__name__)
_Answer = TypeVar("_Answer")

#: Answers after which the same request may well succeed.
TRANSIENT = (408, 429, 500, 502, 503, 504)
#: Seconds before the second, third ... try.
WAITS = (1.0, 2.0, 4.0, 8.0, 8.0)

# The error of the client's HTTP library, which is httpx or httpx2 by the client's version.
_HTTPError: type[Exception] = errors.HfHubHTTPError.__bases__[0]


class PushError(RuntimeError):
    """A push that was not done, or not to its end; the message says what is left to do."""


def status_of(error: BaseException) -> int | None:
    """The HTTP status that the Hub answered, None if there was no answer."""
    response = getattr(error, "response", None)
    return None if response is None else int(response.status_code)


def is_transient(error: BaseException) -> bool:
    """Whether asking again may help: the connection failed, or the server is in trouble."""
    if isinstance(error, errors.HfHubHTTPError):
        return status_of(error) in TRANSIENT
    if isinstance(error, errors.OfflineModeIsEnabled):
        return False
    return isinstance(error, (_HTTPError, ConnectionError, TimeoutError))


def patiently(ask: Callable[[], _Answer], what: str) -> _Answer:
    """Call until it succeeds, five times more at most.

    huggingface_hub does so itself for uploads, but not for what stands around them.
    """
    for wait in WAITS:
        try:
            return ask()
        except Exception as error:
            if not is_transient(error):
                raise
            _logger.warning("%s: %s; asking again in %g s", what, _reason(error), wait)
            time.sleep(wait)
    return ask()


def _reason(error: BaseException) -> str:
    """One line: the status and the server's own words."""
    status = status_of(error)
    said = getattr(error, "server_message", None) or str(error)
    line = " ".join(said.split())
    return line if status is None else f"HTTP {status}: {line}"


@contextmanager
def told(repository: str, progress: Callable[[], str]) -> Iterator[None]:
    """Turn errors of the Hub's client into a PushError that says how far the push came.

    `progress` is asked for a sentence when something went wrong.
    """
    try:
        yield
    except PushError:
        raise
    except (_HTTPError, OSError, RuntimeError, ValueError) as error:
        cause = _http_cause(error)
        if cause is None and isinstance(error, ValueError):
            raise  # a wrong argument, not a push that failed
        advice = str(error) if cause is None else _advice(cause)
        raise PushError(f"{repository}: {advice}\n{progress()}") from error
    except KeyboardInterrupt:
        print(f"\n{repository}: {progress()}", file=sys.stderr)
        raise


def _http_cause(error: BaseException | None) -> BaseException | None:
    """The error of HTTP at the bottom of a chain; huggingface_hub wraps those of uploads."""
    while error is not None:
        if isinstance(error, (_HTTPError, ConnectionError, TimeoutError)):
            return error
        error = error.__cause__
    return None


def _advice(error: BaseException) -> str:
    status, reason = status_of(error), _reason(error)
    if isinstance(error, errors.OfflineModeIsEnabled):
        return "the Hub's client is offline. Unset HF_HUB_OFFLINE"
    if status == 401:
        return f"the Hub does not know this token ({reason}). Log in again: hf auth login --force"
    if status == 403:
        return (
            f"the Hub refuses ({reason}). The token needs the right to write to this namespace: "
            "make one at https://huggingface.co/settings/tokens, then hf auth login"
        )
    if status in (402, 413, 507):
        return (
            f"the Hub has no room for it ({reason}). Free or buy storage for the namespace "
            "(https://huggingface.co/settings/billing)"
        )
    if status == 412:
        return (
            "somebody else has pushed to it in the meantime. Look at the new commit, then run "
            "the same command again"
        )
    if is_transient(error):
        return f"the Hub cannot be reached, or does not recover ({reason})"
    return reason
