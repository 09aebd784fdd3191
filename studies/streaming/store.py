"""A session in a file, to go on with another day.

The file is an ``.npz`` whose arrays need no pickle, but for the model, which is one. It is read
by an unpickler that makes nothing but forestprune's own forgetful models, arrays and numpy's
random generators; a file that asks for anything else is refused.
"""

from __future__ import annotations

import io
import json
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from formulations import InvalidInput
from studies.streaming.session import Session, Settings
from studies.streams.columns import Codes, Columns
from studies.streams.csv_rows import Cells

_FORMAT = 1

# By name: a module also holds what it imports, and that holds everything.
_OWN = frozenset(
    {
        ("forestprune.forgetful.engine", "Engine"),
        ("forestprune.forgetful.forest", "ForgetfulForestClassifier"),
        ("forestprune.forgetful.forest", "ForgetfulForestRegressor"),
        ("forestprune.forgetful.history", "History"),
        ("forestprune.forgetful.labels", "Labels"),
        ("forestprune.forgetful.model", "ForgetfulTrees"),
        ("forestprune.forgetful.settings", "Settings"),
        ("forestprune.forgetful.stale", "StaleTrees"),
        ("forestprune.forgetful.tree", "ForgetfulTreeClassifier"),
        ("forestprune.forgetful.tree", "ForgetfulTreeRegressor"),
    }
)
_OTHERS = frozenset(
    {
        ("builtins", "bytearray"),
        ("builtins", "slice"),
        ("collections", "OrderedDict"),
        ("collections", "deque"),
        ("numpy", "dtype"),
        ("numpy", "ndarray"),
        ("numpy._core.multiarray", "_reconstruct"),
        ("numpy._core.multiarray", "scalar"),
        ("numpy._core.numeric", "_frombuffer"),
        ("numpy.random._generator", "Generator"),
        ("numpy.random._mt19937", "MT19937"),
        ("numpy.random._pcg64", "PCG64"),
        ("numpy.random._pickle", "__bit_generator_ctor"),
        ("numpy.random._pickle", "__generator_ctor"),
        ("numpy.random._pickle", "__randomstate_ctor"),
        ("numpy.random.bit_generator", "SeedSequence"),
        ("numpy.random.bit_generator", "__pyx_unpickle_SeedSequence"),
    }
)


class _OwnModels(pickle.Unpickler):
    """Makes nothing but our own models and what they hold."""

    def find_class(self, module: str, name: str) -> Any:
        """Return a class that a model may hold."""
        if (module, name) in _OTHERS or (module, name) in _OWN:
            return super().find_class(module, name)
        raise pickle.UnpicklingError(f"it asks for {module}.{name}")


def save_session(session: Session, path: Path, source: str, tail: Cells) -> None:
    """Write a session to a file; one that is there is replaced when all is written.

    Parameters
    ----------
    source
        Where its rows come from, to know the same stream again.
    tail
        Rows that have been read and not been predicted.
    """
    plain = {
        "format": _FORMAT,
        "settings": session.settings.as_dict(),
        "columns": session.columns.as_dict(),
        "labels": session.labels.names,
        "draws": session.waiting.draws(),
        "naive": session.naive.as_dict(),
        "scores": {name: score.as_dict() for name, score in session.scores.items()},
        "counts": [session.rows, session.left_out, session.learnt],
        "source": source,
        "source_rows": session.source_rows,
        "tail": tail,
    }
    model = np.frombuffer(pickle.dumps(session.model, pickle.HIGHEST_PROTOCOL), dtype=np.uint8)
    waiting = {f"waiting_{name}": array for name, array in session.waiting.arrays().items()}
    place = path.resolve()  # of a link the file that it leads to is replaced
    if place.exists() and not place.is_file():
        raise InvalidInput(f"cannot save to {str(path)!r}: it is there and is no file")
    part = place.with_name(f"{place.name}.part")
    try:
        with part.open("wb") as file:
            np.savez(file, session=np.array(json.dumps(plain)), model=model, **waiting)
        part.replace(place)
    except OSError as error:
        raise InvalidInput(f"cannot save to {str(path)!r}: {error.strerror or error}") from None


def load_session(path: Path) -> tuple[Session, str, Cells]:
    """Return a session, where its rows came from, and the rows that it had read ahead.

    Raises
    ------
    InvalidInput
        When the file is not there, or not one of `save_session`.
    """
    try:
        # Opened here: numpy leaves a file open that is none of its own.
        with path.open("rb") as opened, np.load(opened, allow_pickle=False) as file:
            found = {name: file[name] for name in file.files}
        plain = json.loads(str(found["session"]))
        if plain["format"] != _FORMAT:
            raise InvalidInput(
                f"{str(path)!r} was saved in format {plain['format']}; this version reads {_FORMAT}"
            )
        return _restored(plain, found), plain["source"], plain["tail"]
    except FileNotFoundError:
        raise InvalidInput(f"there is no saved model {str(path)!r}") from None
    except pickle.UnpicklingError as error:
        raise InvalidInput(f"the model in {str(path)!r} is not one of ours: {error}") from None
    except InvalidInput:
        raise
    # A file that is not one of ours may fail anywhere between its first byte and its model.
    except Exception:
        raise InvalidInput(f"{str(path)!r} is not a model saved by forestprune stream") from None


def _restored(plain: dict[str, Any], found: dict[str, Any]) -> Session:
    session = Session(Settings.from_dict(plain["settings"]), Columns.from_dict(plain["columns"]))
    model, known = _model(found["model"]), type(session.model)
    if type(model) is not known:
        raise InvalidInput(f"the model must be a {known.__name__}, not a {type(model).__name__}")
    session.model = model
    session.labels = Codes({name: k for k, name in enumerate(plain["labels"])})
    waiting = {name: found[f"waiting_{name}"] for name in session.waiting.arrays()}
    session.waiting.restore(waiting, plain["draws"])
    session.naive.restore(plain["naive"])
    for name, score in session.scores.items():
        score.restore(plain["scores"][name])
    session.rows, session.left_out, session.learnt = plain["counts"]
    session.source_rows = plain["source_rows"]
    return session


def _model(data: npt.NDArray[np.uint8]) -> Any:
    return _OwnModels(io.BytesIO(data.tobytes())).load()
