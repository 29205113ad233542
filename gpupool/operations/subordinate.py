"""Give users subordinate uids and gids, so that they can be root in a user namespace, for example to build images."""

from collections.abc import Collection, Iterable, Iterator

from gpupool.change import Aspect, Kind
from gpupool.facts.subordinate import Range, Subordinate
from gpupool.operations.frame import Commands, Refused, look, operation
from gpupool.operations.work import Work

#: Numbers for each user: as many as there are ordinary uids in an image.
COUNT = 65536
#: The first number: above the numbers that systemd uses for containers.
FIRST = 0x7000_0000
_END = 2**32 - 1
_AT_ONCE = 200


@operation
def numbers(users: list[str]) -> Commands:
    """Add missing ranges of subordinate uids and gids, the same numbers for both, to each user.

    Existing ranges are never changed; a user with a range of at least this size gets no other. A new range is above
    all others, in the order of `users`: nodes with the same users in the same order have the same ranges.
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
    """Yield the first numbers of ranges that are above all others and contain no user's or group's number."""
    end = max([FIRST, *(span.first + span.count for span in ranges)])
    for first in range(-(-end // COUNT) * COUNT, _END - COUNT, COUNT):
        if not any(first <= number < first + COUNT for number in taken):
            yield first
