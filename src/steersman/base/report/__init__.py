# SPDX-License-Identifier: Apache-2.0
"""Reports: question, answer, charts and tables in one HTML file that works offline.

`model` has the contents of a report and an example; `html` renders the file. This package does not
depend on the packages that make reports.
"""

from steersman.base.lazy_names import lazy_exports

__getattr__, __dir__, __all__ = lazy_exports(
    __name__,
    {
        "html": "NOT_BUILT csp_hash is_page_built render_html",
        "model": (
            "BYTES BarChart Cell Column Distribution FRACTION Figures HeatMap Line LineChart "
            "Report SECONDS Section Table Text"
        ),
        "notebook": "heading paragraph piece shares small_table",
    },
)
