"""Subordinate numbers of users and groups, so that users can be root in a namespace of their own, as a build wants."""

from collections.abc import Collection, Iterable, Iterator

from gpupool.change import Aspect, Kind
from gpupool.facts.subordinate import Range, Subordinate
from gpupool.operations.frame import Commands, Refused, look, operation
from gpupool.operations.work import Work

#: How many each user gets: as many as there are ordinary numbers in an image.
COUNT = 65536
#: The first ones: above those that systemd gives containers.
FIRST = 0x7000_0000
_END = 2**32 - 1
_AT_ONCE = 200


@operation
def numbers(users: list[str]) -> Commands:
    """Give each user a range of numbers for users and one for groups, the same for both, where one is missing.

    Ranges that are there are never changed; a user who has one as large gets no other. A new range is above all
    others, in the order of `users`: nodes that get the same users in the same order have the same ranges.
    """
    state = look(Subordinate, "/etc/subuid and /etc/subgid")
    enough = [{span.owner for span in ranges if span.count >= COUNT} for ranges in (state.users, state.groups)]
    free = _free([*state.users, *state.groups], state.taken)
    work = Work(Kind.USER)
    for user in users:
        files = zip(("--add-subuids", "--add-subgids"), enough, strict=True)
        options = [option for option, owners in files if user not in owners]
        if not options:
            continue
        first = next(free, None)
        if first is None:
            raise Refused("no numbers are left above those in /etc/subuid and /etc/subgid")
        span = f"{first}-{first + COUNT - 1}"
        arguments = [word for option in options for word in (option, span)]
        work.do(f"numbers of {user}", Aspect(span), "usermod", *arguments, "--", user)
    yield from work.carry_out(f"{len(users)} users: have numbers", "set -e", at_once=_AT_ONCE)


def _free(ranges: Iterable[Range], taken: Collection[int]) -> Iterator[int]:
    """Yield the beginnings of ranges above all others in which no user and no group has its number."""
    end = max([FIRST, *(span.first + span.count for span in ranges)])
    for first in range(-(-end // COUNT) * COUNT, _END - COUNT, COUNT):
        if not any(first <= number < first + COUNT for number in taken):
            yield first
