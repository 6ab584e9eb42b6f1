# SPDX-License-Identifier: Apache-2.0
"""What a shadow says of all that it has compared: as text, as a document, as metrics, as a page."""

from __future__ import annotations

from tests.run.shadow.following import WatchedCluster, nodes, pod

from steersman.base.report import render_html
from steersman.run.shadow import ShadowSummary, shadow_report
from steersman.run.shadow.summary import ShadowMetrics


def summary_of_two() -> tuple[ShadowSummary, ShadowMetrics]:
    cluster = WatchedCluster(*nodes(2), pod("other", "2", on="n0"))
    cluster.see(pod("good"))
    cluster.bind("good", "n1")
    cluster.see(pod("bad", "100m"))
    cluster.bind("bad", "n0")
    summary, metrics = ShadowSummary(), ShadowMetrics()
    for comparison in cluster.settle():
        summary.add(comparison)
        metrics.add(comparison)
    return summary, metrics


def test_the_text_has_counts_scores_side_by_side_and_the_answer() -> None:
    text = summary_of_two()[0].text(80).splitlines()
    assert text[:3] == ["CLASS         DECISIONS", "same                  1", "tie                   0"]
    assert any(line.split()[:1] == ["NodeResourcesFit"] and len(line.split()) == 3 for line in text)
    assert text[-1] == "1 of 2 decisions are the same or a tie; 1 real disagreement."
    assert max(map(len, text)) <= 80


def test_the_document_names_its_version_and_its_classes() -> None:
    document = summary_of_two()[0].to_dict()
    assert document["apiVersion"] == "shadow.steersman.dev/v1"
    assert document["summary"]["classes"]["disagreement"] == 1
    (found,) = document["unexplained"]
    assert found["class"] == "disagreement"
    assert found["scores"]["plugin"] == "NodeResourcesFit"


def test_an_empty_summary_says_so() -> None:
    summary = ShadowSummary()
    assert summary.answer() == "No decision was seen."
    assert shadow_report(summary).fits is None


def test_metrics_count_by_class() -> None:
    text = summary_of_two()[1].render().decode()
    labels = 'class="disagreement",decision="binding",profile="default-scheduler"'
    assert f"steersman_shadow_decisions_total{{{labels}}} 1.0" in text
    assert 'steersman_shadow_disagreements_total{plugin="NodeResourcesFit"} 1.0' in text


def test_the_page_shows_what_is_not_explained() -> None:
    report = shadow_report(summary_of_two()[0], ["steersman shadow"])
    assert report.fits is False
    titles = [section.title for section in report.sections]
    assert titles == [
        "Decisions",
        "Decisions by class",
        "Plugin that makes the difference",
        "Not explained",
        "Scores side by side",
    ]
    assert "default/bad" in render_html(report)
