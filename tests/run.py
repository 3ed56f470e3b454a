#!/usr/bin/env python3
"""Runs the tests and prints "N passed, N failed" as its last line. docs/testing.md says what each kind is."""
import argparse
import os
import resource
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
from tests.cli import commands
from tests.docs import book, documents, first_hour, methods
from tests.editors import files, lsp
from tests.house import rules, separate
from tests.jupyter import kernel
from tests.language import expectations, explain, looks, stdlib
from tests.library import installed, python_module
from tests.model import graph_page, page, validation
from tests.package import debs
from tests.processes import mpi
from tests.repl import inputs
from tests.robustness import hostile, interrupts, mutants
from tests.runtime import arm64, bench, formats, graphs, onnx_models, oracle, reference, tiles, training
from tests.support.harness import ROOT, TESTS, Tally, parallel, print_slowest, run, stage
from tests.unit import doctests

# (kind, what it runs), in the order in which they run; a kind may have several rows. Each gets the tested build's `pxl`,
# the tally, and the options.
KINDS = [
    ("unit", lambda pxl, tally, options: doctests.unit_tests(pxl.parent, tally)),
    ("lang", lambda pxl, tally, options: expectations.lang_tests(pxl, tally)),
    ("golden", lambda pxl, tally, options: expectations.golden_tests(pxl, tally, options.update)),
    ("reference", lambda pxl, tally, options: reference.reference_tests(pxl, tally, options.all)),
    ("tiles", lambda pxl, tally, options: tiles.tiles_tests(pxl, tally)),
    ("examples", lambda pxl, tally, options: training.example_tests(pxl, tally, options.update)),
    ("cli", lambda pxl, tally, options: commands.cli_tests(pxl, tally.add, parallel)),
    ("processes", lambda pxl, tally, options: mpi.process_tests(pxl, tally.add, tally.skip)),
    ("arm64", lambda pxl, tally, options: arm64.arm64_tests(tally.add, tally.skip, options.all)),
    ("look", lambda pxl, tally, options: looks.look_tests(pxl, tally.add, tally.skip, parallel)),
    ("explain", lambda pxl, tally, options: explain.explain_tests(pxl, tally.add, parallel)),
    ("hostile", lambda pxl, tally, options: hostile.hostile_tests(pxl, tally.add, parallel)),
    ("mutants", lambda pxl, tally, options: mutants.mutant_tests(
        pxl.parent, 30 if options.all or options.sanitize else 5, tally.add)),
    ("mutants", lambda pxl, tally, options: mutants.call_tests(
        pxl.parent, 30 if options.all or options.sanitize else 5, tally.add)),
    ("mutants", lambda pxl, tally, options: mutants.edit_tests(pxl, 30 if options.all or options.sanitize else 5, tally.add)),
    ("graphs", lambda pxl, tally, options: graphs.graph_tests(
        pxl, 30 if options.all or options.sanitize else 5, tally.add, tally.skip)),
    ("interrupts", lambda pxl, tally, options: interrupts.interrupt_tests(pxl, 30 if options.all or options.sanitize else 5, tally.add)),
    ("oracle", lambda pxl, tally, options: oracle.oracle_tests(pxl, TESTS / "oracle", tally.add, run)),
    ("onnx", lambda pxl, tally, options: onnx_models.onnx_tests(pxl, tally.add, tally.skip)),
    ("formats", lambda pxl, tally, options: formats.formats_tests(
        pxl, 30 if options.all or options.sanitize else 5, tally.add, tally.skip)),
    ("repl", lambda pxl, tally, options: inputs.repl_tests(pxl, tally, parallel)),
    ("bench", lambda pxl, tally, options: bench.bench_tests(pxl, tally.add, training.bench_data()[0])),
    ("docs", lambda pxl, tally, options: documents.docs_tests(pxl, tally)),
    ("docs", lambda pxl, tally, options: first_hour.first_hour_tests(pxl, tally.add)),
    ("docs", lambda pxl, tally, options: book.book_tests(tally.add, tally.skip)),
    ("docs", lambda pxl, tally, options: methods.methods_tests(pxl, tally, options.update)),
    ("docs", lambda pxl, tally, options: validation.model_tests(pxl, tally.add, options.update)),
    ("stdlib", lambda pxl, tally, options: stdlib.stdlib_tests(pxl, ROOT, tally.add, parallel, run)),
    ("page", lambda pxl, tally, options: page.page_tests(pxl, tally.add, tally.skip)),
    ("page", lambda pxl, tally, options: graph_page.graph_page_tests(pxl, tally.add, tally.skip)),
    ("curves", lambda pxl, tally, options: training.curve_tests(pxl, tally)),
    ("repeat", lambda pxl, tally, options: training.repeat_tests(pxl, tally)),
    ("editors", lambda pxl, tally, options: files.editor_tests(tally.add, tally.skip)),
    ("lsp", lambda pxl, tally, options: lsp.lsp_tests(pxl, tally.add, tally.skip)),
    ("jupyter", lambda pxl, tally, options: kernel.jupyter_tests(pxl, tally.add, tally.skip)),
    ("library", lambda pxl, tally, options: installed.library_tests(pxl.parent, tally.add, tally.skip)),
    ("python", lambda pxl, tally, options: python_module.python_tests(pxl.parent, tally.add, tally.skip)),
    ("package", lambda pxl, tally, options: debs.package_tests(pxl, tally)),
    ("separate", lambda pxl, tally, options: separate.separate_tests(tally, each=options.all)),
    ("house", lambda pxl, tally, options: rules.house_tests(tally, list(dict(KINDS)), pxl.parent)),
]


