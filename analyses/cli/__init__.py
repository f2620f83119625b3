"""The command ``replay``: reproduce the paper, list what there is, classify a log, draw figures."""

import errno
import inspect
import re
import sys
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from analyses.cli.compare import compare
from analyses.cli.terminal import print_table, progress_bars, screen, split

if TYPE_CHECKING:
    import pandas as pd

    from analyses.jobs.measurements import Measurement
    from analyses.studies.brea_2018.cost import Cost

__all__ = ["main"]

app = typer.Typer(
    help="What does the hippocampus replay, and which learning algorithm would replay that?",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


app.command()(compare)


def main() -> None:
    """Run the command; an error of the user's is one sentence, not a traceback."""
    try:
        app()
    except (ValueError, TypeError, OSError, ImportError) as error:
        message = str(error)
        if isinstance(error, OSError) and error.errno == errno.ENOSPC:
            message = "The disk is full. Make room and run the same command again: it goes on from "
            message += f"what is finished. ({error})"
        screen.print("[bold red]Error:[/] ", end="")
        screen.print(message, markup=False)
        sys.exit(1)


@app.command()
def reproduce(
    experiment: Annotated[
        list[str], typer.Option(help="Which experiment; several times, or with commas.")
    ] = [],  # noqa: B006
    learner: Annotated[
        list[str], typer.Option(help="Which learner; several times, or with commas.")
    ] = [],  # noqa: B006
    mdps: Annotated[int | None, typer.Option(help="Worlds of each experiment.")] = None,
    seeds: Annotated[int | None, typer.Option(help="Runs of each learner in a world.")] = None,
    steps: Annotated[
        str | None, typer.Option(help="Steps of a run: 100000, or maze=100000,... by experiment.")
    ] = None,
    full: Annotated[bool, typer.Option("--full", help="The paper's own sizes.")] = False,
    seed: Annotated[int, typer.Option(help="Seed of everything.")] = 0,
    jobs: Annotated[int | None, typer.Option(help="Processes; by default one a core.")] = None,
    cluster: Annotated[
        str | None, typer.Option(help="A Dask scheduler whose workers do it: tcp://host:port.")
    ] = None,
    log: Annotated[
        str, typer.Option(help="replay: log and classify it; all: online updates too; none.")
    ] = "replay",
    keep_logs: Annotated[
        int, typer.Option(help="Of how many runs of each learner the whole log is kept.")
    ] = 1,
    variant: Annotated[
        str,
        typer.Option(
            help="published: the code where it differs from the paper; text: the paper; fixed: the "
            "code with a corrected queue; or discrepancies, such as D1 or D1+D2."
        ),
    ] = "published",
    out: Annotated[Path, typer.Option(help="The folder for the results.")] = Path("results"),
) -> None:
    """Simulate the paper's experiments, classify what is replayed, and draw the figures.

    Without options: all four experiments and all nine learners, in about a minute. The same command
    goes on where it was interrupted.
    """
    import joblib

    from analyses.studies.brea_2018.plan import Plan
    from analyses.studies.brea_2018.reproduce import reproduce as run

    _check_workers(jobs, cluster)
    plan = Plan.make(
        split(experiment),
        split(learner),
        n_mdps=mdps,
        n_seeds=seeds,
        n_steps=_steps(steps),
        full=full,
        seed=seed,
        log=log,
        keep_logs=keep_logs,
        variant=variant,
    )
    n_jobs = jobs or joblib.cpu_count()
    where = f"on {cluster}" if cluster else f"with {n_jobs} process{'es' * (n_jobs > 1)}"
    screen.print(
        f"{plan.n_runs:,} runs of {len(plan.learners)} learners, {plan.total_steps / 1e6:,.1f} "
        f"million steps, {where}, into {out}. The first time, learners are compiled (about 20 s)."
    )
    with progress_bars() as progress:
        bars = {
            name: progress.add_task(name, total=plan.n_mdps[name] * plan.piece_steps(name))
            for name in plan.experiments
        }
        tell = partial(progress.console.print, markup=False)
        try:
            results = run(
                plan,
                out,
                jobs=n_jobs,
                cluster=cluster,
                on_cost=lambda cost: _tell_cost(cost, None if cluster else n_jobs, tell),
                on_piece=lambda name, n_steps: progress.advance(bars[name], n_steps),
                tell=tell,
            )
        except KeyboardInterrupt:
            progress.stop()
            screen.print("Interrupted. The same command goes on from what is finished.")
            raise typer.Exit(130) from None
    _show(results.folder, log)
    if not full:
        screen.print("The whole paper: replay reproduce --full --out full")


@app.command()
def discrepancies(
    folder: Annotated[
        Path, typer.Argument(help="What replay reproduce made; sizes and seed are taken from it.")
    ] = Path("results"),
    jobs: Annotated[int | None, typer.Option(help="Processes; by default one a core.")] = None,
    cluster: Annotated[
        str | None, typer.Option(help="A Dask scheduler whose workers do it: tcp://host:port.")
    ] = None,
) -> None:
    """Tell what each disagreement of the paper's text with its code does to the learning curves.

    The learners that the text describes act in the same worlds, one discrepancy at a time and all
    together. The same command goes on where it was interrupted.
    """
    import joblib

    from analyses.studies.discrepancies import compare_discrepancies, plan_variants
    from replay.experiments import DISCREPANCIES

    _check_workers(jobs, cluster)
    plans = plan_variants(folder)
    with progress_bars() as progress:
        bars = {name: progress.add_task(name, total=plans[name].total_steps) for name in plans}
        try:
            differences = compare_discrepancies(
                folder,
                jobs=jobs or joblib.cpu_count(),
                cluster=cluster,
                on_piece=lambda name, n_steps: progress.advance(bars[name], n_steps),
            )
        except KeyboardInterrupt:
            progress.stop()
            screen.print("Interrupted. The same command goes on from what is finished.")
            raise typer.Exit(130) from None
    print_table(
        ("discrepancy", "the text, against the code"),
        [(name, discrepancy.what) for name, discrepancy in DISCREPANCIES.items()],
    )
    screen.print("\n[bold]Normalised reward rate[/], text minus code, mean over a run")
    whole = differences[differences["period"] == "whole"]
    whole = whole.assign(learner=whole["discrepancy"] + " " + whole["learner"])
    half_width = (whole["ci_high"] - whole["ci_low"]) / 2
    whole["shown"] = [
        f"{mean:+.3f} ± {width:.3f}" if width == width else f"{mean:+.3f}"
        for mean, width in zip(whole["difference"], half_width, strict=True)
    ]
    _print_by_experiment(whole)
    screen.print(f"\nTables and figures are in {folder}", markup=False)


@app.command()
def study(
    name: Annotated[str | None, typer.Argument(help="Which; without it, all are listed.")] = None,
    out: Annotated[
        Path | None, typer.Option(help="The folder for table and figure; by default NAME.")
    ] = None,
    size: Annotated[float, typer.Option(help="Animals or worlds, times the usual number.")] = 1.0,
    seed: Annotated[int, typer.Option(help="Seed of everything.")] = 0,
    jobs: Annotated[int | None, typer.Option(help="Processes; by default one a core.")] = None,
) -> None:
    """Make one of the studies beyond the paper: a table and its figure.

    At full size that takes a few minutes. The same command goes on where it was interrupted.
    """
    from analyses.studies.catalogue import STUDIES, plan_study

    if name is None:
        print_table(("study", "question"), [(key, it.question) for key, it in STUDIES.items()])
        return
    folder = out or Path(name)
    tables = _keep(name, folder, {"size": size, "seed": seed}, plan_study(name, size, seed), jobs)
    shown = STUDIES[name].show(tables[name])
    rows = [tuple(_shown(value) for value in row) for row in shown.itertuples(index=False)]
    print_table(tuple(shown.columns), rows)
    screen.print(f"The table and its figure are in {folder}", markup=False)


def _keep(
    name: str, folder: Path, about: dict[str, Any], measurement: "Measurement", jobs: int | None
) -> "Mapping[str, pd.DataFrame]":
    """Make the tables of a measurement, and tell how far it is."""
    import joblib

    from analyses.studies.catalogue import keep_tables

    _check_workers(jobs, None)
    with progress_bars() as progress:
        bar = progress.add_task(name, total=len(measurement.pieces))
        try:
            tables, _ = keep_tables(
                name,
                folder,
                about,
                measurement,
                jobs=jobs or joblib.cpu_count(),
                on_piece=lambda: progress.advance(bar),
            )
        except KeyboardInterrupt:
            progress.stop()
            screen.print("Interrupted. The same command goes on from what is finished.")
            raise typer.Exit(130) from None
    return tables


@app.command()
def change(
    world: Annotated[str, typer.Option(help="Which world; an unknown name lists them.")],
    learner: Annotated[
        list[str],
        typer.Option(
            help="Which learner; several times, or with commas. Parameters follow the name: "
            "'prioritized_sweeping forgetting=0.5'."
        ),
    ] = ["prioritized_sweeping", "dyna_q"],  # noqa: B006
    mdps: Annotated[int, typer.Option(help="How many worlds are drawn.")] = 10,
    seeds: Annotated[int, typer.Option(help="Runs of each learner in a world.")] = 4,
    steps: Annotated[int | None, typer.Option(help="Steps of each phase.")] = None,
    rest: Annotated[int, typer.Option(help="Pauses of rest after each phase.")] = 0,
    seed: Annotated[int, typer.Option(help="Seed of everything.")] = 0,
    jobs: Annotated[int | None, typer.Option(help="Processes; by default one a core.")] = None,
    out: Annotated[Path, typer.Option(help="The folder for the results.")] = Path("changes"),
) -> None:
    """Let learners act in a world that changes: reward rate, time to recover, and replay.

    The same command goes on where it was interrupted.
    """
    from analyses.studies.changes import find_learners, plan

    chosen = find_learners(split(learner))
    sizes: dict[str, Any] = {
        "n_mdps": mdps,
        "n_seeds": seeds,
        "n_steps": steps,
        "n_rest": rest,
        "seed": seed,
    }
    about = {"world": world, "learners": chosen, **sizes}
    tables = _keep("changes", out, about, plan(world, chosen, **sizes), jobs)
    screen.print("[bold]Normalised reward rate[/] (0 random, 1 optimal) and steps to recover")
    table = tables["change_recovery"]
    rows = list(
        zip(
            table["learner"],
            table["phase"].map(str),
            *(table[name].map("{:.2f}".format) for name in ("before", "first", "late")),
            table["median"].map("{:,.0f}".format).where(table["median"].notna(), "not"),
            table["share_recovered"].map("{:.0%}".format),
            strict=True,
        )
    )
    header = ("learner", "change", "before", "after", "late", "steps", "recovered")
    print_table(header, rows)
    screen.print(f"\nTables and the figure are in {out}", markup=False)


@app.command()
def learners(
    name: Annotated[
        str | None, typer.Argument(help="One of them: shows its parameters instead.")
    ] = None,
) -> None:
    """List the learners: what each stores, when it replays, and by which priority."""
    from replay.learners import LEARNERS, find_learner

    if name is not None:
        _print_parameters(name)
        return
    rows = []
    for learner in LEARNERS:
        told = find_learner(learner).description
        source = told.source.replace(", ", "\n")
        rows.append((learner, told.stores, told.pauses, told.priority, source))
    print_table(("learner", "stores", "replays at", "what is next", "source"), rows)
    screen.print(
        "\nsteps: after each; ends and starts: of episodes. Parameters: replay learners NAME"
    )


def _print_parameters(learner: str) -> None:
    """Print what a learner is, and its parameters in the textbook's form."""
    from replay.learners import find_learner

    found = find_learner(learner)
    meanings = _described(found.module.Params.__doc__ or "")
    rows = []
    for key, value in found.parameters.items():
        meaning = meanings.get(key, "")
        if key in found.choices:
            meaning = f"One of {', '.join(found.choices[key])}. {meaning}"
        rows.append((key, _plain(value), meaning))
    print((found.module.__doc__ or "").partition("\n")[0])
    print(f"Source: {found.description.source}\n")
    print_table(("parameter", "default", "what it is"), rows)


def _described(docstring: str) -> dict[str, str]:
    """Take the descriptions of attributes from a docstring in numpy's form."""
    meanings: dict[str, str] = {}
    names: list[str] = []
    for line in inspect.cleandoc(docstring).partition("Attributes\n")[2].splitlines():
        if match := re.fullmatch(r"([\w, ]+) : .*", line):
            names = match[1].split(", ")
        for name in names if line.startswith("    ") else ():
            meanings[name] = f"{meanings.get(name, '')} {line.strip()}".lstrip()
    return {name: re.sub(r"`+|:\w+:|\[\d\]_", "", text) for name, text in meanings.items()}


@app.command()
def demands(
    learner: Annotated[
        list[str], typer.Option(help="Which learner; several times, or with commas.")
    ] = [],  # noqa: B006
    mdps: Annotated[int, typer.Option(help="Worlds of each size.")] = 3,
    visits: Annotated[
        int, typer.Option(help="Steps of a run, for each pair of state and action.")
    ] = 5,
    seed: Annotated[int, typer.Option(help="Seed of everything.")] = 0,
    jobs: Annotated[int | None, typer.Option(help="Processes; by default one a core.")] = None,
    out: Annotated[Path, typer.Option(help="The folder for table and figure.")] = Path("demands"),
) -> None:
    """Count the words of memory and the operations a step that learners need, as worlds grow.

    Without options: all learners, in a minute or two; most of them take seconds. The same
    command goes on where it was interrupted.
    """
    from analyses.studies.demands import plan
    from replay.learners import LEARNERS

    names = split(learner) or list(LEARNERS)
    sizes: dict[str, Any] = {"n_mdps": mdps, "visits": visits, "seed": seed}
    tables = _keep("demands", out, {"learners": names, **sizes}, plan(names, **sizes), jobs)
    table = tables["demands"]
    means = table.groupby(["learner", "world", "size"], observed=True, as_index=False).mean()
    numbers = ["words", "backups", "queue_operations", "comparisons"]
    for world, rows in means.groupby("world", sort=False):
        largest = rows[rows["size"] == rows["size"].max()]
        n_states, n_actions = largest[["n_states", "n_actions"]].iloc[0]
        screen.print(f"\n[bold]{world}[/]: {n_states:.0f} states, {n_actions:.0f} actions")
        shown = [
            (str(name), f"{words:,.0f}", *(f"{number:,.2f}" for number in operations))
            for name, words, *operations in largest[["learner", *numbers]].itertuples(index=False)
        ]
        print_table(("learner", "words", "backups", "queue operations", "comparisons"), shown)
    screen.print(
        "\nWords held at most, operations a step, means over the largest worlds. All sizes and "
        f"the figure are in {out}",
        markup=False,
    )


@app.command()
def experiments() -> None:
    """List the paper's experiments and their sizes."""
    from replay.experiments import EXPERIMENTS

    rows = [
        (each.name, each.title, *(f"{n:,}" for n in (each.n_mdps, each.n_seeds, each.n_steps)))
        for each in EXPERIMENTS.values()
    ]
    print_table(("experiment", "what", "worlds", "runs in each", "steps of a run"), rows)


@app.command()
def classify(
    log: Annotated[Path, typer.Argument(help="The folder of an event log.")],
    out: Annotated[Path, typer.Option(help="The table to write.")] = Path("sequences.parquet"),
    across_events: Annotated[
        bool, typer.Option("--across-events", help="Follow causes through later events.")
    ] = False,
) -> None:
    """Chain the backups of an event log into sequences, and classify each of them."""
    from analyses.jobs.results import write_table
    from analyses.sequences.classification import classify as classify_log
    from replay.files import replacing
    from replay.log.event_log import EventLog

    sequences = classify_log(EventLog.read(log), across_events=across_events)
    with replacing(out) as beside:
        write_table(sequences, beside)
    long = sequences[sequences["length"] >= 3]
    kinds = long.groupby(["run", "kind"], observed=True).size().reset_index(name="n")
    rows = [(str(row.run), str(row.kind), f"{row.n:,}") for row in kinds.itertuples()]
    print_table(("run", "kind (3 states or more)", "sequences"), rows)
    screen.print(f"{len(sequences):,} sequences in {out}", markup=False)


@app.command()
def figures(
    folder: Annotated[Path, typer.Argument(help="What replay reproduce made.")],
) -> None:
    """Draw the figures of a result folder anew, as PDF and PNG."""
    from analyses.studies.figures import draw_all

    for path in draw_all(folder):
        print(path)


@app.command()
def gallery(
    out: Annotated[Path, typer.Option(help="The picture to write; beside it comes a PDF.")] = Path(
        "gallery.png"
    ),
) -> None:
    """Draw one maze, one moment, and what each account of replay would replay next.

    The first time, learners are compiled (about a minute).
    """
    from analyses.plots import gallery_figure, save
    from analyses.studies.gallery import laps, next_replay

    mdp, transitions = laps()
    figure = gallery_figure(next_replay(mdp, transitions), transitions, mdp)
    for path in save(figure, out.with_suffix("")):
        print(path)


@app.command()
def animate(
    log: Annotated[Path, typer.Argument(help="The folder of an event log.")],
    event: Annotated[
        int | None, typer.Option(help="Which replay event; by default that of the longest sequence")
    ] = None,
    run: Annotated[int, typer.Option(help="Which run of the log.")] = 0,
    mdp: Annotated[
        Path | None,
        typer.Option(help="The world, JSON as in mdps/; logs of replay reproduce need none."),
    ] = None,
    out: Annotated[Path, typer.Option(help="The film to write, .gif or .mp4.")] = Path("pause.gif"),
) -> None:
    """Show a pause: the agent at rest, and the replay that runs over the world."""
    from analyses.jobs.worlds import read_mdp, world_of_log
    from analyses.plots import animate_pause
    from replay.log.event_log import EventLog

    world = world_of_log(log) if mdp is None else read_mdp(mdp)
    with screen.status(f"{out}: some seconds"):
        animate_pause(EventLog.read(log), event, out, run=run, mdp=world)
    print(out)


@app.command()
def status(
    folder: Annotated[Path, typer.Argument(help="What replay reproduce made, or is making.")],
) -> None:
    """Tell what there is in a result folder, what is missing, and what is damaged.

    The exit code is 0 if it is complete and whole, else 1.
    """
    from analyses.jobs.results import Results

    found = Results(folder).status()
    rows = [
        (name, f"{n_done} of {n_pieces}", str(n_logs), str(n_damaged))
        for name, n_pieces, n_done, n_logs, n_damaged in found.experiments.to_numpy()
    ]
    print_table(("experiment", "worlds done", "logs kept", "damaged files"), rows)
    products = [name for name in found.missing if "/" not in name]
    for what, names in (("Not made yet:", products), ("Damaged or gone:", found.damaged)):
        for name in names:
            print(what, name)
    if found.missing or found.damaged:
        print("The command that made it, with the same options, goes on.")
        raise typer.Exit(1)
    print("Complete and whole.")


def _check_workers(jobs: int | None, cluster: str | None) -> None:
    if jobs is not None and jobs < 1:
        raise ValueError(f"--jobs must be at least 1, got {jobs}.")
    if jobs is not None and cluster is not None:
        raise ValueError("--jobs and --cluster exclude each other: all workers of a cluster work.")


def _tell_cost(cost: "Cost", n_jobs: int | None, tell: Callable[[str], None]) -> None:
    """Say what is to come; how many workers a cluster will have, nobody knows."""
    minutes = cost.seconds / 60 / (n_jobs or 1)
    time = f"{minutes:.0f} min" if minutes >= 2 else f"{60 * minutes:.0f} s"
    tell(
        f"{cost.n_steps / 1e6:,.1f} million steps are left: about {time} "
        f"{'here' if n_jobs else 'of one processor'} to simulate and classify, then tables and "
        f"figures; about {cost.n_bytes / 1e6:,.0f} MB on disk, and {cost.memory / 1e9:,.1f} GB of "
        "memory in each process."
    )


def _shown(value: object) -> str:
    return f"{value:.3g}" if isinstance(value, float) else str(value)


def _plain(value: object) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value).lower()


