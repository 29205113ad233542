"""The chapter on Singularity in the slides of AAU AI Cloud, in its order; images come from a registry of the test."""

import re
from collections.abc import Iterator

import pytest
from pace import until

from tests.guides.aau import COLLEAGUE, ME, NODE, OTHER_NODE, PILOT, long_name
from tests.guides.terminal import Terminal
from tests.testbed.cluster import Testbed
from tests.testbed.containers import make_root
from tests.testbed.registry import serving

LOLCOW, TENSORFLOW = "godlovedc/lolcow:latest", "nvidia/tensorflow:20.10-tf2-py3"
COPY = "/user/share/singularity/images/tensorflow_20.10-tf2-py3.sif"
PROMPT = r"(Singularity|Apptainer)> \Z"
#: Stand-ins for programs of NVIDIA's image.
PROGRAMS = {
    "python": '#!/bin/sh\nPYTHONPATH=/usr/bin exec python3 "$@"\n',
    "tensorflow.py": 'print("tensorflow is a stand-in")\n',
    # installs its argument as a file that can be imported
    "pip": "#!/bin/sh\necho \"print('$2 is installed')\" > /usr/bin/$2.py\n",
    "ipython": """#!/usr/bin/python
count = 1
while (line := input(f"In [{count}]: ")) != "exit":
    exec(line)
    count += 1
""",
}
#: Takes a number, and writes it to the folder for results.
EXAMPLE = "import sys\nopen('/output_data/made', 'w').write(sys.argv[1])\n"


@pytest.fixture(scope="module")
def images(cloud: Testbed) -> Iterator[None]:
    """The two images of the guide."""
    root = make_root(cloud, PILOT, python=True, programs=PROGRAMS)
    with serving(cloud, PILOT, root, LOLCOW, TENSORFLOW, to=(NODE, OTHER_NODE)):
        yield


@pytest.fixture
def here(cloud: Testbed, images: None, front: Terminal) -> Terminal:
    """A terminal on the front-end in a folder of the user, with the data of the guide's examples."""
    cloud.out(PILOT, "mkdir -p mnist-data output_data; rm -f output_data/made; cat > example.py", ME, EXAMPLE)
    return front


def pulled(cloud: Testbed, source: str, file: str) -> None:
    """Make sure that an image is in the user's home, pulled as in the guide."""
    cloud.out(PILOT, f"[ -e {file} ] || srun singularity pull docker://{source}", ME)


@pytest.mark.promise("AAU-037")
def test_the_built_in_documentation(here: Terminal) -> None:
    assert "Available Commands" in here.type("srun singularity -h")
    assert "--fakeroot" in here.type("srun singularity help build")


@pytest.mark.promise("AAU-040", "AAU-041")
def test_an_image_of_docker_is_pulled_and_run(cloud: Testbed, here: Terminal) -> None:
    cloud.out(PILOT, "rm -f lolcow_latest.sif", ME)
    here.type("srun singularity pull docker://godlovedc/lolcow")
    assert cloud.out(PILOT, "stat -c %U lolcow_latest.sif", ME) == ME
    assert "\nmoo\n" in here.type("srun singularity run lolcow_latest.sif")


@pytest.mark.promise("AAU-042")
def test_an_image_of_nvidia_is_pulled(cloud: Testbed, here: Terminal) -> None:
    cloud.out(PILOT, "rm -f tensorflow_20.10-tf2-py3.sif", ME)
    here.type("srun singularity pull docker://nvcr.io/nvidia/tensorflow:20.10-tf2-py3")
    assert cloud.out(PILOT, "stat -c %U tensorflow_20.10-tf2-py3.sif", ME) == ME


@pytest.mark.promise("AAU-038", "AAU-043", "AAU-067")
def test_a_shared_copy_exists_for_all(cloud: Testbed, here: Terminal) -> None:
    """One node downloads it for all. The inventory's timer would run again in an hour; here an admin starts it."""
    cloud.out(OTHER_NODE, "systemctl start gpupool-images")
    assert cloud.out(PILOT, f"stat -c '%U %a' {COPY}", ME) == "root 644"
    for user, node in ((ME, NODE), (COLLEAGUE, OTHER_NODE)):
        shown = cloud.out(PILOT, f"srun -w {long_name(node)} singularity exec {COPY} id -un", user)
        assert shown.endswith(user)
    cloud.out(OTHER_NODE, "systemctl start gpupool-images")
    fetched = cloud.out(OTHER_NODE, "journalctl -q -o cat -u gpupool-images")
    assert fetched.count(f"fetched {COPY}") == 1


