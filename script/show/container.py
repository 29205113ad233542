"""A container opens the GPUs of its job and no others."""

from gpupool.cluster.model import Cluster
from show.shell import Shell, title, until
from tests.testbed.containers import make_image


def fits(cluster: Cluster) -> bool:
    """Return whether jobs choose the GPUs of a docker container by number."""
    return cluster.software.docker is not None and cluster.software.docker.gpus == "cuda_visible_devices"


def show(cluster: Cluster, shell: Shell) -> None:
    """Start a container in a job with one GPU, beside another job that has the first GPU of the node."""
    title("A container opens the GPUs of its job and no others")
    partition, node = most_gpus(cluster)
    image = next(image.source for image in cluster.software.images if image.runtime == "docker")
    make_image(shell.testbed, node, image)  # a testbed cannot reach a registry
    where = f"-p {partition} -w {node} --gres=gpu:1"
    first = shell.run(f"sbatch --parsable -o /dev/null {where} --wrap 'sleep 900'").strip()
    try:
        until(lambda: shell.run(f"squeue -h -t R -j {first}") != "", "the first job runs")
        docker = f'docker run --rm --gpus "device=$CUDA_VISIBLE_DEVICES" {image} ls /dev'
        shell.type(f"srun {where} sh -c '{docker}' | grep nvidia", says="another job has the node's first GPU")
    finally:
        shell.run("scancel -u $USER")


def most_gpus(cluster: Cluster) -> tuple[str, str]:
    """Return the partition and name of the node with the most GPUs."""
    places = ((name, node) for name, partition in cluster.partitions.items() for node in partition.nodes)
    return max(places, key=lambda place: cluster.nodes[place[1]].gpu_count)
