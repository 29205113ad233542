"""Our SSH connector's own additions; that it works on real nodes is seen in the testbed."""

from pathlib import Path

from gpupool.engine.ssh import PoolSSH


def test_host_names_stay_plain() -> None:
    assert list(PoolSSH.make_names_data("n01")) == [("n01", {"ssh_hostname": "n01"}, [])]


def test_the_entry_point_is_ours() -> None:
    text = (Path(__file__).parents[2] / "pyproject.toml").read_text()
    assert f'pool = "{PoolSSH.__module__}:{PoolSSH.__name__}"' in text
