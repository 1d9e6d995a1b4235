"""Holds what all commands share: their options, how they fail, and the database that they work
on.
"""

import re
from collections.abc import Callable, Coroutine, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final, TypeVar

import click

from heliograph.cli.checked_values import InvalidValue, MaybeEmpty
from heliograph.cli.failure import BadValue, Failure
from heliograph.cli.garbage_collection import resume_collection

if TYPE_CHECKING:
    from sqlalchemy.engine import Connection

    from heliograph.base.data_dir import Making
    from heliograph.base.errors import FieldError
    from heliograph.base.secrets import Keys
    from heliograph.base.settings import Settings
    from heliograph.database.database import Database

T = TypeVar("T")


FIELDS_TOLD_MAX: Final = 20  # bad values of one command


class CommandRun:
    """Holds the settings of one run of a command, and opens the database when it is first
    needed.
    """

    def __init__(self, data_dir: str | None, as_json: bool, making: "Making") -> None:
        self.data_dir = data_dir
        self.as_json = as_json
        self.making: Making = making
        self.any_key = False  # True: it works with whatever secret key it was given

    @cached_property
    def settings(self) -> "Settings":
        """Returns the settings of a command that works: before it opens any of the service's files,
        it takes them from others.
        """
        from heliograph.base import private_files
        from heliograph.database import sessions

        found = self.settings_as_found
        private_files.make_private(
            found.data_dir,
            (
                None
                if found.database_url.startswith("postgres")
                else sessions.sqlite_path(found.database_url)
            ),
        )
        return found

    @cached_property
    def settings_as_found(self) -> "Settings":
        """Returns the settings of a command that looks only."""
        from heliograph.base import settings

        _keep_logs_out()
        return settings.load(self.data_dir, making=self.making)

    @cached_property
    def database(self) -> "Database":
        """Returns the database, for what opens transactions of its own, one after the other."""
        from heliograph.cli.preflight import require_usable
        from heliograph.database.database import Database

        database = Database(self.settings.database_url, self.settings.synchronous_commit)
        click.get_current_context().call_on_close(database.close)
        require_usable(database, self.settings, makes=self.making != "never", any_key=self.any_key)
        return database

    @contextmanager
    def write(self) -> Iterator["Connection"]:
        """Opens the command's transaction."""
        with self.database.write() as tx:
            yield tx

    @contextmanager
    def read(self) -> Iterator["Connection"]:
        with self.database.read() as tx:
            yield tx

    @contextmanager
    def snapshot(self) -> Iterator["Connection"]:
        """Opens a transaction that sees one moment."""
        with self.database.snapshot() as tx:
            yield tx

    def secret_keys(self, tx: "Connection") -> "Keys":
        """Returns the keys that stored secrets may be under, the one in use first: it stays so
        while this transaction lasts. Raises SettingError.
        """
        from heliograph.database import secret_key_canary

        return secret_key_canary.keys_in_use(tx, self.settings.secret_keys)

    def run_hot(self, work: "Callable[[Database], Coroutine[Any, Any, T]]") -> T:
        """Returns what `work(database)` returns. It opens transactions of the hot paths, as the
        turns of a running server do.
        """
        import asyncio

        database = self.database

        async def whole() -> T:
            try:
                return await work(database)
            finally:
                await database.close_hot()

        return asyncio.run(whole())


