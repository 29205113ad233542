"""Check the environment and directories of jobs, and health checks of nodes."""

from collections.abc import Iterator

from gpupool.cluster.complaints import Complaint, Path
from gpupool.cluster.resolve.places import export_of
from gpupool.cluster.resolve.site import Site
from gpupool.cluster.resolve.system_paths import is_the_systems
from gpupool.cluster.units import format_duration
from gpupool.slurm.releases import first_tested, has
from gpupool.unix import within

#: Variables on whose values shells, Slurm's commands and CUDA rely.
_THE_SYSTEMS = ("BASH_ENV", "CUDA_VISIBLE_DEVICES", "ENV", "HOME", "IFS", "LOGNAME", "PATH", "PWD", "SHELL", "USER")
_PREFIXES = ("LD_", "SLURM_", "GPUPOOL_")
_OF_SITES = ("SLURM_TMPDIR",)  # in spite of its name: no program of Slurm sets it
_LONGEST = 65533  # seconds, of HealthCheckInterval


def ensure_job_variables_are_not_reserved(site: Site) -> Iterator[Complaint]:
    """Variables of jobs are not those of the system, CUDA or Slurm, and each is set once."""
    inventory = site.inventory
    named: list[tuple[Path, str]] = [(("environment", "job", name), name) for name in inventory.environment.job]
    named += [(("gpu", "device_env", index), name) for index, name in enumerate(inventory.gpu.device_env)]
    if own := inventory.environment.job_directory:
        here: Path = ("environment", "job_directory", "env")
        named.append((here, own.env))
        if own.env in {*inventory.environment.job, *(space.env for space in inventory.storage.user_spaces)}:
            yield Complaint(here, f"{own.env} is already a variable of jobs", "use another name")
    for path, name in named:
        if name in _THE_SYSTEMS or (name.startswith(_PREFIXES) and name not in _OF_SITES):
            yield Complaint(path, f"{name} is set by the system", "use another name")
        elif path[0] == "environment" and name in inventory.gpu.device_env:
            yield Complaint(path, f"{name} holds the GPUs of a job (gpu.device_env)", "remove one of them")


def ensure_files_are_removed_when_jobs_end(site: Site) -> Iterator[Complaint]:
    """shm-clean runs at the end of a job, on nodes that run jobs."""
    for index, timer in enumerate(site.inventory.timers):
        if timer.job != "shm-clean":
            continue
        if timer.every or not timer.when:
            yield Complaint(("timers", index), "shm-clean runs when a job ends", "set `when: job-end` and no `every`")
        for name in sorted(site.nodes_of(timer.where)):
            roles = site.node_table.by_name[name].entry.roles
            if "compute" not in roles or "head" in roles:
                why = "users work there outside of jobs" if "compute" in roles else "no job runs there"
                yield Complaint(
                    ("timers", index, "where"), f"{name}: {why}", "name compute nodes only, such as @compute"
                )
                break


def ensure_private_tmp_is_separate(site: Site) -> Iterator[Complaint]:
    """private_tmp is a local directory that is used for nothing else and contains no directory of storage.local."""
    inventory, path = site.inventory, ("environment", "private_tmp")
    top = inventory.environment.private_tmp
    if top is None:
        return
    if not has(inventory.slurm.version, "Shared of job_container.conf"):
        message = f"with Slurm {inventory.slurm.version} jobs would not see mounts that are made after their start"
        yield Complaint(path, message, f"use {first_tested('Shared of job_container.conf')} or later, or remove it")
    if is_the_systems(top, whole=True):
        yield Complaint(path, f"{top} cannot be used for this", "choose another directory, such as /local/jobs")
    elif key := export_of(site, top):
        yield Complaint(path, f"{top} is on export {key}, which other nodes have too", "choose a local directory")
    elif local := next((directory.path for directory in inventory.storage.local if within(directory.path, top)), None):
        yield Complaint(path, f"{top} contains {local} (storage.local)", "choose a directory below it")


def ensure_job_directories_are_separate(site: Site) -> Iterator[Complaint]:
    """The job directory is local; only root creates entries in it, and no purge removes files of running jobs."""
    inventory, path = site.inventory, ("environment", "job_directory", "path")
    if inventory.environment.job_directory is None:
        return
    top, tmp = inventory.environment.job_directory.path, inventory.environment.private_tmp
    hint = "choose another directory, such as /local/jobs"
    if is_the_systems(top, whole=True):
        yield Complaint(path, f"{top} cannot be used for this", hint)
    elif key := export_of(site, top):
        yield Complaint(path, f"{top} is on export {key}, which other nodes have too", "choose a local directory")
    elif local := next((directory.path for directory in inventory.storage.local if within(directory.path, top)), None):
        yield Complaint(path, f"{top} contains {local} (storage.local)", "choose a directory below it")
    elif tmp and (within(top, tmp) or within(tmp, top)):
        yield Complaint(path, f"{top} and {tmp} (private_tmp) overlap", hint)
    for rule in inventory.storage.purge:
        if within(top, rule.path) or within(rule.path, top):
            yield Complaint(
                path, f"storage.purge removes old files below {rule.path}, also those of running jobs", hint
            )
    for directory in inventory.storage.local:
        if within(top, directory.path) and not directory.user_dirs and int(directory.mode, 8) & 0o1002 == 0o002:
            message = f"any user could rename the directory in {directory.path} (storage.local, mode {directory.mode})"
            yield Complaint(path, message, "set mode: 1777 there, or choose another directory")


def ensure_the_health_interval_is_valid(site: Site) -> Iterator[Complaint]:
    """The interval is within Slurm's limits."""
    health = site.inventory.slurm.health
    if health and not 1 <= health.interval <= _LONGEST:
        message = f"{format_duration(health.interval)} is not an interval that Slurm accepts"
        yield Complaint(("slurm", "health", "interval"), message, f"1s to {_LONGEST}s")
