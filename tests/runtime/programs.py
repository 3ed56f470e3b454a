"""The examples that train on data of their own: what they print shows that they learnt.

(script, arguments, a function of the output that gives the reason for a failure or none)
"""
import re


def losses_fall(last, first):
    def check(out):
        losses = [float(l) for l in re.findall(r"loss ([\d.]+)", out)]
        if len(losses) < 2 or losses[0] < first or losses[-1] > last:
            return f"the losses {losses} do not fall from above {first} to below {last}"
    return check


def accuracy_of(floor):
    def check(out):
        found = re.search(r"Accuracy: ([\d.]+)%", out)
        return None if found and float(found.group(1)) >= floor else f"an accuracy of at least {floor} is wanted"
    return check


def counted_over(images):
    """The accuracy is a share of so many images."""
    def check(out):
        found = re.search(r"Accuracy on test set: ([\d.]+)%", out)
        right = float(found.group(1)) / 100 * images if found else -1
        return None if right >= 0 and abs(right - round(right)) < 0.01 * images / 100 else f"no share of {images} images is told"
    return check


def says(*texts):
    def check(out):
        return next((f"`{t}` is missing" for t in texts if t not in out), None)
    return check


def both(*checks):
    return lambda out: next((problem for problem in (check(out) for check in checks) if problem), None)


def accuracy_on_test(floor):
    def check(out):
        right = re.search(r"Accuracy on test set: ([\d.]+)%", out)
        return None if right and float(right.group(1)) >= floor else f"the accuracy is below {floor}"
    return check


def close(least, floor):
    """The replicas have the weights of one large batch, and have learnt."""
    def check(out):
        apart = re.search(r"weights at most ([\d.e+-]+) apart", out)
        if not apart or float(apart.group(1)) > least:
            return f"the weights are not within {least}"
        return accuracy_on_test(floor)(out)
    return check


PROGRAMS = [
    ("char_gpt.pxl", ["--steps", "60", "--length", "40"], losses_fall(2.6, 2.6)),
    ("any_batch.pxl", [], says("accuracy 9", "session.call gives the same labels: true", "sizes: [57, 64]")),
    ("resnet.pxl", ["--train-size", "3000", "--test-size", "500", "--epochs", "2", "--channels", "8"], losses_fall(2.1, 0)),
    ("dqn.pxl", [], says("the first ten poles stood for 2", "the last ten for 1")),
    ("accumulate.pxl", [], says("weights are the same: true")),
    ("accumulate.pxl", ["--parts", "3", "--rows", "5", "--steps", "20"], says("weights are the same: true")),
    ("data_parallel.pxl", ["--train-size", "6400", "--test-size", "800", "--compare", "--optimiser", "sgd", "--lr", "0.2"], close(1e-6, 50)),
    ("data_parallel.pxl", ["--train-size", "6400", "--test-size", "800", "--compare"], close(1e-4, 80)),
    ("pipeline.pxl", ["--train-size", "6000", "--test-size", "800", "--compare"], both(says("weights as by stages one after the other: true"), accuracy_on_test(80))),
    ("remote_variables.pxl", ["--train-size", "6400", "--test-size", "800", "--compare", "--folder", "/tmp"], both(says("weights as on chip: true"), accuracy_on_test(80))),
    ("phased.pxl", ["--train-size", "6400", "--test-size", "800", "--compare", "--io-mode", "io_overlapped"], close(1e-6, 80)),
    ("transformer.pxl", [], accuracy_of(99.0)),
    ("transformer.pxl", ["--precision", "bfloat16"], accuracy_of(99.0)),
    ("linear_fp8.pxl", [], accuracy_of(98.0)),
    ("mnist.pxl", ["--train-size", "16", "--test-size", "160"], counted_over(160)),  # two batches of each
]
# covers: H133


def program_tests(pxl, root, add, run):
    for script, arguments, check in PROGRAMS:
        code, out, err = run([str(pxl), str(root / "examples" / script), "--quiet", *arguments], timeout=300)
        problem = check(out) if code == 0 else f"exit status {code}\n{err[-3000:]}"
        add(f"examples/{' '.join([script, *arguments])}", problem and f"{problem}\n{out[-2000:]}")
