"""The counter-based generator against SplitMix64 in Python's integers, and the shapes of what is drawn from it."""

from __future__ import annotations

import hashlib
import math

import pytest
import torch

from cases.stream import Stream

MASK = (1 << 64) - 1
PINNED_WORDS = ["7545c470856fec2d", "d86d13bacdb918fb", "1e6f04bb394d9305", "795296b55abcc7ed"]


def splitmix64(seed: int, count: int) -> list[int]:
    """The generator as published, in unsigned integers."""
    words, state = [], seed
    for _ in range(count):
        state = (state + 0x9E3779B97F4A7C15) & MASK
        z = state
        z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & MASK
        z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & MASK
        words.append(z ^ (z >> 31))
    return words


def stream(name: str) -> Stream:
    return Stream(name, torch.device("cpu"))


def unsigned(name: str, *shape: int) -> list[int]:
    return [word & MASK for word in stream(name).words(*shape).flatten().tolist()]


def test_the_generator_of_this_test_gives_the_published_words() -> None:
    actual = splitmix64(1234567, 3)

    assert actual == [6457827717110365317, 3203168211198807973, 9817491932198370423]


@pytest.mark.parametrize("name", ["", "pinned", "gemm/1x128-128x128/m83-n576-k7168", "ein Übel"])
def test_words_are_those_of_splitmix64_seeded_with_the_name(name: str) -> None:
    seed = int.from_bytes(hashlib.blake2b(name.encode(), digest_size=8).digest(), "little")

    actual = unsigned(name, 1000)

    assert actual == splitmix64(seed, 1000)


def test_words_never_change() -> None:
    actual = [f"{word:016x}" for word in unsigned("pinned", 4)]

    assert actual == PINNED_WORDS


def test_a_shape_only_arranges_the_words() -> None:
    actual = unsigned("pinned", 3, 5)

    assert actual == unsigned("pinned", 15)
    assert stream("pinned").words(3, 5).shape == (3, 5)


def test_a_longer_draw_begins_with_the_shorter_one() -> None:
    actual = unsigned("pinned", 100)[:7]

    assert actual == unsigned("pinned", 7)


def test_drawing_twice_gives_the_same_words_whatever_the_global_generator() -> None:
    first = unsigned("pinned", 8)
    torch.rand(5)

    assert unsigned("pinned", 8) == first


def test_children_are_streams_of_their_own() -> None:
    names = ["", "/a", "/b", "/a/b", "/ab"]
    streams = [stream("parent"), *(stream("parent").child(name[1:]) for name in names[1:])]

    drawn = [word for s in streams for word in s.words(200).tolist()]

    assert len(set(drawn)) == len(drawn)
    assert streams[1].child("b").words(3).tolist() == streams[3].words(3).tolist()


def test_children_are_not_correlated() -> None:
    a, b = (stream("parent").child(name).normal(20000).double() for name in "ab")

    actual = torch.corrcoef(torch.stack([a, b]))[0, 1].item()

    assert abs(actual) < 5 / math.sqrt(20000)


@pytest.mark.parametrize("count", [1, 7, 8, 9, 24])
def test_octets_are_the_bytes_of_the_words(count: int) -> None:
    seed = int.from_bytes(hashlib.blake2b(b"pinned", digest_size=8).digest(), "little")
    expected = b"".join(word.to_bytes(8, "little") for word in splitmix64(seed, 3))[:count]

    actual = stream("pinned").octets(count)

    assert actual.dtype == torch.uint8
    assert bytes(actual.tolist()) == expected


def test_every_octet_is_about_equally_often() -> None:
    actual = torch.bincount(stream("octets").octets(64, 1024).flatten().int(), minlength=256)

    assert actual.min() > 256 - 6 * 16
    assert actual.max() < 256 + 6 * 16


@pytest.mark.parametrize("limit", [1, 2, 7, 10, 1000])
def test_below_reaches_the_whole_range_and_no_more(limit: int) -> None:
    actual = stream("below").below(limit, 100, 100)

    assert (actual.dtype, actual.shape) == (torch.int64, (100, 100))
    assert actual.unique().tolist() == list(range(limit))
    assert abs(actual.double().mean().item() - (limit - 1) / 2) < 5 * limit / math.sqrt(12 * 10000)


def test_normal_has_mean_zero_and_the_deviation_of_eight_bytes() -> None:
    actual = stream("normal").normal(200, 500).double()

    deviation = math.sqrt(8 * (256**2 - 1) / 12) / 256
    assert abs(actual.mean().item()) < 5 * deviation / math.sqrt(100000)
    assert abs(actual.std().item() - deviation) < 5 * deviation / math.sqrt(200000)
    assert abs(deviation - 0.82) < 0.005


def test_normal_is_symmetric_and_bell_shaped() -> None:
    actual = stream("normal").normal(100000).double()

    deviation = actual.std()
    assert abs((actual / deviation).pow(3).mean().item()) < 0.04
    assert abs((actual / deviation).pow(4).mean().item() - 2.85) < 0.1, "eight bytes have a kurtosis of 3 - 1.2 / 8"


def test_normal_sums_all_eight_bytes() -> None:
    seed = int.from_bytes(hashlib.blake2b(b"pinned", digest_size=8).digest(), "little")
    expected = [(sum(word.to_bytes(8, "little")) - 1020) / 256 for word in splitmix64(seed, 50)]

    actual = stream("pinned").normal(50)

    assert actual.dtype == torch.float32
    assert actual.tolist() == expected


@pytest.mark.parametrize(("low", "high"), [(-10, -4), (0, 1), (3, 20), (-126, 128)])
def test_floats_are_positive_with_odd_mantissas_and_exponents_in_range(low: int, high: int) -> None:
    actual = stream("floats").floats(low, high, 50, 60)

    assert (actual.dtype, actual.shape) == (torch.float32, (50, 60))
    assert (actual.view(torch.int32) & 1 == 1).all()
    exponents = {math.frexp(v)[1] - 1 for v in actual.flatten().tolist()}
    assert exponents == set(range(low, high))
    assert (actual > 0).all()


def test_floats_have_mantissas_of_all_sizes() -> None:
    actual = stream("floats").floats(0, 1, 10000).double()

    assert abs(actual.mean().item() - 1.5) < 5 / math.sqrt(12 * 10000)
    assert (actual.min().item(), actual.max().item()) == pytest.approx((1, 2), abs=2e-3)
    assert actual.unique().numel() > 9980
