"""Count what a reader has to hold, and compare it with the counts that were kept.

``python tests/house.py`` prints the counts, and fails where one is worse than in `house.json` by
more than 2 %. ``--keep`` keeps them: a commit that makes one worse does, and says what that buys.
"""

import ast
import io
import json
import sys
import tokenize
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).parents[1]
KEPT = Path(__file__).with_name("house.json")
TOLERANCE = 0.02
LONG = 60  # lines of code
BETTER_IF_MORE = ("comments in 100 lines",)
LAYOUT = {tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER}
FUNCTION = (ast.FunctionDef, ast.AsyncFunctionDef)


def lines_of(source):
    """Find the lines of code, those of docstrings, and the number of comments for a reader."""
    docstrings, code, n_comments = set(), set(), 0
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, (ast.Module, ast.ClassDef, *FUNCTION)) and ast.get_docstring(node):
            docstrings |= set(range(node.body[0].lineno, node.body[0].end_lineno + 1))
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.COMMENT:
            n_comments += not token.string.startswith(("# fmt", "# type", "# noqa"))
        elif token.type not in LAYOUT:
            code |= set(range(token.start[0], token.end[0] + 1))
    return code - docstrings, docstrings, n_comments


def count(*folders):
    """Count all files of some folders."""
    total = Counter()
    for file in (file for folder in folders for file in (ROOT / folder).rglob("*.py")):
        source = file.read_text("utf-8")
        code, docstrings, n_comments = lines_of(source)
        nodes = list(ast.walk(ast.parse(source)))
        uses = Counter(node.id for node in nodes if isinstance(node, ast.Name))
        uses += Counter(node.attr for node in nodes if isinstance(node, ast.Attribute))
        total += Counter(files=1, code=len(code), docstrings=len(docstrings), comments=n_comments)
        for function in (node for node in nodes if isinstance(node, FUNCTION)):
            name, lines = function.name, range(function.lineno, function.end_lineno + 1)
            total["functions"] += 1
            total["long"] += len(code & set(lines)) > LONG
            # A helper that is used once is better read where it is used.
            is_private = name.startswith("_") and not name.startswith("__")
            total["once"] += is_private and uses[name] == 1
    return total


def counts():
    ours, tests = count("replay", "analyses"), count("tests")
    return {
        "code": ours["code"],
        "docstrings": ours["docstrings"],
        "files": ours["files"],
        "functions used once, of 100": round(100 * ours["once"] / ours["functions"], 1),
        "comments in 100 lines": round(100 * ours["comments"] / ours["code"], 1),
        f"functions of more than {LONG} lines": ours["long"],
        "code of tests": tests["code"],
        "files of tests": tests["files"],
    }


def main():
    found = counts()
    if "--keep" in sys.argv:
        KEPT.write_text(json.dumps(found, indent=2) + "\n", "utf-8")
    kept = json.loads(KEPT.read_text("utf-8"))
    worse = []
    for name, number in found.items():
        growth = -1 if name in BETTER_IF_MORE else 1
        is_worse = growth * (number - kept[name]) > TOLERANCE * kept[name]
        worse += [name] * is_worse
        print(f"{name:32}{number:>8,}{kept[name]:>10,} kept{'  WORSE' * is_worse}")
    if worse:
        raise SystemExit(f"The house is worse in: {', '.join(worse)}; see tests/house.py.")


if __name__ == "__main__":
    main()
