"""Pages of the cluster on its web server, made from files of the inventory."""

import html
from collections.abc import Iterator

from gpupool.cluster.attachments import WIKI
from gpupool.cluster.model import Cluster
from gpupool.cluster.node import Node
from gpupool.compile.system import manual
from gpupool.compile.template import fill
from gpupool.wanted import File

PAGES = "/usr/local/share/gpupool/web"
CONF = "/etc/nginx/conf.d/gpupool.conf"
PORT = 80


def serves(cluster: Cluster, node: Node) -> bool:
    """Return whether a node is a web server with pages."""
    return node.has("web") and _has_wiki(cluster, node)


def _has_wiki(cluster: Cluster, node: Node) -> bool:
    return any(tool.name == "wiki" and node.name in cluster.select(tool.where) for tool in cluster.tools)


def files(cluster: Cluster, node: Node) -> Iterator[File]:
    """Yield the web server's settings and its pages."""
    if not serves(cluster, node):
        return
    names = " ".join(node.known_as)
    yield File(CONF, fill("nginx.conf", cluster=cluster, port=PORT, names=names, pages=PAGES))
    for name, text in pages(cluster).items():
        yield File(f"{PAGES}/{WIKI}/{name}", text)


def pages(cluster: Cluster) -> dict[str, str]:
    """Return the pages by file name: the inventory's own, and ours under other names."""
    own = {
        path.removeprefix(f"{WIKI}/"): text for path, text in cluster.attached.items() if path.startswith(f"{WIKI}/")
    }
    made = {"slurm-aliases.html": _page(cluster, "slurm-aliases", _aliases())}
    listed = sorted(name for name in {**made, **own} if name.endswith(".html"))
    links = [f'<li><a href="{name.removesuffix(".html")}">{name.removesuffix(".html")}</a></li>' for name in listed]
    made["index.html"] = _page(cluster, cluster.name, "\n".join(["<ul>", *links, "</ul>"]))
    return {**made, **own}


def _aliases() -> str:
    page = manual.ALIASES_PAGE
    rows = [
        f"<dt><code>{html.escape(alias.name)}</code>: {html.escape(alias.text)}</dt>\n"
        f"<dd><code>{html.escape(alias.command)}</code></dd>"
        for alias in manual.ALIASES
    ]
    lines = "\n".join(f"alias {alias.name}='{alias.command}'" for alias in manual.ALIASES)
    return "\n".join(
        [
            *(f"<p>{html.escape(text)}</p>" for text in page.about),
            *("<dl>", *rows, "</dl>"),
            "<p>The same as lines for your own <code>~/.bashrc</code>, on a machine that does not have them:</p>",
            f"<pre>{html.escape(lines)}</pre>",
        ]
    )


def _page(cluster: Cluster, title: str, body: str) -> str:
    return fill("page.html", cluster=cluster.name, title=title, body=body)
