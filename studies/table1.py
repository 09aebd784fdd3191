"""The study behind the ForestPrune paper's Table 1: how long solvers take (FP §4)."""

from __future__ import annotations

from studies.spec import Call, Size, Study

_SOLVERS = (
    Call("cbcd"),
    Call("cbcd[local_search=False]"),
    Call("cbcd", task="path"),
    Call("relaxation"),
    Call("clarabel"),
    Call("ecos"),
)

TABLE1 = Study(
    name="table1",
    title="Layer pruning, Problem (1): time, objective and proven gap of each solver",
    sizes={
        "small": Size(
            grid=((300, 20), (1000, 20)),
            calls=_SOLVERS,
            others="smallest",
            repeats=2,
            time_limit=20.0,
        ),
        "medium": Size(
            grid=((1145, 100), (15437, 100), (50164, 100)),
            calls=(
                *_SOLVERS,
                Call("clarabel[form=rows]", scope="smallest"),
                Call("ecos[form=rows]", scope="smallest"),
            ),
            others="smallest",
            repeats=5,
            time_limit=20.0,
        ),
        "full": Size(
            grid=tuple(
                (rows, trees) for trees in (100, 500, 1000) for rows in (1145, 15437, 50164)
            ),
            calls=(
                *_SOLVERS,
                Call("clarabel[form=rows]"),
                Call("ecos[form=rows]"),
                Call("clarabel", task="path", scope="smallest"),
                Call("ecos", task="path", scope="smallest"),
                Call("ecos[form=rows]", task="path", scope="smallest"),
            ),
            others="every",
            repeats=5,
            time_limit=300.0,
        ),
    },
    left_out={"brute_force": "for problems of a few trees"},
)
