"""Who asks the local Hub, and what each may do."""

from __future__ import annotations

from dataclasses import dataclass

from tests.hub.store import RefusedError, Repository


@dataclass(frozen=True)
class Account:
    """A user with one token: a member of `organizations`; `writes` is the token's role."""

    name: str
    organizations: tuple[str, ...] = ()
    writes: bool = True

    def belongs_to(self, namespace: str) -> bool:
        """Whether the namespace is the user's own or an organization's of the user."""
        return namespace == self.name or namespace in self.organizations

    def may_write(self, namespace: str) -> bool:
        """Whether this token may change repositories of a namespace."""
        return self.writes and self.belongs_to(namespace)


def require_read(account: Account | None, repository: Repository | None) -> Repository:
    """The repository, if it is there for this account; a private one looks like none."""
    if repository is None or (
        repository.private
        and (account is None or not account.belongs_to(repository.id.split("/")[0]))
    ):
        if account is None:
            raise RefusedError(401, "Invalid username or password.", "RepoNotFound")
        raise RefusedError(404, "Repository not found", "RepoNotFound")
    return repository


def require_account(account: Account | None) -> Account:
    """Somebody who is known."""
    if account is None:
        raise RefusedError(401, "Invalid username or password.")
    return account


def require_write_token(account: Account | None) -> Account:
    """Somebody whose token is more than a reader's: enough for a pull request or a comment."""
    known = require_account(account)
    if not known.writes:
        raise RefusedError(403, "This token has the role 'read': use a token with the role 'write'")
    return known


def require_write(account: Account | None, namespace: str) -> Account:
    """Somebody who may change repositories of the namespace."""
    known = require_write_token(account)
    if not known.may_write(namespace):
        raise RefusedError(
            403, f'You don\'t have the rights to write to the namespace "{namespace}"'
        )
    return known
