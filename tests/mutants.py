"""Change one operator or constant at a time, and see whether the tests notice.

``python tests/mutants.py [--sample N] [--seed N] [module or folder ...]``

Each mutant is a copy of the tree with one change, drawn at random: a comparison, an operator, a
constant, ``and`` or ``or``, or a ``not`` that is left out. The tests that are most about its module
run until one fails: as plain Python if the module has compiled functions, which would be compiled
anew each time. Files that take minutes are left out. Mutants that survive are listed, and the exit
status is 1, unless ``equivalent_mutants.json`` says why the change makes no difference. Tests that
fail without any change, because they need compiled code, are left out.
"""

import argparse
import ast
import copy
import json
import os
import random
import resource
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[1]
EQUIVALENT = Path(__file__).with_name("equivalent_mutants.json")
MODULES = ("analyses/sequences", "analyses/measures", "analyses/findings/evidence.py")
MODULES += ("analyses/recordings/prepare", "analyses/intervals.py")
MODULES += ("analyses/recordings/decide", "analyses/recordings/recover", "analyses/jobs")
MODULES += ("replay/tasks/runs.py", "replay/learners")
SWAPS: dict[type[ast.AST], type[ast.AST]] = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Add,
    ast.Div: ast.Mult,
    ast.FloorDiv: ast.Mult,
    ast.Mod: ast.Mult,
    ast.BitAnd: ast.BitOr,
    ast.BitOr: ast.BitAnd,
    ast.And: ast.Or,
    ast.Or: ast.And,
}
MOST_SECONDS = 100.0  # of the processor, for a file of tests; longer ones are left out
MOST_FILES = 6  # of tests, for one module, besides its examples
EVERYTHING = ("test_malformed", "test_columns")  # these are about no module in particular


class Mutant(NamedTuple):
    """One change: the `old` lines in a function of a module, what they become, and all of it."""

    module: str
    where: str
    old: str
    new: str
    source: str

    @property
    def key(self) -> str:
        """What identifies it in the list of those that make no difference."""
        return f"{self.module} {self.where}: {self.old}  ->  {self.new}"


class Test(NamedTuple):
    """A file of tests, and whether it runs as plain Python."""

    file: str
    is_plain: bool


def mutants(module: str) -> Iterator[Mutant]:
    """List all mutants of a module."""
    source = (ROOT / module).read_text(encoding="utf-8")
    tree = ast.parse(source)
    for where, node in places(tree, ""):
        for changed in changes(node):
            new = ast.unparse(changed)
            if ast.unparse(node) == new or node.end_lineno is None or node.end_col_offset is None:
                continue
            if isinstance(node, ast.BinOp | ast.Compare | ast.BoolOp | ast.UnaryOp):
                new = f"({new})"
            lines = source.encode().splitlines(keepends=True)
            first, last = lines[node.lineno - 1], lines[node.end_lineno - 1]
            line = first[: node.col_offset] + new.encode() + last[node.end_col_offset :]
            old = b"".join(lines[node.lineno - 1 : node.end_lineno])
            text = [*lines[: node.lineno - 1], line, *lines[node.end_lineno :]]
            shown = (" ".join(part.decode().split()) for part in (old, line))
            yield Mutant(module, where, *shown, b"".join(text).decode())


