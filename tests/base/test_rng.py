# SPDX-License-Identifier: Apache-2.0
"""Random sources: the seed decides everything."""

from steersman.base.rng import Rng, SeededRng


def draw(rng: Rng) -> list[float]:
    return [rng.random() for _ in range(20)] + [rng.randrange(1000) for _ in range(20)]


def test_equal_seeds_give_equal_sequences() -> None:
    assert draw(SeededRng(7)) == draw(SeededRng(7))


def test_different_seeds_give_different_sequences() -> None:
    assert draw(SeededRng(7)) != draw(SeededRng(8))


def test_numbers_stay_within_their_ranges() -> None:
    rng = SeededRng(1)
    assert all(0 <= rng.random() < 1 for _ in range(100))
    assert {rng.randrange(3) for _ in range(100)} == {0, 1, 2}