class Command(click.Command):
    """Gives a command --data-dir, --env-file and --json, and its callback a `run`. Expected
    errors become a Failure.

    `own_data_dir` is where it works unless told by --data-dir, whatever the environment says.
    `prints_record` False means that it has no --json. `making` says whether it makes a database of
    SQLite where there is none. `collects_later` says that its process collects garbage as one that
    serves once it has begun (`tune_collector`), and rarely before.
    """

    def __init__(
        self,
        *args: Any,
        own_data_dir: str | None = None,
        prints_record: bool = True,
        making: "Making" = "never",
        collects_later: bool = False,
        **more: Any,
    ) -> None:
        super().__init__(*args, **more)
        self._own_data_dir = own_data_dir
        self._goes_on_at_once = not prints_record and not collects_later
        self._making: Making = making
        variable = None if own_data_dir else "HELIOGRAPH_DATA_DIR"
        self.params.append(
            click.Option(
                ["--data-dir"],
                metavar="DIR",
                envvar=variable,
                show_envvar=True,
                help=(
                    f"Default: ./{own_data_dir or 'heliograph-data'}. The service keeps its files"
                    " there."
                ),
            )
        )
        self.params.append(
            click.Option(
                ["--env-file"],
                metavar="FILE",
                envvar="HELIOGRAPH_ENV_FILE",
                show_envvar=True,
                help="A file of settings, one KEY=VALUE a line. Environment variables override it.",
            )
        )
        if prints_record:
            self.params.append(
                click.Option(["--json", "as_json"], is_flag=True, help="Print one JSON document.")
            )

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Reads a number below zero as a value, for its field to refuse, and not as an option."""
        ctx.ignore_unknown_options = any(re.fullmatch(r"-[0-9].*", arg, re.ASCII) for arg in args)
        known = [
            word for param in self.get_params(ctx) for word in (*param.opts, *param.secondary_opts)
        ]
        try:
            rest = super().parse_args(ctx, [*args])
            self._refuse_empty(ctx, args)
            return rest
        except InvalidValue as error:
            raise BadValue(_in_words_of(self.params, error.why, str(error.why))) from error.why
        except click.NoSuchOption as error:
            raise click.NoSuchOption(
                error.option_name, possibilities=_nearest(error.option_name, known), ctx=ctx
            ) from None
        except click.UsageError:
            for name in (
                arg.partition("=")[0]
                for arg in args
                if ctx.ignore_unknown_options and arg.startswith("--")
            ):
                if name not in known:
                    raise click.NoSuchOption(
                        name, possibilities=_nearest(name, known), ctx=ctx
                    ) from None
            raise

    def _refuse_empty(self, ctx: click.Context, args: list[str]) -> None:
        """Raises BadParameter for a value that was typed and is empty: most often a variable of a
        shell that is not set.
        """
        if not any(arg == "" or arg.endswith("=") for arg in args):
            return
        typed, _, _ = self.make_parser(ctx).parse_args([*args])
        for param in self.get_params(ctx):
            value = typed.get(str(param.name))
            if "" in (value if isinstance(value, list | tuple) else [value]) and not isinstance(
                param.type, MaybeEmpty
            ):
                raise click.BadParameter("it is empty.", ctx, param)

    def invoke(self, ctx: click.Context) -> Any:
        """Runs the command with its database and settings; its errors are one line each."""
        from heliograph.base import env_file

        if self._goes_on_at_once:  # it is a process, which does not tune the collector itself
            resume_collection()
        ctx.params["run"] = CommandRun(
            ctx.params.pop("data_dir") or self._own_data_dir,
            ctx.params.pop("as_json", False),
            self._making,
        )
        try:
            with env_file.apply(ctx.params.pop("env_file")):
                return super().invoke(ctx)
        except _expected() as error:
            message = (
                _unconfirmed(ctx.params)
                if _is_unconfirmed(error)
                else _in_words_of(self.params, error, _in_one_line(error))
            )
            raise (BadValue if getattr(error, "fields", None) else Failure)(message) from error


def _nearest(name: str, known: Iterable[str]) -> list[str]:
    """Returns the names that are nearest to one that is not known. Help loads none of this."""
    from heliograph.base.near_names import nearest_names

    return nearest_names(name, known)


class Noun(click.Group):
    """Groups the commands about one thing."""

    command_class = Command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Finds the command; where there is none, names those that are nearest."""
        try:
            return super().resolve_command(ctx, args)
        except click.exceptions.NoSuchCommand as error:
            raise click.exceptions.NoSuchCommand(
                error.command_name,
                possibilities=_nearest(error.command_name, self.commands),
                ctx=ctx,
            ) from None


