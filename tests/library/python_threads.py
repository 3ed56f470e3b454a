"""Checks of the module pxl: threads, signals, forks."""
import multiprocessing
import os
import signal
import subprocess
import sys
import threading
import time

import numpy as np

import pxl

from python_support import COUNTER, check, program, raises


@check
def threads():
    m = program()
    one = [m.Session("count") for _ in range(4)]
    shared = m.Session("count")

    def work(s):
        for _ in range(300):
            s.run(x=[1, 2, 3])
            shared.run(x=[1, 0, 0])
            m.both(1)

    running = [threading.Thread(target=work, args=(s,)) for s in one]
    for t in running:
        t.start()
    for t in running:
        t.join()
    assert all(s["total"].tolist() == [300, 600, 900] for s in one) and shared["total"].tolist() == [1200, 0, 0]


@check
def lock_is_released():
    s, ticks = program().Session("slow"), 0
    raised = []

    def run():
        try:
            s.run()
        except pxl.Cancelled as e:
            raised.append(e)

    running = threading.Thread(target=run)
    running.start()
    for _ in range(50):
        time.sleep(0.002)
        ticks += 1
    assert running.is_alive() and ticks == 50
    s.cancel()
    running.join(60)
    assert not running.is_alive() and len(raised) == 1


@check
def interrupts():
    # Calls while nobody hears the signal leave later ones as they are. (A shell that runs the tests in the background has
    # it ignored.)
    for nobody in (signal.SIG_IGN, signal.SIG_DFL):
        signal.signal(signal.SIGINT, nobody)
        assert program().Session("count").run(x=[1, 2, 3]).now.tolist() == [1, 2, 3]
    signal.signal(signal.SIGINT, signal.default_int_handler)
    s = program().Session("slow")
    for body in (s.run, s.run, s.run, lambda: pxl.eval("while true { }"), lambda: program().say and pxl.from_text("while true { }")):
        timer = threading.Timer(0.1, os.kill, (os.getpid(), signal.SIGINT))
        timer.start()
        raises(KeyboardInterrupt, "", body)
        timer.join()
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    assert program().Session("count").run(x=[1, 2, 3]).now.tolist() == [1, 2, 3]
    # A handler of the program's own is called; the run ends all the same.
    seen = []
    before = signal.signal(signal.SIGINT, lambda *_: seen.append(1))
    try:
        timer = threading.Timer(0.1, os.kill, (os.getpid(), signal.SIGINT))
        timer.start()
        raises(pxl.Cancelled, "cancelled", s.run)
        timer.join()
        assert seen == [1]
    finally:
        signal.signal(signal.SIGINT, before)


@check
def other_signals():
    # Handlers of other signals run during the call, in the main thread, and end it by what they raise.
    s, quick = program().Session("slow"), program().Session("count")
    seen = []

    def note(number, frame):
        seen.append((number, threading.current_thread() is threading.main_thread()))
        assert quick.run(x=[1, 2, 3]).now.shape == (3,)  # a call in the middle of another one
        if len(seen) % 3 == 0:
            raise TimeoutError("three signals")

    calls = (s.run, lambda: pxl.eval("while true { }"), lambda: pxl.from_text("while true { }"))
    for number, send in ((signal.SIGALRM, lambda: signal.setitimer(signal.ITIMER_REAL, 0.05, 0.05)),
                         (signal.SIGUSR1, lambda: threading.Thread(target=lambda: [time.sleep(0.1) or os.kill(os.getpid(), signal.SIGUSR1)
                                                                                   for _ in range(3)]).start())):
        before = signal.signal(number, note)
        try:
            for body in calls:
                seen.clear()
                send()
                started = time.process_time()
                raises(TimeoutError, "three signals", body)
                signal.setitimer(signal.ITIMER_REAL, 0)
                assert seen == [(number, True)] * 3, seen
                assert time.process_time() - started < 5
        finally:
            signal.signal(number, before)
    # Who had a wakeup descriptor, as loops of events have, still gets the numbers, and has it after the call.
    ours, theirs = os.pipe()
    os.set_blocking(theirs, False)
    signal.set_wakeup_fd(theirs)
    before = signal.signal(signal.SIGALRM, lambda *_: (_ for _ in ()).throw(TimeoutError("alarm")))
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.1)
        raises(TimeoutError, "alarm", s.run)
        assert os.read(ours, 10) == bytes([signal.SIGALRM])
        assert signal.set_wakeup_fd(-1) == theirs
    finally:
        signal.signal(signal.SIGALRM, before)
        os.close(ours)
        os.close(theirs)
    assert quick.run(x=[1, 2, 3]).now.shape == (3,)


def in_child(s, results):
    results.put(s.run(x=[1, 2, 3]).now.tolist() + pxl.eval("x @ x", x=np.ones((300, 300)))[0, :1].tolist())


@check
def forks():
    m = program()
    s, busy = m.Session("count"), m.Session("slow")
    pxl.eval("x @ x", x=np.ones((300, 300)))
    s.run(x=[1, 2, 3])
    running = threading.Thread(target=lambda: raises(pxl.Cancelled, "", busy.run))
    running.start()
    time.sleep(0.05)
    context = multiprocessing.get_context("fork")
    results = context.SimpleQueue()
    children = [context.Process(target=in_child, args=(s, results)) for _ in range(2)]
    for child in children:
        child.start()
    for child in children:
        child.join(60)
        assert child.exitcode == 0
        assert results.get() == [2, 4, 6, 300]
    refused = context.Process(target=lambda: sys.exit(0 if "forked off" in str(raises(pxl.Error, "", busy.run)) else 1))
    refused.start()
    refused.join(60)
    assert refused.exitcode == 0
    busy.cancel()
    running.join()


@check
def daemon_threads_at_exit():
    script = "import pxl, threading, time\n" + f"s = pxl.from_text({COUNTER!r}).Session('slow')\n"
    script += "threading.Thread(target=s.run, daemon=True).start()\ntime.sleep(0.1)\nprint('end')\n"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stdout, done.stderr) == (0, "end\n", ""), done
