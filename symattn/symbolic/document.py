"""The derivation as a document: its parts in order, for any format."""

from __future__ import annotations

from symattn.symbolic.derivation import Chapter, Derivation, Step
from symattn.symbolic.formats import Format
from symattn.symbolic.latex import formula

TITLE = "From the model to the equations that are solved"

PREFACE = """Written by `symattn derive` for {size}. Every equation below was
made by sympy from the model's definitions, and checked by machine in the way stated beside it, by a
route that does not use the equation; `symattn derive` refuses to write this document if a check
fails.

Chapters 1 to 5 go from the definition of the model to its training loss as an extremum over a few
numbers, by the replica method: average over the data, replica symmetry, no replicas, zero
temperature. Chapters 6 to 9 take the extremum, and the others say what follows from it. Three
steps are not mathematics, and are marked as postulates: the replica-symmetric ansatz, the limit of
no replicas, and the order of the limits at zero temperature. They are checked by their
consequences, in cases where those are known without replicas.

The method is that of M. Mézard, G. Parisi and M. A. Virasoro, *Spin Glass Theory and Beyond*
(1987); a student with several hidden directions is treated in B. Aubin et al., *The committee
machine: Computational to statistical gaps in learning a two-layers neural network* (2018). The
model is from H. Cui, F. Behrens, F. Krzakala and L. Zdeborová, *A phase transition between
positional and semantic learning in a solvable model of dot-product attention* (2024,
arXiv:2402.03902)."""

DEFINITIONS = (
    (r"$L$, $d$", "number of tokens, their dimension"),
    (r"$r$, $t$", r"number of columns of the student's $Q$ and of the target's $Q^\star$"),
    (r"$\alpha$", "number of samples over $d$; both grow at fixed $\alpha$"),
    (r"$\sigma$, $\lambda$", "scale of the data, ridge penalty"),
    (r"$\omega$, $A$", "positional share of the target, its matrix of rows that sum to 1"),
    (
        "risk",
        r"$\sum\lvert y - f_Q\rvert^2/(2d) + \lambda\lvert Q\rvert^2/2$ over the samples, with "
        r"$y = T z$ and $f_Q = S\,(z + p)$",
    ),
    (
        r"$z_l$, $p_l$",
        r"a token, with components of variance $\sigma^2$; its positional encoding",
    ),
    (r"$\epsilon_t$, $\epsilon_g$", "training loss, the least risk over $d$; test error"),
    (r"$x_l$, $h^\star_l$", "local fields of student and target at token $l$"),
    (r"$w_l$", "the student's field before it is trained on the sample at hand"),
    (r"$S[x]$, $T[h^\star]$", "attention weights of student and target"),
    (r"$\ell(x)$", "loss of a sample per dimension"),
    (r"$Z$, $\beta$, $n$", "partition function, inverse temperature, number of replicas"),
    (r"$\Phi_n$", r"$\ln\mathbb{E}[Z^n]/d$, before the extremum over overlaps"),
    (r"$\mathcal{Z}(w)$", "partition function of one sample for one replica"),
    (r"$M(w)$, $x^\star$", "Moreau envelope and prox: minimum and minimiser of the energy"),
    (r"$g$", r"$V^{-1}(x^\star - w)$, minus the gradient of the loss at the prox"),
    (r"$q$, $\theta$", r"overlaps $Q^\top\Sigma Q/d$ and $Q^\top\Sigma Q^\star/d$"),
    (r"$\rho$", r"$Q^{\star\top}\Sigma Q^\star/d = \sigma^2 I$"),
    (r"$m_l$", r"positional overlaps $p_l\cdot Q/\sqrt d$"),
    (r"$\chi$, $V$", r"what $q$ of a replica has beyond $q$ of two; response $V = \beta\chi$"),
    (r"$N$", r"the normal density of $w$ given $h^\star$"),
    (r"$\tilde q$, $\tilde m_l$, $\tilde\chi$, $\tilde\theta$", "conjugates of the overlaps"),
    (
        r"$\hat q$, $\hat m_l$, $\hat V$, $\hat\theta$",
        "conjugates scaled with $\\beta$ as in (4.1): hats",
    ),
    (r"$G_{lk}$", r"$p_l\cdot p_k$, products of the positional encodings"),
    (r"$\varsigma(z)$", "$1/(1+e^{-z})$, the logistic function"),
)

ROTATED = (
    (r"$u$, $v$", r"rotated field, $u = (x_1-x_2)/\sqrt2$ and $v = (x_1+x_2)/\sqrt2$"),
    (r"$a$, $b$; $u^\star$, $v^\star$", r"rotated components of $w$; of $h^\star$"),
    (r"$m$, $\hat m$", r"$m_1 = -m_2$ as $p_1 = -p_2$; $\hat m_1 - \hat m_2$"),
)


def written(derivation: Derivation, form: Format) -> str:
    """The document in a format."""
    size = derivation.size
    shown = f"$L = {size.length}$, $r = {size.student_rank}$, $t = {size.target_rank}$"
    parts = [
        form.prose(PREFACE.format(size=shown)),
        form.section("Definitions"),
        form.table(("symbol", "meaning"), DEFINITIONS + (ROTATED if size.is_rotated else ())),
    ]
    for number, chapter in enumerate(derivation.chapters, start=1):
        parts += _chapter(chapter, number, form)
    return form.document(TITLE, parts)


def _chapter(chapter: Chapter, number: int, form: Format) -> list[str]:
    parts = [form.chapter(chapter.title, str(number)), form.prose(chapter.introduction)]
    for place, step in enumerate(chapter.steps, start=1):
        parts += _step(step, f"{number}.{place}", form)
    return parts


def _step(step: Step, label: str, form: Format) -> list[str]:
    origin = " (postulate)" if step.postulate else ""
    notes = [f"*Why:* {step.reason}"]
    notes += [f"*Assumes:* {assumption}" for assumption in step.assumptions]
    notes.append(f"*Checked:* {step.check.method}")
    return [
        form.step(f"{step.title}{origin}", label),
        form.prose(step.statement),
        form.equations([(x.left, formula(x.right)) for x in step.equations], label),
        form.items(notes),
    ]
