"""Commands within bounded memory."""
import os
import pathlib
import re


def is_sanitized(pxl):
    """Whether a command was built with the address sanitizer, whose own memory takes terabytes of addresses."""
    cache = pathlib.Path(pxl).parent / "CMakeCache.txt"
    return cache.is_file() and re.search(r"^PXL_SANITIZE:\w+=ON$", cache.read_text(), re.M) is not None


def within(gigabytes, pxl, *arguments):
    """(words, additions to the environment) of a command that may take so much."""
    if is_sanitized(pxl):
        options = [os.environ.get("ASAN_OPTIONS", ""), f"hard_rss_limit_mb={gigabytes * 1000}", f"max_allocation_size_mb={gigabytes * 1000}",
                   "allocator_may_return_null=1"]
        return [str(pxl), *map(str, arguments)], {"ASAN_OPTIONS": ":".join(filter(None, options))}
    return ["bash", "-c", f'ulimit -v {gigabytes * 1000000}; exec "$@"', "bash", str(pxl), *map(str, arguments)], {}
