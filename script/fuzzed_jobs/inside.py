"""A program in the twin's container: it submits, changes and cancels users' jobs, and shows the queue every second.

Its source is sent there, so it imports the standard library only. Each line of its input is a JSON object: a case
(`case`, `steps`), jobs to cancel (`cancel`) or the end (`quit`). Each line of its output is the answer to a case or a
look at the cluster.
"""

import asyncio
import json
import os
import pwd
import secrets
import socket
import sys
import time
from collections.abc import Coroutine
from contextlib import suppress
from pathlib import Path
from typing import Any

AT_ONCE = 6  # commands
SLOW = 30.0  # seconds after which a command is killed
OFTEN = 1.0  # seconds between two looks
COLUMNS = (
    *("JobID", "ArrayJobID", "HetJobID", "State", "UserName", "Account", "Partition", "QOS", "PriorityLong", "Nice"),
    *("tres-alloc", "NodeList", "StartTime", "TimeLimit", "RestartCnt", "Reason", "admin_comment"),
)
STATES = "PD,R,CG,S,CF,RQ,RH,SO,ST,SI"
NOTIFIED = "/run/arbiter-status"
ENVIRONMENT = {"PATH": "/usr/bin:/bin:/usr/sbin", "LC_ALL": "C.UTF-8", "SLURM_TIME_FORMAT": "%s"}
FOLDER = "/tmp/fuzz"


class Program:
    """The commands under way, and the last status of the arbiter."""

    def __init__(self) -> None:
        """Listen to the arbiter, which takes this socket for systemd's."""
        self.free = asyncio.Semaphore(AT_ONCE)
        self.running: set[asyncio.Task[Any]] = set()
        self.status = ("", time.time())
        self.dbd = (0.0, True)
        Path(NOTIFIED).unlink(missing_ok=True)
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.socket.bind(NOTIFIED)
        self.socket.setblocking(False)
        Path(NOTIFIED).chmod(0o666)
        Path(FOLDER).mkdir(parents=True, exist_ok=True)
        Path(FOLDER).chmod(0o1777)

    async def command(self, argv: list[str], user: str = "root", text: str = "") -> tuple[int, str, str, float]:
        """Return exit code, output, complaints and duration of a command; code -9 if it was killed."""
        entry = pwd.getpwnam(user)
        as_user: dict[str, Any] = {}
        if user != "root":
            groups = os.getgrouplist(user, entry.pw_gid)
            as_user = {"user": entry.pw_uid, "group": entry.pw_gid, "extra_groups": groups}
        environment = {**ENVIRONMENT, "HOME": entry.pw_dir, "USER": user, "LOGNAME": user}
        began = time.time()
        pipe = asyncio.subprocess.PIPE
        try:
            process = await asyncio.create_subprocess_exec(
                *argv, stdin=pipe, stdout=pipe, stderr=pipe, env=environment, cwd=FOLDER, **as_user
            )
        except (OSError, ValueError) as error:
            return 126, "", str(error), 0.0
        try:
            given = text.encode("utf-8", "surrogateescape")
            out, err = await asyncio.wait_for(process.communicate(given), SLOW)
        except TimeoutError:
            process.kill()
            await process.wait()
            return -9, "", "no answer", time.time() - began
        return process.returncode or 0, out.decode(errors="replace"), err.decode(errors="replace"), time.time() - began

    async def case(self, number: int, steps: list[dict[str, Any]]) -> None:
        """Run the commands of a case in turn; `@JOB@` is the number of the job that the first one submits."""
        job, answers = "", list[dict[str, Any]]()
        for step in steps:
            await asyncio.sleep(step["wait"])
            argv = [word.replace("@JOB@", job) for word in step["argv"]]
            async with self.free:
                code, out, err, took = await self.command(argv, step["user"], step["text"])
            answers.append({"code": code, "err": err[-300:], "took": took})
            if not job:
                job = out.strip().partition(";")[0].partition("\n")[0]
                if code or not job.isdecimal():
                    break
        write({"case": number, "job": job if job.isdecimal() else "", "answers": answers, "at": time.time()})

    async def look(self) -> None:
        """Write the queue, the nodes, and whether slurmctld, slurmdbd and the arbiter answer."""
        mark = "m" + secrets.token_hex(6)
        began = time.time()
        queue = ["squeue", "-a", "-h", "-t", STATES, "-O", ",".join(f"{name}:0{mark}" for name in COLUMNS)]
        code, out, err, took = await self.command(queue)
        values = out.split(mark)[:-1]
        many = len(COLUMNS)
        rows = [[values[at].lstrip("\n"), *values[at + 1 : at + many]] for at in range(0, len(values), many)]
        nodes = await self.command(["sinfo", "-a", "-h", "-N", "-o", "%N|%T"])
        ping = await self.command(["scontrol", "ping"])
        with suppress(BlockingIOError):
            while True:
                self.status = (self.socket.recv(65536).decode(errors="replace"), time.time())
        if time.time() - self.dbd[0] > 10:
            self.dbd = (time.time(), (await self.command(["sacctmgr", "-nP", "show", "cluster"]))[0] == 0)
        write(
            {
                "look": began,
                "took": took,
                "rows": rows if code == 0 else None,
                "error": err[-300:],
                "nodes": sorted(set(nodes[1].split())) if nodes[0] == 0 else None,
                "ping": ping[0] == 0,
                "dbd": self.dbd[1],
                "status": self.status,
            }
        )

    async def looks(self) -> None:
        """Look at the cluster every `OFTEN` seconds."""
        while True:
            began = time.time()
            await self.look()
            await asyncio.sleep(max(0.2, began + OFTEN - time.time()))

    def start(self, work: Coroutine[Any, Any, Any]) -> None:
        """Start a task, and keep it from being collected."""
        task = asyncio.ensure_future(work)
        self.running.add(task)
        task.add_done_callback(self.running.discard)

    async def serve(self) -> None:
        """Do what the lines of the input ask, until `quit`."""
        reader = asyncio.StreamReader(limit=64 * 2**20)
        await asyncio.get_running_loop().connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)
        self.start(self.looks())
        while line := await reader.readline():
            asked = json.loads(line)
            if "quit" in asked:
                break
            if "cancel" in asked:
                self.start(self.command(["scancel", *asked["cancel"]]))
            else:
                self.start(self.case(asked["case"], asked["steps"]))


def write(value: dict[str, Any]) -> None:
    """Write a line of the output."""
    sys.stdout.write(json.dumps(value) + "\n")
    sys.stdout.flush()


async def main() -> None:
    """Serve until `quit`, then end without waiting for commands."""
    await Program().serve()
    os._exit(0)


if __name__ == "__main__":
    asyncio.run(main())
