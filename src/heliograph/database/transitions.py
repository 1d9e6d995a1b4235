"""Describes tables of transitions: which states a kind of thing has, and what leads from one to the
next.

Each room declares the table of what it stores once, in its `states.py`, from a state to the states
that follow it. Every statement that writes a state takes its condition from that table: a row that
is in no state from which the table allows the new one is not changed, and whoever wrote has lost a
race, which is an ordinary result. `docs/states.md` is made from these tables.

A statement asks with `may_become` if its text says which states it writes, and with `may_store` if
each of its rows has a state of its own. Code asks with `allows`, or with `moved` if it knows both
states when it is imported. `sources` names the states that a refusal mentions.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Final, NamedTuple

NO_ROW: Final = "[*]"  # before a thing is stored, and after its row is deleted


def is_one_of(expression: str, words: Collection[str]) -> str:
    """Returns the SQL condition that an expression, such as the name of a column, has one of these
    words of ours. Raises ValueError if there is none, or if one is more than a word.

    >>> is_one_of("m.status", ["sent", "delivered"])
    "m.status IN ('sent', 'delivered')"
    """
    if not words or not all(word.isidentifier() for word in words):
        raise ValueError(f"must be words, not {words!r}")
    quoted = ", ".join(f"'{word}'" for word in words)
    return f"{expression} = {quoted}" if len(words) == 1 else f"{expression} IN ({quoted})"


class Arrow(NamedTuple):
    """Describes one transition. `was` or `to` is NO_ROW where the row is stored or deleted."""

    was: str
    to: str
    by: str  # what makes it, as a reader of the documentation knows it


class Transitions:
    """Names the states of one kind of thing, and the transitions between them.

    `meanings` has every state with what it means, in the order in which they are shown. `begins`
    has the states in which a row is stored first, `moves` those that follow each state, and `ends`
    those in which a row is deleted, each with what makes the transition. A state that nothing
    follows is final. `notes` are sentences for `docs/states.md`, about what no transition tells.

    Raises ValueError for a state that has no meaning.
    """

    def __init__(
        self,
        *,
        meanings: Mapping[str, str],
        begins: Mapping[str, str],
        moves: Mapping[str, Mapping[str, str]],
        ends: Mapping[str, str] | None = None,
        column: str = "status",
        conditions: Mapping[str, str] | None = None,
        notes: Sequence[str] = (),
    ) -> None:
        """Declares transitions. `column` holds the state as a word. Where no column does,
        `conditions` has an SQL condition for each state, in which `{of}` stands before the name of
        each column.
        """
        self.meanings, self.states = meanings, tuple(meanings)
        self.begins, self.moves, self.ends = begins, moves, ends or {}
        self.notes = tuple(notes)
        self.next: Mapping[str, frozenset[str]] = {
            state: frozenset([*moves.get(state, ()), *([NO_ROW] if state in self.ends else [])])
            for state in meanings
        }
        self._column, self._conditions = column, conditions
        unknown = {
            state
            for named in (begins, moves, *moves.values(), self.ends, conditions or meanings)
            for state in named
            if state not in meanings
        }
        if unknown:
            raise ValueError(f"states without a meaning: {', '.join(sorted(unknown))}")

    def allows(self, was: str, to: str) -> bool:
        """Returns whether the state `to` may follow the state `was`, or whether a row that is
        `was` may be deleted, if `to` is NO_ROW.
        """
        return to in self.next[was]

    def sources(self, to: str) -> tuple[str, ...]:
        """Returns the states that `to` may follow. Raises KeyError for an unknown state.

        >>> Transitions(meanings={"new": "", "old": ""}, begins={},
        ...             moves={"new": {"old": ""}}).sources("old")
        ('new',)
        """
        _ = self.next[to]
        return tuple(state for state in self.states if to in self.next[state])

    def begun_as(self, state: str) -> str:
        """Returns the state itself, of a row that is stored first. Raises KeyError if a row may not
        begin in it.
        """
        _ = self.begins[state]
        return state

    def moved(self, was: str, to: str) -> str:
        """Returns the state `to`, of a row that was `was`. Raises KeyError if it may not follow."""
        _ = self.moves[was][to]
        return to

    def arrows(self) -> Iterator[Arrow]:
        """Yields all transitions, in the order of the states."""
        for state, by in self.begins.items():
            yield Arrow(NO_ROW, state, by)
        for was in self.states:
            for to, by in self.moves.get(was, {}).items():
                yield Arrow(was, to, by)
            if was in self.ends:
                yield Arrow(was, NO_ROW, self.ends[was])
        for state in self.states:
            if not self.next[state]:
                yield Arrow(state, NO_ROW, "")

    # SQL conditions. `of` stands before the names of columns, such as `m.`.

    def is_in(self, *states: str, of: str = "") -> str:
        """Returns the SQL condition that a row is in one of these states."""
        for state in states:
            _ = self.meanings[state]
        if self._conditions is not None:
            each = [f"({self._conditions[state].replace('{of}', of)})" for state in states]
            return each[0] if len(each) == 1 else f"({' OR '.join(each)})"
        return is_one_of(f"{of}{self._column}", states)

    def may_become(self, *to: str, of: str = "") -> str:
        """Returns the SQL condition that a row is in a state from which the table allows `to`; or
        each of them, if the statement writes one of several. For NO_ROW it is the condition of a
        statement that deletes rows. Raises ValueError if there is no such state.
        """
        found = [state for state in self.states if self.next[state].issuperset(to)]
        if not to or not found:
            raise ValueError(f"no state can become {' and '.join(to)}")
        return self.is_in(*found, of=of)

    def may_store(self, new: str, of: str = "") -> str:
        """Returns the SQL condition that a row stays in its state, or may come to the state that
        the SQL expression `new` has. It is for statements that store many rows at once, each with a
        state of its own.
        """
        stored = f"{of}{self._column}"
        moves = [
            f"({stored} = '{was}' AND {is_one_of(new, self.moves[was])})"
            for was in self.states
            if self.moves.get(was)
        ]
        return f"({' OR '.join([f'{stored} = {new}', *moves])})"
