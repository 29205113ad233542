"""slurm.conf from a Cluster; slurm.conf(5) describes each key."""

from collections.abc import Iterator
from functools import lru_cache

from gpupool.cluster.model import Cluster
from gpupool.cluster.node import Node
from gpupool.cluster.partition import Partition
from gpupool.compile.containers import docker_on
from gpupool.compile.slurm import backfill, budgets, cpus, elastic, health, jobs, memory, priority, site, submit
from gpupool.compile.slurm.accounting import partition_qos
from gpupool.compile.slurm.fold import node_lines
from gpupool.compile.slurm.gres import OUT_OF_SERVICE, cgroup_conf, closed, gres_conf
from gpupool.compile.slurm.hardware import cores, cpu_words, disk_path, other_words, select_parameters
from gpupool.compile.slurm.limits import most_jobs
from gpupool.compile.slurm.names import PROGRAMS
from gpupool.compile.slurm.parameters import merged, on_line, pairs
from gpupool.compile.template import fill
from gpupool.slurm.hostlists import fold_set
from gpupool.slurm.keys.tables import of_groups
from gpupool.slurm.releases import has
from gpupool.slurm.times import MINUTE, limit
from gpupool.wanted import File, SlurmNode

#: The name of Slurm's main configuration file.
SLURM_CONF = "slurm.conf"
# Open connections of slurmctld: those of one user from 50 nodes (USER_TO_SLURM of the firewall).
_CONNECTIONS = 1000
# Formats of prices in slurm.conf; without its G, the price of memory would be for a MB.
_PRICES = {"cpu": "CPU={}", "gpu": "GRES/gpu={}", "mem": "Mem={}G"}


def files(cluster: Cluster, node: Node) -> Iterator[File]:
    """Yield Slurm's configuration, on the nodes that have it as files; the submit plugin is on controllers only."""
    if has_files(cluster, node):
        yield File(cluster.slurm.file(SLURM_CONF), slurm_conf(cluster))
        yield File(cluster.slurm.file("gres.conf"), gres_conf(cluster))
        yield File(cluster.slurm.file("cgroup.conf"), cgroup_conf(cluster))
        yield from site.files(cluster)
        if cluster.environment.private_tmp:
            yield File(cluster.slurm.file(jobs.TMP_CONF), jobs.tmp_conf(cluster))
    if node.has("controller", "backup-controller") and (plugin := submit.job_submit_lua(cluster)):
        yield File(cluster.slurm.file("job_submit.lua"), plugin)


def has_files(cluster: Cluster, node: Node) -> bool:
    """Return whether a node has Slurm's configuration as files; others get it from the controllers."""
    if node.has("controller", "backup-controller", "database"):
        return True
    return node.has("head") and not has(cluster.slurm.version, "sackd")


def compute_nodes(cluster: Cluster) -> list[SlurmNode]:
    """Return the compute nodes as slurm.conf has them."""
    return [compute_node(cluster, node) for node in cluster.having("compute")]


def compute_node(cluster: Cluster, node: Node) -> SlurmNode:
    """Return a compute node as slurm.conf has it."""
    return SlurmNode(node.slurm_name, node.cpus, cores(node, cluster.scheduler.allocate), dict(node.gpus))


