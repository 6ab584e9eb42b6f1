# SPDX-License-Identifier: Apache-2.0
"""The description of the package, made from README.md."""

from __future__ import annotations

import re

from scripts.lockfile import ROOT
from scripts.package_description import package_description, project_urls

ADDRESS = "https://code.example.com/someone/steersman"
README = """See [the
tutorial](docs/tutorial.md#x), [above](#top) and [Go](https://go.dev).

![A picture](docs/terminal.svg)

```text
[code](docs/left-alone.md)
```
"""


def test_links_to_files_are_absolute_and_others_stay() -> None:
    assert package_description(README, ADDRESS, "1.2.3") == README.replace(
        "(docs/tutorial.md#x)", f"({ADDRESS}/blob/v1.2.3/docs/tutorial.md#x)"
    ).replace("(docs/terminal.svg)", f"({ADDRESS}/raw/v1.2.3/docs/terminal.svg)")


def test_without_an_address_links_to_files_become_their_labels_and_pictures_are_left_out() -> None:
    text = package_description(README, "", "1.2.3")
    assert text.startswith("See the\ntutorial, [above](#top) and [Go](https://go.dev).")
    assert "picture" not in text
    assert "[code](docs/left-alone.md)" in text
    assert project_urls("", "1.2.3") == {}


def test_the_readme_leaves_no_relative_link_in_the_description() -> None:
    for address in ("", ADDRESS):
        text = package_description((ROOT / "README.md").read_text(encoding="utf-8"), address, "1.2.3")
        prose = re.sub(r"^```.*?^```$", "", text, flags=re.MULTILINE | re.DOTALL)
        assert re.findall(r"\]\((?!https?:|#)[^)]*\)", prose) == []