def places(node: ast.AST, where: str) -> Iterator[tuple[str, ast.expr]]:
    """List the expressions in functions that run, and the functions they stand in."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.If) and "TYPE_CHECKING" in ast.unparse(child.test):
            continue
        if isinstance(child, ast.FunctionDef | ast.ClassDef):
            inner = f"{where}.{child.name}".lstrip(".")
            for part in child.body:
                yield from places(ast.Module([part], []), inner)
        elif isinstance(child, ast.Raise | ast.AnnAssign | ast.JoinedStr):
            if isinstance(child, ast.AnnAssign) and child.value is not None:
                yield from places(ast.Module([ast.Expr(child.value)], []), where)
        else:
            if where and isinstance(child, ast.expr):
                yield where, child
            yield from places(child, where)


def changes(node: ast.expr) -> Iterator[ast.expr]:
    """Make the changes of one expression."""
    if isinstance(node, ast.Compare):
        for place, operator in enumerate(node.ops):
            if type(operator) in SWAPS:
                changed = copy.deepcopy(node)
                changed.ops[place] = SWAPS[type(operator)]()  # type: ignore[call-overload]
                yield changed
    elif isinstance(node, ast.BinOp | ast.BoolOp) and type(node.op) in SWAPS:
        changed_op = copy.deepcopy(node)
        changed_op.op = SWAPS[type(node.op)]()  # type: ignore[assignment]
        yield changed_op
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        yield node.operand
    elif isinstance(node, ast.Constant) and isinstance(node.value, bool):
        yield ast.Constant(not node.value)
    elif isinstance(node, ast.Constant) and isinstance(node.value, int | float):
        yield ast.Constant(node.value + 1)


def tests_of(module: str, function: str) -> list[str]:
    """Find the tests that are most about a module.

    Its examples come first, then the tests of its name, then those that import it, then those that
    import what imports it, have the name of that, or name it, if it is a learner. Of these, those
    that name the function come first, then those of the name of an importer, then those that name
    the learner most often, then those that import the least, which are about little else.
    """
    path = Path(module.removesuffix(".py").removesuffix("/__init__"))
    name, own = ".".join(path.parts), ROOT / "tests" / f"test_{path.name}.py"
    users = [user.relative_to(ROOT) for user in importers(name, path.parts[0])]
    names = {".".join(user.with_suffix("").parts).removesuffix(".__init__") for user in users}
    direct, names = importers(name, "tests"), names | {name}
    learners = {f'"{each.split(".")[2]}"' for each in names if each.startswith("replay.learners.")}
    found = containing(learners, "tests").union(*(importers(each, "tests") for each in names))
    of_the_name = {own.with_name(f"test_{each.rpartition('.')[2]}.py") for each in names}
    found |= {path for path in of_the_name if path.exists()}

    def about_others(path: Path) -> tuple[bool, bool, bool, bool, int, int, str]:
        text = path.read_text("utf-8")
        is_far = path != own, path not in direct, function not in text
        n_named = sum(map(text.count, learners))
        others = path not in of_the_name, -n_named, text.count("\nfrom "), path.name
        return *is_far, *others

    ordered = sorted({path for path in found if path.stem not in EVERYTHING}, key=about_others)
    return [module, *(path.relative_to(ROOT).as_posix() for path in ordered[:MOST_FILES])]


def importers(name: str, folder: str) -> set[Path]:
    """Find the files below a folder that import a module."""
    return containing({f"from {name} import", f"import {name}\n"}, folder)


def containing(wanted: set[str], folder: str) -> set[Path]:
    """Find the files below a folder, or of tests, that contain one of some texts."""
    files = (ROOT / folder).glob("test_*.py" if folder == "tests" else "**/*.py")
    return {path for path in files if any(text in path.read_text("utf-8") for text in wanted)}


def run_tests(tree: Path, test: Test, seconds: float, *options: str) -> tuple[int, str]:
    """Run tests; the exit status is negative if they need more processor time."""
    command = [sys.executable, "-m", "pytest", "-q", "-n0", "-p", "no:cacheprovider", *options]
    variables = {"PYTHONPATH": str(tree), "PYTHONDONTWRITEBYTECODE": "1"}
    variables["NUMBA_DISABLE_JIT"] = str(int(test.is_plain))
    limit = (round(seconds) + 1,) * 2
    try:
        done = subprocess.run(
            [*command, test.file],
            cwd=tree,
            env=os.environ | variables,
            capture_output=True,
            text=True,
            timeout=20 * seconds,  # if they wait
            preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_CPU, limit),
        )
    except subprocess.TimeoutExpired:
        return -1, ""
    return done.returncode, done.stdout


def without_change(tree: Path, test: Test) -> tuple[float, list[str]]:
    """Time a file of tests, and list those that fail without any change."""
    if not test.is_plain:
        run_tests(tree, test, 3 * MOST_SECONDS)  # compiles what is not changed
    begin = resource.getrusage(resource.RUSAGE_CHILDREN)
    status, output = run_tests(tree, test, MOST_SECONDS, "--tb=no", "-rf")
    end = resource.getrusage(resource.RUSAGE_CHILDREN)
    seconds = end.ru_utime - begin.ru_utime + end.ru_stime - begin.ru_stime
    failed = [line.split()[1] for line in output.split("\n") if line.startswith("FAILED")]
    return (float("inf") if status < 0 else seconds), failed


def is_noticed(
    tree: Path, mutant: Mutant, known: dict[Test, tuple[float, list[str]]]
) -> bool | None:
    """Whether a test fails in the copy of the tree once a mutant is in it; None: none is short."""
    path = tree / mutant.module
    original = path.read_text(encoding="utf-8")
    found: bool | None = None
    for file in tests_of(mutant.module, mutant.where.rpartition(".")[2]):
        test = Test(file, "from replay.jit import" in original)
        if test not in known:
            known[test] = without_change(tree, test)
        seconds, failing = known[test]
        if seconds > MOST_SECONDS:
            continue
        path.write_text(mutant.source, encoding="utf-8")
        left_out = [f"--deselect={test}" for test in failing]
        longest = 3 * seconds + (10 if test.is_plain else MOST_SECONDS)  # to compile anew
        status, _ = run_tests(tree, test, longest, "-x", *left_out)
        path.write_text(original, encoding="utf-8")
        found = found if status == 5 else status != 0  # 5: no test is left
        if found:
            break
    return found


def main() -> int:
    """Draw mutants, try the tests on each, and list the survivors."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("modules", nargs="*", default=MODULES)
    parser.add_argument("--sample", type=int, default=40)
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    files = [path for name in arguments.modules for path in sorted((ROOT / name).rglob("*.py"))]
    files += [ROOT / name for name in arguments.modules if name.endswith(".py")]
    names = [path.relative_to(ROOT).as_posix() for path in files]
    drawn = [mutant for name in names for mutant in mutants(name)]
    drawn = random.Random(arguments.seed).sample(drawn, min(arguments.sample, len(drawn)))
    reasons = json.loads(EQUIVALENT.read_text(encoding="utf-8"))
    known: dict[Test, tuple[float, list[str]]] = {}
    survivors = []
    with tempfile.TemporaryDirectory() as folder:
        tree = Path(folder)
        tracked = subprocess.run(
            ["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True
        ).stdout.split()
        for name in tracked:
            if not name.startswith("figures/") and (ROOT / name).exists():
                (tree / name).parent.mkdir(parents=True, exist_ok=True)
                (tree / name).write_bytes((ROOT / name).read_bytes())
        for number, mutant in enumerate(drawn, 1):
            if mutant.key in reasons:
                print(f"{number} no difference {mutant.key}", flush=True)
                continue
            is_killed = is_noticed(tree, mutant, known)
            survivors += [mutant] if is_killed is False else []
            what = {True: "killed", False: "SURVIVES", None: "has no test that is short enough:"}
            print(f"{number} {what[is_killed]} {mutant.key}", flush=True)
    print(f"{len(survivors)} of {len(drawn)} survive")
    for mutant in survivors:
        print(mutant.key)
    return int(bool(survivors))


if __name__ == "__main__":
    sys.exit(main())