def build(preset, tally, targets=()):
    code, out, err = run([str(ROOT / "scripts/build"), preset, *targets], timeout=3000)
    tally.add(f"build {preset}", None if code == 0 else (out + err)[-6000:])
    return code == 0


def on_preset(preset, tally, whole=True):
    """Unit, lang and golden on another build; unit only if `whole`. Under sanitizers also what reads bytes of others: the
    fuzzers of the language, formats, ONNX, the library and the Python module."""
    stage(f"build {preset}")
    # Frames are several times larger under sanitizers; deep nesting is tested there as well.
    resource.setrlimit(resource.RLIMIT_STACK, (64 << 20, resource.getrlimit(resource.RLIMIT_STACK)[1]))
    if build(preset, tally, () if whole else ("pxl", "mutants", "calls", "libpxl", "pxl_python")):
        stage(f"{preset}: {'unit, ' * whole}lang, golden")
        if whole:
            doctests.unit_tests(ROOT / "build" / preset, tally)
        # Values of a script may hold each other in a ring, which lives as long as the process.
        os.environ["ASAN_OPTIONS"] = "detect_leaks=0"
        expectations.lang_tests(ROOT / "build" / preset / "pxl", tally)
        expectations.golden_tests(ROOT / "build" / preset / "pxl", tally, False)
        if preset == "asan":
            stage("asan: mutants")
            mutants.mutant_tests(ROOT / "build" / preset, 30, tally.add)
            mutants.call_tests(ROOT / "build" / preset, 30, tally.add)
            stage("asan: onnx, formats, library, python")
            onnx_models.reader_tests(ROOT / "build" / preset / "pxl", tally.add, tally.skip)
            formats.formats_tests(ROOT / "build" / preset / "pxl", 5, tally.add, tally.skip)
            installed.sanitized_tests(ROOT / "build" / preset, tally.add)
            python_module.python_tests(ROOT / "build" / preset, tally.add, tally.skip, installed.sanitizer_environment(ROOT / "build" / preset))


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--all", action="store_true", help="also sanitizers (unit too), each source file by itself, clang and clang-tidy")
    parser.add_argument("--sanitize", action="store_true", help="also lang, golden and the fuzzers with sanitizers")
    parser.add_argument("--update", action="store_true", help="rewrite goldens")
    parser.add_argument("--only", default=",".join(dict(KINDS)), help="kinds, comma separated (default: %(default)s)")
    parser.add_argument("--build", default="build/release", help="build tree")
    options = parser.parse_args()
    os.environ.setdefault("PXL_SEED", "1")  # a test that passes passes again
    os.environ.setdefault("PXL_VERIFY", "1")  # graphs after each transform, plans after each pass
    wanted = options.only.split(",")
    if unknown := [kind for kind in wanted if kind not in dict(KINDS)]:
        parser.error(f"no kind {', '.join(unknown)}; there are {', '.join(dict(KINDS))}")
    tally = Tally()
    for kind, body in KINDS:
        if kind in wanted:
            stage(kind)
            body(ROOT / options.build / "pxl", tally, options)
    if options.sanitize or options.all:
        on_preset("asan", tally, whole=options.all)
    if options.all:
        on_preset("clang", tally)
        stage("tidy")
        tally.add("house: clang-tidy", rules.tidy_test(ROOT / "build/clang"))
    stage("done")
    print_slowest()
    print(f"{tally.passed} passed, {tally.failed} failed" + (f", {tally.skipped} skipped" if tally.skipped else ""))
    return 1 if tally.failed or not tally.passed else 0


if __name__ == "__main__":
    sys.exit(main())
