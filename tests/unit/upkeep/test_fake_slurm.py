"""The fake slurmctld gives the recorded answers of the real slurmctld of each release."""

import re
from pathlib import Path

import pytest
from fake_controller import FakeController
from inventories import SMALL, cluster_at
from recorded import RELEASES, Answer, transcript

from gpupool.target import Target

#: Keys that depend on the moment, or on the machine of the recording.
_OTHERS = "CPULoad|FreeMem|LastBusyTime|BootTime|SlurmdStartTime|StartTime|EndTime|AllocTRES|CPUAlloc|AllocMem"


def steady(answer: Answer) -> Answer:
    out = re.sub(rf"\b({_OTHERS})=(?!None)\S*", r"\1=", answer.out)
    out = re.sub(r"@[-T:0-9]+\]|\d{4}-\d\d-\d\dT[0-9:]+", "TIME", out)
    return Answer(out, answer.err, answer.code)


@pytest.mark.parametrize("release", RELEASES)
def test_each_answer_is_the_recorded_one(release: str, tmp_path: Path) -> None:
    fake = FakeController(Target(cluster_at(SMALL), None, {}), tmp_path, release).slurm
    for node in fake.nodes.values():
        node.memory, node.gres = 508559, "gpu:a40:8"
    for step in transcript(release):
        match step.text, step.answer:
            case "# ann runs a job on gpu-2", _:
                fake.run_job("gpu-2")
            case "# ann's job ends", _:
                fake.jobs.clear()
            case "# slurmctld stops", _:
                fake.away = True
            case _, None:
                pass
            case text, Answer() as recorded:
                if text.startswith("srun") and "memory error" in text:
                    fake.nodes["gpu-1"].test = "GPU 0: memory error"
                answer = fake.run(step.command)
                if steady(answer) != steady(recorded):
                    # slurmctld has checked its nodes meanwhile
                    fake.tick()
                    answer = fake.run(step.command)
                assert steady(answer) == steady(recorded), text
                fake.nodes["gpu-1"].test = ""


def test_a_command_unknown_to_the_fake_fails_the_test(tmp_path: Path) -> None:
    controller = FakeController(Target(cluster_at(SMALL), None, {}), tmp_path)
    with pytest.raises(AssertionError, match="does not know: scontrol show burst"):
        controller.ask("scontrol", "show", "burst")
    with pytest.raises(AssertionError, match="does not know: rm -rf /"):
        controller.output_on("gpu-1", "rm", "-rf", "/")
