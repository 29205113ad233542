"""Refuse to begin a cluster anew that exists: without its munge key, its queue, its database or its ClusterID.

An empty slurmctld ends all running jobs, and nodes with another munge key are cut off from Slurm. So a controller that
has lost one of them is not started; `gpupool restore --controller` brings it back.
"""

from collections.abc import Iterable, Mapping
from contextlib import suppress

from gevent.pool import Pool
from pyinfra.api.facts import get_fact
from pyinfra.context import ctx_host, ctx_state

from gpupool.facts.remains import KnownCluster, Remains, RemainsState
from gpupool.operations.ambient import run_state, this_host
from gpupool.operations.frame import Refused, look, operation
from gpupool.operations.other_hosts import named, turn
from gpupool.wanted import Heart
from gpupool.wording import shortened

_ASKED = 32  # nodes that are asked at once
HOW = "bring the controller back with `gpupool restore INVENTORY --controller`"

#: The parts of the cluster on each node that answered, by name.
Answers = Mapping[str, RemainsState]


@operation
def refuse_to_begin_anew(node: str, heart: Heart, mounted: bool = False) -> None:
    """Refuse if this node, a controller or the one of the database, would begin an existing cluster anew.

    Refused are: a slurmctld without a queue while jobs run; a new munge key while other nodes use one; an empty
    database beside slurmctld's state; another ClusterName or ClusterID than state and database have. Other nodes are
    asked only if something is missing here, also nodes that are not in this run. `mounted`: only the queue is looked
    at, after the mount of the state.
    """
    here = look(Remains, "the parts of the cluster on this node", **arguments(heart, node))
    answers = {node: here}

    def asked(names: Iterable[str]) -> Answers:
        answers.update(ask(heart, [name for name in names if name not in answers]))
        return answers

    troubles = []
    if node in heart.controllers and has_no_queue(heart, answers) and has_no_queue(heart, asked(heart.controllers)):
        jobs = unfinished(asked([*heart.nodes, heart.database]))
        lost = f"{heart.state} has no queue, and an empty slurmctld would end the jobs {shortened(jobs)}"
        troubles += [lost] if jobs else []
    if node == heart.controllers[0] and not mounted and not (here.key and here.started):
        holders = other_keys(here, asked(heart.nodes))
        troubles += [f"the munge key of the cluster is not here, but on {shortened(holders)}"] if holders else []
    if node in (heart.controllers[0], heart.database) and not mounted:
        if name := other_name(heart, asked([*heart.controllers, heart.database])):
            raise Refused(renamed(heart, name))
        troubles += mismatches(heart, answers)
    if troubles:
        raise Refused(f"{'; '.join(troubles)}: {HOW}")
    this_host().noop("no part of the cluster is lost, or there is no cluster yet")


def has_no_queue(heart: Heart, answers: Answers) -> bool:
    """Return whether no controller that answered has a queue, or may have one on a mount that is missing."""
    there = [answers[name] for name in heart.controllers if name in answers]
    return not any(each.runs or each.queue or each.unmounted for each in there)


def unfinished(answers: Answers) -> list[str]:
    """Return the numbers of the jobs that have steps on nodes, or have not ended in the database, in order."""
    return sorted({job for each in answers.values() for job in (*each.steps, *each.jobs)}, key=int)


def other_keys(first: RemainsState, answers: Answers) -> list[str]:
    """Return the nodes that use the munge key that most nodes use, if the `first` controller has another or none."""
    users: dict[str, list[str]] = {}
    for name, each in answers.items():
        if each.key and each.started:
            users.setdefault(each.key, []).append(name)
    most = max(users.values(), key=len, default=[])
    return [] if first.key in users else most


def renamed(heart: Heart, name: str) -> str:
    """Return the message that the cluster has another ClusterName."""
    return f"in Slurm, this cluster is {name}, not {heart.cluster}: set cluster.name of the inventory to it"


def other_name(heart: Heart, answers: Answers) -> str:
    """Return the other ClusterName that the state has, or that the database has for these controllers; "" for none."""
    saved, there = _saved(heart, answers), answers.get(heart.database)
    if saved and saved.name != heart.cluster:
        return saved.name
    if there is None or any(known.name == heart.cluster for known in there.known):
        return ""
    return next((known.name for known in there.known if known.address in heart.addresses), "")


def mismatches(heart: Heart, answers: Answers) -> list[str]:
    """Return why slurmctld's state does not fit the database: it has another ClusterID, or there is no such cluster."""
    saved, there = _saved(heart, answers), answers.get(heart.database)
    if saved is None or there is None or there.unread:
        return []
    if not is_known(heart, answers):
        return [f"{heart.state} has the state of the cluster, and the database on {heart.database} does not have it"]
    number = number_of(heart, answers)
    if saved.number and number and saved.number != number:
        return [f"{heart.state} has the ClusterID {saved.number}, and the database on {heart.database} has {number}"]
    return []


def is_known(heart: Heart, answers: Answers) -> bool:
    """Return whether the database has the cluster."""
    return _known(heart, answers) is not None


def number_of(heart: Heart, answers: Answers) -> str:
    """Return the ClusterID in the database; "" if it does not have the cluster, or is of a Slurm without ClusterIDs."""
    known = _known(heart, answers)
    return known.number if known else ""


def _known(heart: Heart, answers: Answers) -> KnownCluster | None:
    there = answers.get(heart.database)
    return next((each for each in (there.known if there else ()) if each.name == heart.cluster), None)


def _saved(heart: Heart, answers: Answers) -> RemainsState | None:
    there = (answers[name] for name in heart.controllers if name in answers)
    return next((each for each in there if each.name), None)


def arguments(heart: Heart, node: str) -> dict[str, str | bool]:
    """Return the arguments of the fact `Remains` for a node."""
    state = heart.state if node in heart.controllers else ""
    return {
        "cluster": heart.cluster,
        "state": state,
        "mount": heart.mount if state else "",
        "database": node == heart.database,
    }


def ask(heart: Heart, names: Iterable[str]) -> Answers:
    """Return the answers of other nodes of the inventory; nodes that have failed or do not answer are missing."""
    state, own = run_state(), this_host()
    found: dict[str, RemainsState] = {}

    def ask_one(name: str) -> None:
        host = named(name)
        if host is None or host in state.failed_hosts:
            return
        # the node may be down; whatever the connector raises must not fail this host
        with ctx_state.use(state), ctx_host.use(own), turn(host), suppress(Exception):
            answer = get_fact(state, host, Remains, kwargs=arguments(heart, name), apply_failed_hosts=False)
            if answer is not None:
                found[name] = answer

    Pool(_ASKED).map(ask_one, dict.fromkeys(names))
    return found
