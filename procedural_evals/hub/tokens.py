"""Who pushes: the token that `hf auth login` or $HF_TOKEN gives, and what it may write to."""

from __future__ import annotations

from dataclasses import dataclass

from huggingface_hub import HfApi, get_token
from huggingface_hub.errors import HfHubHTTPError

from procedural_evals.hub.problems import PushError, patiently, status_of, told

_MAKE_ONE = (
    "make a token with the role `write` at https://huggingface.co/settings/tokens, then "
    "`hf auth login`, or set HF_TOKEN"
)


@dataclass(frozen=True)
class Session:
    """A client of the Hub whose token was checked; `name` is the user's."""

    api: HfApi
    name: str


def open_session(namespace: str, api: HfApi | None = None) -> Session:
    """Check that there is a token, that the Hub knows it and that it may write to a namespace.

    Args:
        namespace: a user's or an organization's name.
        api: the client; by default one for $HF_ENDPOINT with the stored token.

    Raises PushError, with what to do, before anything is changed on the Hub.
    """
    client = api or HfApi(library_name="procedural-evals")
    if not (client.token or get_token()):
        raise PushError(f"there is no token for {client.endpoint}: {_MAKE_ONE}")
    with told(client.endpoint, lambda: "Nothing was changed."):
        try:
            answer = patiently(client.whoami, "whoami")
        except HfHubHTTPError as error:
            if status_of(error) != 401:
                raise
            raise PushError(
                f"{client.endpoint} does not know this token (HTTP 401): {_MAKE_ONE}. A token in "
                "HF_TOKEN goes before the one that was stored by `hf auth login`"
            ) from error
    role = answer.get("auth", {}).get("accessToken", {}).get("role")
    if role == "read":
        raise PushError(
            f"the token of {answer['name']} may only read (HTTP 403 would follow): {_MAKE_ONE}"
        )
    mine = [str(answer["name"]), *(str(each["name"]) for each in answer.get("orgs", []))]
    if namespace not in mine:
        raise PushError(
            f"{answer['name']} is no member of {namespace!r}: --namespace is one of "
            f"{', '.join(mine)}"
        )
    return Session(client, str(answer["name"]))