@lru_cache(maxsize=4)
def slurm_conf(cluster: Cluster) -> str:
    """Return slurm.conf, the same on every node that has one."""
    compute = cluster.having("compute")
    text = fill(
        "slurm.conf",
        cluster=cluster,
        controllers=cluster.controllers,
        database=cluster.database,
        gres=_gres(cluster),
        gres_types=[*_gres(cluster), *([OUT_OF_SERVICE] if any(closed(cluster, node) for node in compute) else [])],
        memory_key=_default_memory(cluster),
        default_cpus=cpus.default(cluster),
        most_jobs=most_jobs(cluster),
        submit_plugin=submit.wanted(cluster),
        has_budgets=budgets.has_budgets(cluster),
        weights=priority.weights(cluster),
        scheduler_parameters=",".join(_scheduler_parameters(cluster)),
        preempt_parameters=has(cluster.slurm.version, "PreemptParameters"),
        preempting=cluster.preempts,
        preempt_mode=_preempt_mode(cluster),
        controller_parameters=",".join(_controller_parameters(cluster)),
        nodes=node_lines(_node_line(cluster, node) for node in compute),
        select=select_parameters(cluster),
        disk_path=disk_path(cluster),
        partitions=list(_partition_lines(cluster)),
        sleep=elastic.parameters(cluster),
        reboot_seconds=elastic.REBOOT_SECONDS,
        private_data=_private_data(cluster),
        programs=dict(_programs(cluster)),
        docker=any(docker_on(cluster, node) for node in compute),
        parameters=pairs(cluster.slurm.parameters),
    )
    return merged(text, cluster.slurm.parameters, of_groups("slurm_conf", cluster.slurm.left))


def _programs(cluster: Cluster) -> Iterator[tuple[str, str]]:
    """Yield the keys of programs, without programs that no role puts: slurmd drains a node whose prolog is missing."""
    for role, keys in (("jobs", jobs.parameters(cluster)), ("health", health.parameters(cluster))):
        put = all(node.manages(role) for node in cluster.having("compute"))
        yield from ((key, value) for key, value in keys.items() if put or not value.startswith(f"{PROGRAMS}/"))


def _controller_parameters(cluster: Cluster) -> Iterator[str]:
    yield "enable_configless"
    if has(cluster.slurm.version, "conmgr_max_connections"):
        yield f"conmgr_max_connections={_CONNECTIONS}"
    limit = cluster.scheduler.rpc_limit
    if limit and has(cluster.slurm.version, "rl_enable"):
        yield f"rl_enable,rl_bucket_size={limit.bucket},rl_refill_rate={limit.refill}"
    signals = cluster.preempts and cluster.preemption.send_user_signal
    if signals and not has(cluster.slurm.version, "PreemptParameters"):
        yield "preempt_send_user_signal"
    if elastic.sleepers(cluster):
        # Clients can resolve the names of nodes that are powered down, so slurmctld need not send addresses.
        yield "cloud_dns"


def _gres(cluster: Cluster) -> dict[str, list[str]]:
    """Return the gres that nodes have, each with its types."""
    own = dict.fromkeys(name for node in cluster.having("compute") for name in node.gres)
    return {**({"gpu": list(cluster.gpu_types)} if cluster.gpu_types else {}), **{name: [] for name in own}}


def _private_data(cluster: Cluster) -> list[str]:
    # Without `cloud`, users would not see nodes that are powered down.
    return [*cluster.scheduler.private_data, *(["cloud"] if elastic.sleepers(cluster) else [])]


def _scheduler_parameters(cluster: Cluster) -> Iterator[str]:
    if cluster.preempts:
        yield "bf_continue"
        yield from backfill.cycle(cluster)
        yield "batch_sched_delay=0,sched_interval=10,sched_min_interval=1000000"
    if window := backfill.window(cluster):
        yield window
    if (least := priority.least_reserving(cluster)) is not None:
        yield f"bf_min_prio_reserve={least}"
    if submit.wanted(cluster):
        # slurmctld enforces the plugin's limit, too.
        yield f"max_script_size={submit.SIZES['script']}"


def _preempt_mode(cluster: Cluster) -> str:
    if any(_is_suspended(partition) for partition in cluster.partitions.values()):
        # Gang scheduling resumes suspended jobs; each partition sets the action for its own jobs.
        return "SUSPEND,GANG"
    return cluster.preemption.action.upper()


def _preemption(partition: Partition) -> list[str]:
    if not partition.preemptable:
        return ["PreemptMode=OFF"]
    # FORCE: other jobs get the CPUs of suspended jobs; 1: no two jobs of this partition share CPUs.
    over = ["OverSubscribe=FORCE:1"] if _is_suspended(partition) else []
    return [f"PreemptMode={partition.action.upper()}", f"GraceTime={partition.grace}", *over]


def _is_suspended(partition: Partition) -> bool:
    return partition.preemptable and partition.action == "suspend"