def _show(folder: Path, log: str) -> None:
    """Print the tables that a newcomer wants to see, and where the rest is."""
    import pandas as pd

    areas = pd.read_csv(folder / "area_under_curve.csv")
    areas["shown"] = [f"{mean:.2f}" for mean in areas["mean"]]
    screen.print("\n[bold]Normalised reward rate[/], mean over a run (0 random, 1 optimal)")
    _print_by_experiment(areas)
    if log != "none":
        kinds = pd.read_csv(folder / "replay_kinds.csv")
        kinds = kinds[kinds["chains"] == "across_events"]
        totals = kinds.groupby(["experiment", "learner"], sort=False)["count"].transform("sum")
        novel = kinds[kinds["kind"] == "novel_path"].assign(total=totals)
        novel["shown"] = [
            f"{share:.0%} of {_rounded(total)}" if total else "no replay"
            for share, total in zip(novel["share"], novel["total"], strict=True)
        ]
        screen.print("\n[bold]Novel paths[/] among replayed sequences of at least 3 states")
        _print_by_experiment(novel)
    screen.print(f"\nTables, logs and figures are in {folder}", markup=False)


def _rounded(count: int) -> str:
    if count >= 1_000_000:
        return f"{count / 1e6:.1f}M"
    return f"{count / 1e3:.0f}k" if count >= 10_000 else str(count)


def _print_by_experiment(table: "pd.DataFrame") -> None:
    from analyses.plots.style import label

    experiments = table["experiment"].unique()
    rows = []
    for learner, group in table.groupby("learner", sort=False):
        shown = group.set_index("experiment")["shown"].reindex(experiments, fill_value="")
        rows.append((label(str(learner)), *shown))
    print_table(("learner", *(label(name) for name in experiments)), rows)


def _steps(text: str | None) -> int | dict[str, int] | None:
    if text is None:
        return None
    if re.fullmatch(r"[\d_]+", text):
        return int(text)
    pairs = [part.partition("=") for part in text.split(",")]
    if not all(name.strip() and re.fullmatch(r"[\d_]+", number) for name, _, number in pairs):
        raise ValueError(
            f"--steps takes one number, or numbers by experiment such as maze=100000; got {text!r}."
        )
    return {name.strip(): int(number) for name, _, number in pairs}
