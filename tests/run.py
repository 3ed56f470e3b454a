#!/usr/bin/env python3
"""Runs the tests and prints "N passed, N failed" as its last line. docs/testing.md says what each kind is."""
import argparse
import collections
import contextlib
import os
import resource
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
from tests.cli import commands
from tests.docs import book, documents, drawn, features, first_hour, habits, libraries, methods, traps
from tests.editors import files, lsp
from tests.house import reached, rules, separate
from tests.jupyter import kernel
from tests.language import expectations, explain, looks, mistakes, stdlib
from tests.library import installed, python_module
from tests.model import fits, graph_page, page, validation, vendor_layers
from tests.package import debs
from tests.processes import machines, mpi
from tests.repl import inputs, memory
from tests.robustness import hostile, interrupts, limits, mutants
from tests.runtime import (arm64, bench, formats, graphs, killed, onnx_models, oracle, plans, reference, research, tiles, training,
                           whole_job)
from tests.support import figures
from tests.support.harness import ROOT, TESTS, Tally, needs_compiler_of, parallel, print_slowest, run, stage, unknown_files
from tests.unit import doctests

Run = collections.namedtuple("Run", "pxl build tally update")  # the tested build's command and folder; whether to rewrite goldens

# (kind, what it runs), in the order in which they run. `scripts/test` runs the daily rows, `scripts/test --full` those of both
# lists. A kind may have rows in both.
DAILY = [
    ("unit", lambda r: doctests.unit_tests(r.build, r.tally)),
    ("lang", lambda r: expectations.lang_tests(r.pxl, r.tally)),
    ("golden", lambda r: expectations.golden_tests(r.pxl, r.tally, r.update)),
    ("reference", lambda r: reference.reference_tests(r.pxl, r.tally)),
    ("tiles", lambda r: tiles.tiles_tests(r.pxl, r.tally)),
    ("examples", lambda r: training.example_tests(r.pxl, r.tally, r.update)),
    ("examples", lambda r: whole_job.job_tests(r.pxl, r.tally.add)),
    ("examples", lambda r: killed.killed_tests(r.pxl, r.tally.add, 3)),
    ("plans", lambda r: plans.text_tests(r.pxl, r.tally, 8)),
    ("cli", lambda r: commands.cli_tests(r.pxl, r.tally.add, parallel)),
    ("processes", lambda r: mpi.process_tests(r.pxl, r.tally.add, r.tally.skip, parallel)),
    ("look", lambda r: looks.look_tests(r.pxl, r.tally.add, r.tally.skip, parallel)),
    ("look", lambda r: looks.warning_tests(r.pxl, r.tally.add, 8)),
    ("explain", lambda r: explain.explain_tests(r.pxl, r.tally.add, parallel)),
    ("mistakes", lambda r: mistakes.mistakes_tests(r.pxl, r.tally.add)),
    ("hostile", lambda r: hostile.hostile_tests(r.pxl, r.tally.add, parallel)),
    ("hostile", lambda r: limits.limit_tests(r.pxl, r.tally.add)),
    ("mutants", lambda r: mutants.fuzzers(r.build, 5, r.tally)),
    ("graphs", lambda r: graphs.graph_tests(r.pxl, 5, r.tally.add, r.tally.skip)),
    ("interrupts", lambda r: interrupts.interrupt_tests(r.pxl, 5, r.tally.add)),
    ("oracle", lambda r: oracle.oracle_tests(r.pxl, TESTS / "oracle", r.tally.add, run)),
    ("oracle", lambda r: research.research_tests(r.pxl, r.tally.add)),
    ("onnx", lambda r: onnx_models.onnx_tests(r.pxl, r.tally.add, r.tally.skip)),
    ("formats", lambda r: formats.formats_tests(r.pxl, r.tally.add, r.tally.skip)),
    ("repl", lambda r: inputs.repl_tests(r.pxl, r.tally, parallel)),
    ("tiles", lambda r: fits.fits_tests(r.pxl, r.tally.add, full=False)),
    ("docs", lambda r: documents.docs_tests(r.pxl, r.tally)),
    ("docs", lambda r: first_hour.first_hour_tests(r.pxl, r.tally.add)),
    ("docs", lambda r: methods.methods_tests(r.pxl, r.tally, r.update)),
    ("docs", lambda r: habits.habits_tests(r.pxl, r.tally, r.update)),
    ("docs", lambda r: drawn.drawn_tests(r.pxl, r.tally, r.update)),
    ("docs", lambda r: traps.traps_tests(r.pxl, r.tally)),
    ("docs", lambda r: libraries.names_tests(r.pxl, r.tally.add, r.tally.skip)),
    ("docs", lambda r: features.features_tests(r.pxl, r.tally, r.update)),
    ("docs", lambda r: validation.model_tests(r.pxl, r.tally.add, r.update)),
    ("stdlib", lambda r: stdlib.stdlib_tests(r.pxl, ROOT, r.tally.add, parallel, run)),
    ("curves", lambda r: training.curve_tests(r.pxl, r.tally)),
    ("repeat", lambda r: training.repeat_tests(r.pxl, r.tally)),
    ("lsp", lambda r: lsp.lsp_tests(r.pxl, r.tally.add)),
    ("house", lambda r: rules.house_tests(r.tally, r.build, LISTS)),
]
FULL = [
    ("look", lambda r: looks.warning_tests(r.pxl, r.tally.add, 1)),
    ("reference", lambda r: reference.whole_epoch(r.pxl, r.tally)),
    ("tiles", lambda r: fits.fits_tests(r.pxl, r.tally.add, full=True)),
    ("tiles", lambda r: tiles.more_tiles_tests(r.pxl, r.tally)),
    ("examples", lambda r: killed.killed_tests(r.pxl, r.tally.add, 20)),
    ("plans", lambda r: plans.text_tests(r.pxl, r.tally, 1)),
    ("plans", lambda r: plans.value_tests(r.pxl, r.tally)),
    ("processes", lambda r: machines.machine_tests(r.pxl, r.tally.add, r.tally.skip)),
    ("arm64", lambda r: arm64.arm64_tests(r.tally.add, r.tally.skip)),
    ("mutants", lambda r: mutants.fuzzers(r.build, 30, r.tally)),
    ("graphs", lambda r: graphs.graph_tests(r.pxl, 30, r.tally.add, r.tally.skip)),
    ("interrupts", lambda r: interrupts.interrupt_tests(r.pxl, 30, r.tally.add)),
    ("onnx", lambda r: onnx_models.other_writers(r.pxl, r.tally.add, r.tally.skip)),
    ("formats", lambda r: formats.more_formats_tests(r.pxl, r.tally.add, r.tally.skip)),
    ("docs", lambda r: book.book_tests(r.tally.add, r.tally.skip)),
    ("docs", lambda r: vendor_layers.vendor_tests(r.pxl, r.tally.add, r.update)),
    ("repl", lambda r: memory.long_tests(r.pxl, r.tally, parallel)),
    ("page", lambda r: page.page_tests(r.pxl, r.tally.add, r.tally.skip)),
    ("page", lambda r: graph_page.graph_page_tests(r.pxl, r.tally.add, r.tally.skip)),
    ("editors", lambda r: files.editor_tests(r.tally.add, r.tally.skip)),
    ("lsp", lambda r: lsp.neovim_tests(r.pxl, r.tally.add, r.tally.skip)),
    ("jupyter", lambda r: kernel.jupyter_tests(r.pxl, r.tally.add, r.tally.skip)),
    ("library", lambda r: installed.library_tests(r.build, r.tally.add, r.tally.skip)),
    ("bench", lambda r: bench.bench_tests(r.pxl, r.tally.add, training.bench_data()[0])),
    ("python", lambda r: python_module.python_tests(r.build, r.tally.add, r.tally.skip)),
    ("package", lambda r: debs.package_tests(r.pxl, r.tally)),
    ("separate", lambda r: separate.separate_tests(r.tally)),
    ("each", lambda r: separate.each_tests(r.tally)),
    ("clang", lambda r: on_preset("clang", r.tally)),
    ("tidy", lambda r: separate.tidy_tests(r.tally)),
    ("asan", lambda r: on_preset("asan", r.tally, sanitized_tests)),
]
LISTS = {"daily": DAILY, "full": FULL}
KINDS = list(dict.fromkeys(kind for rows in LISTS.values() for kind, _ in rows))


