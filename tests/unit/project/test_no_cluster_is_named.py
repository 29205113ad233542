"""The needs of each of the five clusters are values in the language: no code and no template has a cluster's name."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[3]
NAMES = re.compile(r"skynet|aau|ai[-_]?cloud|aicloud|mlmini|arandu|c4ai|santos|dumont", re.IGNORECASE)


def test_no_code_and_no_template_names_a_cluster() -> None:
    files = [
        path
        for folder in ("gpupool", "roles", "templates", "deploys")
        for path in sorted((ROOT / folder).rglob("*"))
        if path.is_file() and "__pycache__" not in path.parts
    ]
    assert len(files) > 300
    assert [str(path.relative_to(ROOT)) for path in files if NAMES.search(path.read_text(encoding="utf-8"))] == []