@pytest.mark.promise("AAU-039", "AAU-044")
def test_interactive_work_with_a_gpu_ends_with_the_last_exit(cloud: Testbed, here: Terminal) -> None:
    pulled(cloud, f"nvcr.io/{TENSORFLOW}", "tensorflow_20.10-tf2-py3.sif")
    here.type("srun --pty --gres=gpu:1 singularity shell --nv tensorflow_20.10-tf2-py3.sif", PROMPT)
    assert "gres/gpu=1" in cloud.job(cloud.out(PILOT, "squeue -h -o %A"))["AllocTRES"]
    assert f"({ME})" in here.type("id", PROMPT)
    assert "Permission denied" in here.type("touch /usr/bin/mine", PROMPT) or "Read-only" in here.wait_for(PROMPT)
    # of the GPUs that --nv brings in, the job's device cgroup opens one
    look = "for gpu in /dev/nvidia[0-9]*; do { exec 3<$gpu; } 2>&1; done | grep -c 'No such device'"
    assert re.search(r"^1$", here.type(look, PROMPT), re.MULTILINE)
    here.type("ipython", r"In \[1\]: \Z")
    assert "tensorflow is a stand-in" in here.type("import tensorflow", r"In \[2\]: \Z")
    here.type("exit", PROMPT)
    here.type("exit")
    until(lambda: not cloud.out(PILOT, "squeue -h"), "the resources are released")


@pytest.mark.promise("AAU-046")
def test_all_steps_together_and_in_a_batch_script(cloud: Testbed, here: Terminal) -> None:
    pulled(cloud, f"nvcr.io/{TENSORFLOW}", "tensorflow_20.10-tf2-py3.sif")
    line = """srun --gres=gpu:1 singularity exec --nv \\
-B .:/code -B mnist-data/:/data -B output_data:/output_data \\
tensorflow_20.10-tf2-py3.sif python /code/example.py 10"""
    here.type(line)
    assert cloud.out(PILOT, "cat output_data/made; rm output_data/made", ME) == "10"
    cloud.out(PILOT, "cat > batch.sh", ME, f"#!/bin/bash\n#SBATCH --gres=gpu:1\n{line}\n")
    job = cloud.out(PILOT, "sbatch --parsable -o /dev/null batch.sh", ME)
    cloud.wait_for(job, "COMPLETED")
    until(lambda: cloud.run(PILOT, "cat output_data/made", ME).stdout == "10", "the result is there")


@pytest.mark.promise("AAU-047", "AAU-048")
def test_a_users_image_is_built_and_run(cloud: Testbed, here: Terminal) -> None:
    definition = "BootStrap: docker\nFrom: nvcr.io/nvidia/tensorflow:20.10-tf2-py3\n\n%post\npip install keras\n"
    cloud.out(PILOT, "rm -f tensorflow_keras.sif; cat > Singularity", ME, definition)
    here.type("srun singularity build --fakeroot \\\n  tensorflow_keras.sif Singularity")
    assert cloud.out(PILOT, "stat -c %U tensorflow_keras.sif", ME) == ME
    cloud.out(PILOT, "cat > example.py", ME, f"import keras\n{EXAMPLE}")
    binds = "-B .:/code -B output_data:/output_data"
    shown = here.type(
        f"srun --gres=gpu:1 singularity exec --nv \\\n  {binds} \\\n  tensorflow_keras.sif python /code/example.py 10"
    )
    assert "keras is installed" in shown
    assert cloud.out(PILOT, "cat output_data/made", ME) == "10"
    here.type(f"srun --pty --gres=gpu:1 singularity shell --nv \\\n  {binds} \\\n  tensorflow_keras.sif", PROMPT)
    assert "keras is installed" in here.type("python /code/example.py 11", PROMPT)
    here.type("exit")
    assert cloud.out(PILOT, "cat output_data/made", ME) == "11"
    cloud.end_jobs()
