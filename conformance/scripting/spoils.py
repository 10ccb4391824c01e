"""How malformed operands and spoiled raw calls are made, as lines: `scenarios.malformed` and `.spoiling` as text."""

from __future__ import annotations

from collections.abc import Mapping

MALFORMED: Mapping[str, str] = {
    "unequal-k": "B = torch.cat([B.view(torch.uint8), B[:, :16].view(torch.uint8)], 1).view(B.dtype)",
    "as-short": "As = As[:, :-1].contiguous()",
    "bs-short": "Bs = Bs[:-1].contiguous()",
    "as-transposed": "As = As.t().contiguous()",
    "bs-per-column": "Bs = Bs[torch.arange(N) // 128]",
    "scales-int32": "As, Bs = As.to(torch.int32), Bs.to(torch.int32)",
    "scales-float64": "As, Bs = As.double(), Bs.double()",
    "codes-as-bytes": "A, B = A.view(torch.uint8), B.view(torch.uint8)",
}
"""What is done to A, B, As and Bs."""

_FLOATS = "scale_a, scale_b = scale_a.to(torch.{0}), scale_b.to(torch.{0})"
_BIAS = 'more["bias"] = (torch.arange({}, device=A.device) % 7 - 3).to({})'
_OUT = 'more["out"] = torch.full((M, N), torch.nan, dtype={}, device=A.device)'
_WIDER = "torch.nn.functional.pad({}.view(torch.uint8), ({}, {}), value=0x7F).view(A.dtype)"
_PADDED = "torch.nn.functional.pad({}, (0, -scale_a.shape[1] % 4)).contiguous()"
_BY_BLOCK = "scale_a = scale_a[::128].contiguous()"
_CLONED = "scale_b = scale_b.clone()"

RULES: Mapping[str, tuple[str, ...]] = {
    "m-unpadded": ("A, scale_a = A[:-1], scale_a[:-1].t().contiguous().t()",),
    "n-unaligned": ("B = B[:, :-8]",),
    "k-unaligned": ("A, B = A[:, :-8].contiguous(), B[:-8].t().contiguous().t()",),
    "k-unequal": ("B = B[:-16].t().contiguous().t()",),
    "k-ragged": (),
    "m-zero": (),
    "n-zero": ("B, scale_b = B[:, :0], scale_b[:, :0]",),
    "k-zero": (
        "A, B = A[:, :0].contiguous(), B[:0].t().contiguous().t()",
        "scale_a, scale_b = scale_a[:, :0].t().contiguous().t(), scale_b[:0].t().contiguous().t()",
    ),
    "as-row-major": ("scale_a = scale_a.contiguous()",),
    "as-rows-padded": ("scale_a = torch.nn.functional.pad(scale_a.t(), (0, 4), value=torch.nan).t()[:-4]",),
    "bs-untransposed": ("scale_b = scale_b.t()",),
    "bs-padded": (f"scale_b = {_PADDED.format('scale_b.t()')}[:, : scale_a.shape[1]].t()",),
    "bs-unpadded": ("scale_b = scale_b[: scale_a.shape[1]].t().contiguous().t()",),
    "padding-nan": (_CLONED, "scale_b[scale_a.shape[1] :] = torch.nan"),
    "padding-inf": (_CLONED, "scale_b[scale_a.shape[1] :] = torch.inf"),
    "scales-fp16": (_FLOATS.format("float16"),),
    "scales-bf16": (_FLOATS.format("bfloat16"),),
    "scales-fp64": (_FLOATS.format("float64"),),
    "scales-e8m0": (_FLOATS.format("float8_e8m0fnu"),),
    "scale-on-cpu": ("scale_a = scale_a.cpu()",),
    "recipe-blocks-twice": (_BY_BLOCK,),
    "recipe-rowwise": ("kinds = [By.RowWise, By.RowWise]",),
    "swizzled": ('more = dict.fromkeys(("swizzle_a", "swizzle_b"), F.SwizzleType.SWIZZLE_32_4_4)',),
    "contraction-unequal": ('more["contraction_dim"] = (0, 1)',),
    "contraction-ignored": ('more["contraction_dim"] = (0, 1)',),
    "a-e5m2": (),
    "both-e5m2": (),
    "out-fp8": ("dtype = torch.float8_e4m3fn",),
    "out-none": ("dtype = None",),
    "out-fp64": ("dtype = torch.float64",),
    "out-given": (_OUT.format("dtype"),),
    "out-of-other-dtype": (_OUT.format("torch.float32"),),
    "bias-right": (_BIAS.format("N", "dtype"),),
    "bias-fp32": (_BIAS.format("N", "torch.float32"),),
    "bias-of-other-dtype": (_BIAS.format("N", "torch.float16 if dtype == torch.bfloat16 else torch.bfloat16"),),
    "bias-to-fp32": (_BIAS.format("N", "torch.bfloat16"),),
    "bias-short": (_BIAS.format("N - 1", "dtype"),),
    "fast-accum": ('more["use_fast_accum"] = True',),
    "a-rows-padded": (f"A = {_WIDER.format('A', 0, 16)}[:, :K]",),
    "b-rows-padded": (f"B = {_WIDER.format('B.t()', 0, 16)}[:, :K].t()",),
    "a-column-major": ("A = A.t().contiguous().t()",),
    "b-row-major": ("B = B.contiguous()",),
    "a-offset-8": (f"A = {_WIDER.format('A', 8, 8)}[:, 8:-8]",),
}
"""What is done to a raw call: A [M, K], B [K, N], scale_a, scale_b, ``dtype``, v2's ``kinds``, ``more`` arguments."""

TOLD_OTHERWISE: Mapping[str, tuple[str, ...]] = {
    "recipe-blocks-twice": (
        _BY_BLOCK,
        f"scale_a, kinds = {_PADDED.format('scale_a')}.t(), [kinds[1], kinds[1]]",
    )
}
"""Where v2 is spoiled in another way."""

WITHOUT_VALUES = ("n-zero", "k-zero", "m-zero", "recipe-blocks-twice", "scales-e8m0", "bias-short")
"""Rules that leave another product to judge than that of the operands: a script says only whether it is refused."""