def _expected() -> tuple[type[Exception], ...]:
    """Returns the errors whose text is for the operator. It is asked only when there is one: naming
    them loads their modules.
    """
    from sqlalchemy.exc import OperationalError

    from heliograph.base.errors import ServiceError
    from heliograph.base.secrets import SecretUnreadable
    from heliograph.base.settings import SettingError

    return ServiceError, SettingError, SecretUnreadable, OperationalError


# What a field of the API is called on the command line, where that is another word.
_OPTION_OF: Final = {
    "country_code": "country",
    "amount": "balance",
    "expires_at": "expires",
    "tier": "max_tier",
    "password": "password_file",
    "low_balance_credits": "low_balance",
    "tags": "tag",
    "validity_s": "validity",
    "hold_s": "hold",
    "credits": "below",
}


def _in_words_of(params: Sequence[click.Parameter], error: Exception, sentence: str) -> str:
    """Returns what is wrong with all bad values, with their options or arguments in place of the
    fields' names.
    """
    fields: list[FieldError] = getattr(error, "fields", [])
    if not fields or not sentence.startswith(f"{fields[0].field} "):
        return sentence
    typed = {
        word.lstrip("-").replace("-", "_"): word
        for param in params
        if isinstance(param, click.Option)
        for word in param.opts
    }
    typed |= {
        str(param.name): param.make_metavar(click.get_current_context())
        for param in params
        if isinstance(param, click.Argument)
    }

    def as_typed(field: str) -> str:
        match = re.fullmatch(r"(\w*)(.*)", field, re.DOTALL)
        assert match is not None  # every string matches
        name, path = match.groups()
        place = re.fullmatch(r"\[(\d+)\]", path)
        return typed.get(name, typed.get(_OPTION_OF.get(name, ""), name)) + (
            f" {int(place[1]) + 1}" if place else path.replace(".", " ", 1)
        )

    if len(fields) == 1:
        return as_typed(fields[0].field) + sentence.removeprefix(fields[0].field)
    lines = [f"{as_typed(field)} {message}." for field, message in fields[:FIELDS_TOLD_MAX]]
    return "\n".join(
        [
            f"{len(fields)} values are wrong.",
            *(f"  {line}" for line in lines),
            *(["  …"] if len(fields) > FIELDS_TOLD_MAX else []),
        ]
    )


def _keep_logs_out() -> None:
    """Keeps logs of libraries out of a record that is printed, and away from the one line of a
    failure. Processes that go on set up their logs themselves.
    """
    from heliograph.base import log

    click.get_current_context().call_on_close(log.write_errors_only())


def _is_unconfirmed(error: Exception) -> bool:
    from heliograph.database.commits import Unconfirmed

    return isinstance(error, Unconfirmed)


def _unconfirmed(given: dict[str, Any]) -> str:
    """Returns what is true of a command whose commit no standby has confirmed: it has no
    Idempotency-Key, but may have a reference.
    """
    opening = (
        "The database does not confirm what it stores: no synchronous standby answers. The change"
        " may have been applied, or may still be. When a standby answers,"
    )
    if given.get("reference"):
        return (
            f"{opening} repeat the command with the same --reference: a reference is applied once,"
            " and the command says whether it was already."
        )
    if "reference" in given:
        return (
            f"{opening} see whether it was applied (heliograph account show) before you repeat the"
            " command: without a --reference it is applied again."
        )
    return f"{opening} see whether it was applied before you repeat the command."


def _in_one_line(error: Exception) -> str:
    from sqlalchemy.exc import DBAPIError

    from heliograph.database.outage import is_conflict

    if not isinstance(error, DBAPIError):
        return str(error)
    if is_conflict(error):
        return "The database is busy; nothing was changed. Try again."
    # without SQLAlchemy's second line, which holds the statement and its values
    return f"The database refused: {str(error.orig).splitlines()[0]}"


def examples(*lines: str) -> str:
    r"""Returns the end of a command's help: what one would type. The \b keeps click from filling
    the lines.
    """
    return "\b\nExamples:\n" + "\n".join(f"  heliograph {line}" for line in lines)
