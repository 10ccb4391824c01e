"""Seeded faults: the end of K, and K split among several workers."""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn.functional import pad

from conformance.faults.kernel import FOLKLORE, Call, Family, Kernel, Step, fault
from conformance.faults.memory import peek
from reference.blocks import BLOCK, ceil_div

K_TAILS: Family = "K tails and split-K"


@fault(
    "k-tail-lost",
    family=K_TAILS,
    source="vllm#49596",
    what="The loop runs over K // 128 blocks, so a ragged last block is left out.",
)
class _KTailLost(Kernel):
    def steps(self, call: Call) -> list[Step]:
        return super().steps(call)[: call.k // BLOCK]


@fault(
    "k-tail-of-512-lost",
    family=K_TAILS,
    source="TensorRT-LLM PR 12835",
    what="K is walked four blocks at a time: the rest is dropped, and below 512 the result is never written.",
)
class _KTailOf512Lost(Kernel):
    def steps(self, call: Call) -> list[Step]:
        return super().steps(call)[: call.k // (4 * BLOCK) * 4]

    def store(self, call: Call, total: Tensor) -> Tensor:
        return super().store(call, total) if call.k >= 4 * BLOCK else call.unwritten()


@fault(
    "k-tail-counted-twice",
    family=K_TAILS,
    source="aiter#5286",
    what="The last load is moved back to end at K, so the lanes it shares with the block before count twice.",
)
class _KTailCountedTwice(Kernel):
    def steps(self, call: Call) -> list[Step]:
        steps = super().steps(call)
        return [step._replace(lanes=slice(max(step.lanes.stop - BLOCK, 0), step.lanes.stop)) for step in steps]


@fault(
    "k-tail-unmasked",
    family=K_TAILS,
    source="vllm#49596",
    what="Lanes past K are not masked: a ragged last block goes on into the memory after the row, in A and in B.",
)
class _KTailUnmasked(Kernel):
    def product(self, call: Call, a: Tensor, b: Tensor, step: Step) -> Tensor:
        beyond = -a.shape[1] % BLOCK
        if beyond and call.A.stride(1) == call.B.stride(1) == 1:
            a = torch.cat([a, self.after_rows(call.A, beyond)], dim=1)
            b = torch.cat([b, self.after_rows(call.B, beyond)], dim=1)
        return super().product(call, a, b, step)

    def after_rows(self, x: Tensor, width: int) -> Tensor:
        beyond = peek(x[:, :1].expand(-1, width), (x.stride(0), 1), offset=int(x.storage_offset()) + x.shape[1])
        return self.decode(beyond)


@fault(
    "split-k-overlaps",
    family=K_TAILS,
    source="aiter#5286",
    what="From 8 blocks on K is split in two halves of ceil(kb / 2) blocks, which share one where kb is odd.",
)
class _SplitKOverlaps(Kernel):
    def steps(self, call: Call) -> list[Step]:
        steps, half = super().steps(call), ceil_div(call.kb, 2)
        return steps[:half] + steps[-half:] if call.kb >= 8 else steps


@fault(
    "split-k-rest-lost",
    family=K_TAILS,
    source="aiter#5286",
    what="From 16 blocks on four workers take kb // 4 blocks each, and nobody takes the rest.",
)
class _SplitKRestLost(Kernel):
    def steps(self, call: Call) -> list[Step]:
        return super().steps(call)[: call.kb // 4 * 4 if call.kb >= 16 else None]


@fault(
    "split-k-last-overwrites",
    family=K_TAILS,
    source="TransformerEngine#3171",
    what="From 32 blocks on K is split in two, and the second half is stored over the first and not added to it.",
)
class _SplitKLastOverwrites(Kernel):
    def steps(self, call: Call) -> list[Step]:
        return super().steps(call)[call.kb // 2 if call.kb >= 32 else 0 :]


@fault(
    "split-k-reduced-narrow",
    family=K_TAILS,
    source="vllm#42240",
    what="From 8 blocks on four workers round their sums to the result's dtype before these are added.",
)
class _SplitKReducedNarrow(Kernel):
    def add(self, total: Tensor, term: Tensor, step: Step) -> Tensor:
        total = total + term
        return total.to(self.narrow).float() if step.block in self.seams else total

    def total(self, call: Call) -> Tensor:
        quarter = ceil_div(call.kb, 4)
        self.narrow, self.seams = call.out_dtype, range(quarter - 1, call.kb, quarter) if call.kb >= 8 else ()
        return super().total(call)


@fault(
    "stale-pipeline-stage",
    family=K_TAILS,
    source="DeepGEMM#25",
    what="With four stages and kb % 4 == 1 the last block waits on the wrong barrier and multiplies B of four before.",
)
class _StalePipelineStage(Kernel):
    def read_b(self, call: Call) -> Tensor:
        b = super().read_b(call)
        last = (call.kb - 1) * BLOCK
        if call.kb > 4 and call.kb % 4 == 1:
            b = b.clone()
            b[:, last:] = b[:, last - 4 * BLOCK : call.k - 4 * BLOCK]
        return b


@fault(
    "few-rows-last-chunk-lost",
    family=K_TAILS,
    source="DeepGEMM#165",
    what="The path for M up to 4 reads chunks of 16 lanes and drops the last K % 16.",
)
class _FewRowsLastChunkLost(Kernel):
    def read_a(self, call: Call) -> Tensor:
        a, whole = super().read_a(call), call.k // 16 * 16
        return pad(a[:, :whole], (0, call.k - whole)) if call.m <= 4 else a


@fault(
    "first-block-counted-by-each-worker",
    family=K_TAILS,
    source=FOLKLORE,
    what="From 64 blocks on there are two workers, and each starts from the first block's product.",
)
class _FirstBlockCountedByEachWorker(Kernel):
    def steps(self, call: Call) -> list[Step]:
        steps = super().steps(call)
        return steps[:1] + steps if call.kb >= 64 else steps
