"""The same rows beside other numbers of rows, and the same call through torch.compile."""

from __future__ import annotations

import importlib.util
import os
import shutil
import warnings
from dataclasses import replace

import torch
from torch import Tensor

from cases.operands import Operands
from cases.scenarios import INVARIANCE
from conformance.assignment import Assignment
from conformance.calling import watch
from conformance.evidence import Evidence
from conformance.scenarios.again import agree, present_as
from conformance.tiers import Judgement, failed
from conformance.trial import Trial
from reference.splitk import same_bits

SIZES = (1, 2, 3, 4, 8, 16, 17, 64, 128, 129, 256)


def batch_invariance(trial: Trial, first: Tensor) -> Judgement:
    """Whether the first rows come out the same for every M: a property, owed only where it is declared."""
    if trial.problem.recipe.startswith("128x128"):
        return Judgement("unsupported", "rows share scales, so that other rows are other operands")
    differing, tried = [], []
    for m in SIZES:
        beside = _with_rows(trial, m)
        outcome = beside.call()
        judgement = beside.judge(outcome)
        if judgement.verdict == "failed":
            return replace(judgement, detail=f"with M = {m}: {judgement.detail}")
        if isinstance(outcome.returned, Tensor):
            tried.append(m)
            rows = min(m, trial.problem.m)
            if not bool(same_bits(first[:rows], outcome.returned[:rows]).all()):
                differing.append(m)
    if not differing:
        return Judgement("passed", detail=f"rows are the same for M = {_listed(tried)}", holds=True)
    detail = f"rows of M = {trial.problem.m} differ for M = {_listed(differing)}"
    if trial.assignment.backend.capabilities.get(INVARIANCE):
        return failed("results-differ", detail)
    return Judgement("passed", detail=detail, holds=False)


def _with_rows(trial: Trial, m: int) -> Trial:
    """The same weight and the same first rows, cut or repeated to ``m``."""
    own, assignment = trial.operands, trial.assignment
    rows = torch.arange(m, device=trial.device) % trial.problem.m
    a = own.A.view(torch.uint8)[rows].view(own.A.dtype)
    problem = replace(trial.problem, m=m)
    case = replace(assignment.case, problem=problem)
    operands = Operands(a, own.B, own.As[rows], own.Bs, f"{m} rows of {own.digest}")
    return Trial(Assignment.of(case, assignment.backend, assignment.platform), Evidence(problem, operands))


def _listed(sizes: list[int]) -> str:
    return ", ".join(map(str, sizes))


def compiled(trial: Trial, first: Tensor) -> Judgement:
    """Under torch.compile: the eager bits, other right ones, or a refusal."""
    return _compiled(trial, first, None)


def compiled_autotune(trial: Trial, first: Tensor) -> Judgement:
    """The same with max-autotune."""
    return _compiled(trial, first, "max-autotune-no-cudagraphs")


def _compiled(trial: Trial, first: Tensor, mode: str | None) -> Judgement:
    missing = _toolchain_lacks(trial.device)
    if missing:
        return Judgement("unsupported", f"torch.compile needs {missing} here")
    backend, problem, presented = trial.assignment.backend, trial.problem, present_as(trial)

    def product(A: Tensor, B: Tensor, As: Tensor, Bs: Tensor) -> object:
        return backend.apply((A, B, As, Bs), problem)

    torch._dynamo.reset()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        outcome = watch(
            lambda: torch.compile(product, dynamic=False, mode=mode)(*presented.tensors), presented, problem
        )
    torch._dynamo.reset()
    if outcome.raised is not None or outcome.damage:
        judgement = trial.judge(outcome)
        return replace(judgement, detail=f"compiled: {judgement.detail}")
    return agree(trial, first, [outcome.returned], "compiled")


def _toolchain_lacks(device: torch.device) -> str | None:
    if device.type == "cuda":
        return None if importlib.util.find_spec("triton") else "Triton"
    return None if shutil.which(os.environ.get("CXX", "g++")) or shutil.which("clang++") else "a C++ compiler"
