"""Additions to Sphinx: pages made from the package, and links to the sources."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pages
from docutils import nodes
from sources import mentions, resolve, works
from sphinx.addnodes import pending_xref
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment

BIBLIOGRAPHY_PAGE = "reference/bibliography"
_NOT_WITHIN = (nodes.reference, nodes.literal, nodes.literal_block, nodes.title, nodes.raw)


def setup(app: Sphinx) -> dict[str, Any]:
    """Connect the additions to the build."""
    app.connect("builder-inited", make_pages)
    app.connect("source-read", lead_to_copies)
    app.connect("missing-reference", find_short_name)
    app.connect("doctree-resolved", link_sources)
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def make_pages(app: Sphinx) -> None:
    """Write the pages that are made from the package before Sphinx looks for documents."""
    pages.write(Path(app.srcdir))


def lead_to_copies(app: Sphinx, name: str, content: list[str]) -> None:
    """Make links of a hand-written page to a page outside of docs/ lead to its copy in the site."""
    path = Path(app.srcdir) / f"{name}.md"
    if path.is_file() and name.split("/", maxsplit=1)[0] not in pages.FOLDERS:
        content[0] = pages.with_links(content[0], path, path)


def find_short_name(
    app: Sphinx, env: BuildEnvironment, node: pending_xref, content: nodes.TextElement
) -> nodes.reference | None:
    """Resolve a class or `module.function` that is written without its package, if it is unique.

    A single word in small letters is left alone: as a rule it is a parameter.
    """
    target = node["reftarget"].removeprefix("~")
    if node.get("refdomain") != "py" or env is None or ("." not in target and target.islower()):
        return None
    domain = env.domains.python_domain
    places = {
        (entry.docname, entry.node_id)
        for name, entry in domain.objects.items()
        if (name == target or name.endswith(f".{target}")) and not entry.aliased
    }
    if len(places) != 1:
        return None
    ((document, anchor),) = places
    address = app.builder.get_relative_uri(node.get("refdoc", env.docname), document)
    return nodes.reference("", "", content, internal=True, refuri=f"{address}#{anchor}")


def link_sources(app: Sphinx, document: nodes.document, name: str) -> None:
    """Make each source that a text names a link to the bibliography."""
    if name == BIBLIOGRAPHY_PAGE or app.builder.format != "html":
        return
    bibliography = works()
    address = app.builder.get_relative_uri(name, BIBLIOGRAPHY_PAGE)
    for node in list(document.findall(nodes.Text)):
        parent, above = node.parent, node.parent
        while above is not None and not isinstance(above, _NOT_WITHIN):
            above = above.parent
        if above is not None:
            continue
        text, done, parts = str(node), 0, []
        for mention in mentions(text):
            if work := resolve(mention, bibliography):
                parts.append(nodes.Text(text[done : mention.start()]))
                link = f"{address}#source-{work.key}"
                parts.append(nodes.reference("", mention[0], internal=True, refuri=link))
                done = mention.end()
        if parts:
            parent.replace(node, [*parts, nodes.Text(text[done:])])
