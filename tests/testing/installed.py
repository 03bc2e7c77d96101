"""A folder of installed packages: their modules, and what an installer notes of each."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from sabm_mesa.models.registry import GROUP

MODEL = '''
"""A scenario of another package."""

from tests.testing.fishing import Fishing


class {cls}(Fishing):
    scenario_name = "{name}"
    title = "The scenario {name}"
'''


def install(
    site: Path,
    package: str,
    points: Mapping[str, str],
    modules: Mapping[str, str],
    group: str = GROUP,
) -> None:
    """Put a package where Python finds it.

    Args:
        site: the folder, which is on the path of Python.
        package: its name.
        points: name of a scenario → ``module:Class``.
        modules: file → text.
        group: the group of its entry points.
    """
    notes = site / f"{package}-2.5.dist-info"
    texts = {
        notes / "METADATA": f"Metadata-Version: 2.1\nName: {package}\nVersion: 2.5\n",
        notes / "entry_points.txt": "\n".join(
            [f"[{group}]", *(f"{name} = {place}" for name, place in points.items())]
        ),
        **{site / name: text for name, text in modules.items()},
    }
    for path, text in texts.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8")


def install_all(site: Path) -> None:
    """Packages with a scenario that works, and with some that do not.

    Args:
        site: the folder, which is on the path of Python.
    """
    good = MODEL.format(cls="Lake", name="lake")
    install(
        site,
        "lakes",
        {"lake": "lakes:Lake"},
        {"lakes/__init__.py": "from lakes.model import Lake\n", "lakes/model.py": good},
    )
    install(site, "other-lakes", {"lake": "lakes:Lake"}, {})
    install(site, "torn", {"torn": "torn:Torn"}, {"torn.py": "import nowhere_to_be_found\n"})
    install(site, "mistaken", {
        "number": "mistaken:NUMBER", "named": "mistaken:Named", "gone": "mistaken:Gone",
        "with space": "mistaken:Named",
    }, {"mistaken.py": "NUMBER = 3\n" + MODEL.format(cls="Named", name="otherwise")})  # fmt: skip
    install(site, "rival", {"kbc": "rival:KBC", "judge": "rival:KBC"},
            {"rival.py": "raise SystemExit('imported')\n"})  # fmt: skip
