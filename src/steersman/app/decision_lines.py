"""Decisions as lines of the log, with kube-scheduler's texts and verbosities. Told by the scheduling loop."""

from __future__ import annotations

from typing import Final

from steersman.cycle.decision import Decision, Failed, Scheduled, Unschedulable
from steersman.observe import Log
from steersman.observe.logs import Silence

CHOSEN: Final = "Attempting to bind pod to node"
NO_FIT: Final = "Unable to schedule pod; no fit; waiting"
FAULT: Final = "Error scheduling pod; retrying"
SKIPPED: Final = "Skip schedule pod"


class DecisionLines:
    """Which of them are wanted is decided once."""

    def __init__(self, log: Log | Silence) -> None:
        self._log = log
        self._rejections = log.v(2)
        self._choices = log.v(3)

    def tell(self, decision: Decision) -> None:
        pod = decision.pod.key
        if isinstance(decision, Scheduled):
            self._choices.info(CHOSEN, pod=pod, node=decision.node)
        elif isinstance(decision, Unschedulable):
            self._rejections.info(NO_FIT, pod=pod, err=decision.message)
        elif isinstance(decision, Failed):
            self._log.error(FAULT, pod=pod, err=decision.message)
        else:
            self._choices.info(SKIPPED, pod=pod, reason=decision.reason)
