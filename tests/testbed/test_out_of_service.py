"""A broken GPU or node is taken out of service without a change of caps, and its jobs are not ended."""

from pace import until

from tests.testbed.cluster import Changed, Testbed

NODE = "a40-01"
WHOLE = f"out_of_service: [{{nodes: {NODE}, reason: a fan is broken}}]\n"
GPU = f"out_of_service: [{{nodes: {NODE}, gpus: [2], reason: a fan is broken}}]\n"


def gres(testbed: Testbed) -> str:
    return testbed.out("marvin", f"sinfo -h -N -n {NODE} -o %G | head -n 1").replace("(S:0)", "")


def state(testbed: Testbed) -> str:
    return testbed.out("marvin", f"sinfo -h -N -n {NODE} -o '%T %E' | head -n 1")


def test_a_node_and_then_one_gpu_of_it_are_out_of_service(changed: Changed) -> None:
    testbed = changed("partitions.yml", "partitions:\n", f"{WHOLE}\npartitions:\n")
    inventory = testbed.inventory / "partitions.yml"

    def has(entry: str) -> None:
        text = inventory.read_text()
        inventory.write_text(text.replace(WHOLE, entry).replace(GPU, entry))

    limit = ("--limit", f"marvin,vicki,{NODE}")
    whole = gres(testbed)
    job = testbed.submit("u-kira1", f"-w {NODE} -p short --gpus-per-node=a40:1")
    testbed.wait_for(job, "RUNNING")

    has(GPU)
    done = testbed.apply(*limit)
    assert done.returncode == 1
    assert f"{job} of u-kira1 is running" in done.stdout
    assert gres(testbed) == whole

    has(WHOLE)
    done = testbed.apply(*limit)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "may lack 8 of the" in done.stderr
    assert state(testbed) == "draining gpupool: out of service: a fan is broken"
    assert testbed.job(job)["JobState"] == "RUNNING", "its job goes on"
    testbed.end_jobs()

    # the file of a broken GPU may be missing
    testbed.out(NODE, "rm /dev/nvidia2")
    has(GPU)
    done = testbed.apply(*limit)
    assert done.returncode == 0, done.stdout + done.stderr
    until(lambda: state(testbed) == "idle none", "it is in service again", lambda: state(testbed))
    assert gres(testbed) == "gpu:a40:7,out_of_service:1"
    assert testbed.plan(*limit) == (0, {})
