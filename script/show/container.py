"""A container opens the GPUs of its job and no others."""

from gpupool.cluster.model import Cluster
from show.shell import Shell, title
from tests.testbed.containers import make_image


def fits(cluster: Cluster) -> bool:
    """Return whether jobs say by number which GPUs docker gives to a container."""
    return cluster.software.docker is not None and cluster.software.docker.gpus == "cuda_visible_devices"


def show(cluster: Cluster, shell: Shell) -> None:
    """Have a job with one GPU start a container, beside another job that has the first GPU."""
    title("A container opens the GPUs of its job and no others")
    image = next(image.source for image in cluster.software.images if image.runtime == "docker")
    first = shell.run(f"sbatch --parsable -o /dev/null {shell.gpu_job()} --wrap 'sleep 900'").strip()
    try:
        node = ""
        while not node:
            node = shell.run(f"squeue -h -t R -j {first} -o %N").strip()
        make_image(shell.testbed, node, image)  # a testbed reaches no registry
        where = f"{shell.gpu_job()} -w {node}"
        docker = f'docker run --rm --gpus "device=$CUDA_VISIBLE_DEVICES" {image} ls /dev'
        shell.type(f"srun {where} sh -c '{docker}' | grep nvidia", says=f"job {first} has the first GPU of {node}")
    finally:
        shell.run("scancel -u $USER")