def on_preset(preset, tally, more=None):
    """Unit, lang and golden on another build, then more tests of it."""
    needs_compiler_of(preset)
    code, out, err = run([str(ROOT / "scripts/build"), preset], timeout=3000)
    tally.add(f"build {preset}", None if code == 0 else (out + err)[-6000:])
    if code != 0:
        return
    build, limit, environment = ROOT / "build" / preset, resource.getrlimit(resource.RLIMIT_STACK), dict(os.environ)
    # Frames are several times larger under sanitizers; deep nesting is tested there as well.
    resource.setrlimit(resource.RLIMIT_STACK, (64 << 20, limit[1]))
    # Values of a script may hold each other in a ring, which lives as long as the process.
    os.environ["ASAN_OPTIONS"] = "detect_leaks=0"
    try:
        with reached.recorded(build / "throws.log") if more else contextlib.nullcontext():
            expectations.lang_tests(build / "pxl", tally)
        expectations.golden_tests(build / "pxl", tally, False)
        del os.environ["ASAN_OPTIONS"]
        with reached.recorded(build / "throws.log", more=True) if more else contextlib.nullcontext():
            doctests.unit_tests(build, tally)
        if more:
            os.environ["ASAN_OPTIONS"] = "detect_leaks=0"
            more(build, tally)
    finally:
        resource.setrlimit(resource.RLIMIT_STACK, limit)
        os.environ.clear()
        os.environ.update(environment)