def _default_memory(cluster: Cluster) -> str | None:
    default = cluster.scheduler.default_memory
    # the plugin requests the default of each type
    of_gpu = memory.by_type(cluster, default).get("")
    for key, mib in (("GPU", of_gpu), ("CPU", default.per_cpu), ("Node", default.per_node)):
        if mib is not None:
            return f"DefMemPer{key}={mib}"
    return None


def _node_line(cluster: Cluster, node: Node) -> str:
    parts = [f"NodeName={node.slurm_name}"]
    machine = node.hostname or node.name
    if machine != node.slurm_name:
        # slurmd finds its line by the machine's host name, which is the short name.
        parts.append(f"NodeHostname={machine}")
    if node.reached_at:
        parts.append(f"NodeAddr={node.reached_at}")
    parts += cpu_words(node, cluster.scheduler.allocate)
    parts.append(f"RealMemory={node.memory}")
    parts += other_words(node)
    gres = [f"gpu:{gpu}:{count}" for gpu, count in node.gpus.items()]
    shut = closed(cluster, node)
    own = {**node.gres, **({OUT_OF_SERVICE: len(shut)} if shut else {})}
    if gres := [*gres, *(f"{name}:{count}" for name, count in own.items())]:
        parts.append("Gres=" + ",".join(gres))
    if node.features:
        parts.append("Feature=" + ",".join(node.features))
    parts.append("State=CLOUD" if node.elastic else "State=UNKNOWN")
    return on_line(parts, node.parameters)


def _partition_lines(cluster: Cluster) -> Iterator[str]:
    factors = {} if "order" in cluster.slurm.left else priority.partition_factors(cluster)
    hostlists: dict[tuple[str, ...], str] = {}  # most partitions have the same nodes
    for partition in cluster.partitions.values():
        if partition.nodes not in hostlists:
            hostlists[partition.nodes] = fold_set(cluster.nodes[name].slurm_name for name in partition.nodes)
        yield _partition_line(cluster, partition, hostlists[partition.nodes], factors.get(partition.name))


def _partition_line(cluster: Cluster, partition: Partition, hostlist: str, factor: int | None) -> str:
    entry = partition.entry
    parts = [f"PartitionName={partition.name}", f"Nodes={hostlist}"]
    parts.append(f"Default={'YES' if partition.default else 'NO'}")
    parts.append(f"MaxTime={limit(entry.max_time) if entry.max_time else 'UNLIMITED'}")
    if default := budgets.default_time(cluster, partition):
        parts.append(f"DefaultTime={limit(default * MINUTE)}")
    if entry.max_nodes:
        parts.append(f"MaxNodes={entry.max_nodes}")
    parts.append(f"PriorityTier={entry.tier}")
    if factor is not None:
        parts.append(f"PriorityJobFactor={factor}")
    if cluster.preempts and not cluster.preempts_by_qos:
        parts += _preemption(partition)
    if entry.exclusive:
        parts.append("OverSubscribe=EXCLUSIVE" if entry.exclusive == "job" else "ExclusiveUser=YES")
    if each := cpus.of_partition(cluster, partition):
        parts.append(f"DefCpuPerGPU={each}")
    if partition.allow_accounts:
        parts.append("AllowAccounts=" + ",".join(partition.allow_accounts))
    if partition.deny_accounts:
        parts.append("DenyAccounts=" + ",".join(partition.deny_accounts))
    if entry.allow_groups:
        parts.append("AllowGroups=" + ",".join(entry.allow_groups))
    if entry.qos:
        parts.append("AllowQos=" + ",".join(entry.qos))
    if qos := partition_qos(partition):
        parts.append(f"QOS={qos}")
    if entry.billing.has_prices:
        prices = [_PRICES[key].format(price) for key, price in entry.billing.plain.items()]
        prices += [f"GRES/gpu:{gpu}={price}" for gpu, price in entry.billing.gpus.items()]
        parts.append("TRESBillingWeights=" + ",".join(prices))
    parts.append("State=UP")
    return on_line(parts, entry.parameters)
