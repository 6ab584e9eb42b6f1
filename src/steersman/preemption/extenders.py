"""The extenders' say in a preemption: they may strike candidates out, and change the victims of others.

Between the dry runs and the choice; used by `evaluator`.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence

from steersman.framework.extender import Extender, ExtenderError, NodeVictims, PodsOn
from steersman.framework.pod_info import PodInfo
from steersman.preemption.candidates import Candidate

logger = logging.getLogger(__name__)

NO_VICTIM = 'expected at least one victim pod on node "{}"'


async def ask_extenders(
    extenders: Sequence[Extender], pod: PodInfo, candidates: Sequence[Candidate], pods_on: PodsOn
) -> tuple[Candidate, ...]:
    """What is left of the candidates. ExtenderError when one fails that may not."""
    victims: Mapping[str, NodeVictims] = {
        candidate.node: NodeVictims(candidate.victims, candidate.pdb_violations) for candidate in candidates
    }
    for extender in extenders:
        if not victims:
            break
        if extender.supports_preemption:
            victims = await _ask(extender, pod, victims, pods_on)
    return tuple(Candidate(node, its.pods, its.pdb_violations) for node, its in sorted(victims.items()))


async def _ask(
    extender: Extender, pod: PodInfo, victims: Mapping[str, NodeVictims], pods_on: PodsOn
) -> Mapping[str, NodeVictims]:
    try:
        answer = await extender.process_preemption(pod, victims, pods_on)
    except ExtenderError as cause:
        if not extender.is_ignorable:
            raise
        logger.info("extender %s has no say in the preemption for pod %s: %s", extender.name, pod.key, cause)
        return victims
    without = [node for node, its in answer.items() if not its.pods]
    if without and not extender.is_ignorable:
        raise ExtenderError(NO_VICTIM.format(without[0]))
    return {node: its for node, its in answer.items() if its.pods}