def sanitized_tests(build, tally):
    """Readers of foreign bytes, under sanitizers; and whether lang and unit raised the errors that they used to."""
    tally.add("asan: places that raise an error", lambda: reached.check(build / "throws.log"))
    mutants.fuzzers(build, 30, tally, edits=False)
    onnx_models.reader_tests(build / "pxl", tally.add, tally.skip)
    formats.formats_tests(build / "pxl", tally.add, tally.skip)
    installed.sanitized_tests(build, tally.add)
    python_module.python_tests(build, tally.add, tally.skip, installed.sanitizer_environment(build))


def wanted_rows(options):
    """(list, kind, body), daily ones first. A kind that --only names runs its rows of the other list if it has no daily ones."""
    only = options.only.split(",") if options.only else KINDS
    if unknown := [kind for kind in only + options.without if kind not in KINDS]:
        raise SystemExit(f"run.py: no kind {', '.join(unknown)}; there are {', '.join(KINDS)}")
    named = set(only) - {kind for kind, _ in DAILY} if options.only else set()
    return [(name, kind, body) for name, rows in LISTS.items() for kind, body in rows
            if kind in only and kind not in options.without and (name == "daily" or options.full or kind in named)]


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--full", action="store_true", help="the rows of both lists; otherwise those of the daily one")
    parser.add_argument("--only", help="kinds, comma separated, of " + ", ".join(KINDS))
    parser.add_argument("--without", default=[], type=lambda text: text.split(","), help="kinds that are left out, comma separated")
    parser.add_argument("--update", action="store_true", help="rewrite goldens")
    parser.add_argument("--table", action="store_true", help="rewrite the figures of the kinds that run in docs/testing.md")
    parser.add_argument("--build", default="build/release", help="build tree")
    options = parser.parse_args()
    os.environ.setdefault("PXL_SEED", "1")  # a test that passes passes again
    os.environ.setdefault("PXL_VERIFY", "1")  # graphs after each transform, plans after each pass
    build = ROOT / options.build
    r = Run(build / "pxl", build, Tally(), options.update)
    rows = wanted_rows(options)
    measured, known, left = figures.Figures(), unknown_files(), []
    for number, (name, kind, body) in enumerate(rows, 1):
        stage(f"{kind} ({name}, {number} of {len(rows)})")
        with measured.of(kind, name, r.tally):
            r.tally.run(kind, lambda: body(r))
        new = unknown_files() - known
        known |= new
        left += [f"{kind}: {path}" for path in sorted(new)]
        if options.table:
            measured.write_table()
    stage("done")
    if not options.update:
        r.tally.add("no kind of test left a file in the checkout", "\n".join(left) or None)
    print_slowest(measured.seconds())
    print(f"{r.tally.passed} passed, {r.tally.failed} failed" + (f", {r.tally.skipped} skipped" if r.tally.skipped else ""))
    return 1 if r.tally.failed or not r.tally.passed else 0


if __name__ == "__main__":
    sys.exit(main())
