"""The entry of a scenario for the model library of CoMSES: its ODD description and metadata.

The library asks for the code, documentation such as an ODD description, and metadata, for which it
uses CodeMeta (https://w3id.org/codemeta/3.0).
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib.metadata import metadata
from typing import Any

from sabm_mesa.describe.rendering import as_markdown
from sabm_mesa.models import registry
from sabm_mesa.recording.export import readable_json

PACKAGE = "sabm-mesa"
LEFT = "authors with their affiliations, the licence, the address of the code"
LEFT_OF_PACKAGE = "the authors' names and affiliations, the address of the code"


def comses(description: Mapping[str, Any]) -> dict[str, str]:
    """The files of an entry.

    Args:
        description: as `sabm_mesa.describe.describe` returns it.

    Returns:
        File → text: ``docs/ODD.md`` and ``codemeta.json``.
    """
    return {
        "docs/ODD.md": as_markdown(description) + "\n",
        "codemeta.json": readable_json(codemeta(description)) + "\n",
    }


def left_to_authors(description: Mapping[str, Any]) -> str:
    """Return the missing parts of an entry, which only the authors know.

    Args:
        description: as `sabm_mesa.describe.describe` returns it.
    """
    return LEFT_OF_PACKAGE if _of_package(description) else LEFT


def codemeta(description: Mapping[str, Any]) -> dict[str, Any]:
    """The metadata of a scenario as CodeMeta 3.0.

    Args:
        description: as `sabm_mesa.describe.describe` returns it.
    """
    about = metadata(PACKAGE)
    versions = description["versions"]
    record: dict[str, Any] = {
        "@context": "https://w3id.org/codemeta/3.0",
        "@type": "SoftwareSourceCode",
        "identifier": description["name"],
        "name": description["title"],
        "description": _purpose(description),
        "applicationCategory": "Agent-based model",
        "programmingLanguage": {
            "@type": "ComputerLanguage",
            "name": "Python",
            "version": versions["python"],
        },
        "runtimePlatform": f"Mesa {versions['mesa']}",
        "softwareRequirements": [f"{name} {versions[name]}" for name in (PACKAGE, "mesa")],
    }
    if description["source"]:
        work = {"@type": "ScholarlyArticle", "name": description["source"]}
        record["referencePublication"] = [work]
    if _of_package(description):
        record |= {
            "version": about["Version"],
            "keywords": about["Keywords"].split(","),
            "license": f"https://spdx.org/licenses/{about['License-Expression']}",
            "author": [{"@type": "Organization", "name": about["Author"]}],
            "isPartOf": {"@type": "SoftwareSourceCode", "name": PACKAGE},
        }
    return record


def _of_package(description: Mapping[str, Any]) -> bool:
    """Whether the scenario is part of this package, and so has its licence and version."""
    return description["name"] in registry.SCENARIOS


def _purpose(description: Mapping[str, Any]) -> str:
    """The first paragraph of the purpose, or the title."""
    texts = (block for block in description["odd"][0]["blocks"] if isinstance(block, str))
    return next(texts, description["title"])
