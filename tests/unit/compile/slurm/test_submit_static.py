"""The static part of the submit plugin: the same on every cluster, and every rule of it is used by some inventory."""

import random
from pathlib import Path

from fuzz_jobs import Jobs
from fuzz_plugin import clusters
from submitted import LUAS, Plugin

from gpupool.cluster.load import load
from gpupool.compile.slurm.submit import SOURCES, job_submit_lua, static

#: Logs which keys of `site` the parts read while they load.
_WATCHED = """
local site = setmetatable({}, { __index = function(_, key)
  if key ~= "fragment" and key ~= "exclusive" then asked[#asked + 1] = key end
end })
"""


def test_no_part_is_a_template() -> None:
    parts = {path.name: path.read_text() for path in SOURCES.iterdir()}
    assert all(name.endswith(".lua") for name in parts)
    assert all(text in static() for text in parts.values()), "a part that is not in the plugin"
    assert not [name for name, text in parts.items() for sign in ("{{", "{%", "{#") if sign in text]


def test_every_cluster_has_the_same_rules_and_no_job_makes_a_rule_fail(tmp_path: Path) -> None:
    used = set()
    for name, folder in clusters(tmp_path).items():
        cluster = load(folder)
        if (text := job_submit_lua(cluster)) is None:
            continue
        assert text.endswith(f"\n}}\n\n{static()}")
        jobs = Jobs(cluster, random.Random(name))
        for lua in LUAS:
            plugin = Plugin(text, lua, dict.fromkeys(cluster.partitions, 2880))
            used.update(plugin.rules)
            for _ in range(50):
                answers = (plugin.submit(**jobs.submitted()), plugin.modify(*jobs.changed()))
                # a fragment of these clusters fails on purpose
                assert not [line for answer in answers for line in answer.logged if not line.startswith("slurm/")]
    assert used == _rules()


def _rules() -> set[str]:
    """Return the names of all rules: plugin.lua reads the data of each when it is loaded."""
    lua = LUAS[0].LuaRuntime()
    lua.execute("asked = {}; slurm = { log_info = function() end }")
    lua.execute(_WATCHED + static())
    return {*lua.globals()["asked"].values()}
