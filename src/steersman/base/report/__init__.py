# SPDX-License-Identifier: Apache-2.0
"""Reports: question, answer, charts and tables in one HTML file that works offline.

`model` has the contents of a report and an example; `html` renders the file. This package is
independent of what is reported.
"""

from typing import TYPE_CHECKING

from steersman.base import lazy_exports

__all__: list[str]
if TYPE_CHECKING:
    from steersman.base.report.html import csp_hash as csp_hash, render_html as render_html
    from steersman.base.report.model import (
        BYTES as BYTES,
        FRACTION as FRACTION,
        SECONDS as SECONDS,
        BarChart as BarChart,
        Cell as Cell,
        Column as Column,
        Distribution as Distribution,
        Figures as Figures,
        HeatMap as HeatMap,
        Line as Line,
        LineChart as LineChart,
        Report as Report,
        Section as Section,
        Table as Table,
        Text as Text,
    )
    from steersman.base.report.notebook import (
        heading as heading,
        paragraph as paragraph,
        piece as piece,
        shares as shares,
        small_table as small_table,
    )
    from steersman.base.report.plotly_library import load_plotly_library as load_plotly_library
else:
    __getattr__, __dir__, __all__ = lazy_exports(
        __name__,
        {
            "html": "csp_hash render_html",
            "model": (
                "BYTES BarChart Cell Column Distribution FRACTION Figures HeatMap Line "
                "LineChart Report SECONDS Section Table Text"
            ),
            "notebook": "heading paragraph piece shares small_table",
            "plotly_library": "load_plotly_library",
        },
    )
