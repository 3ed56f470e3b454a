"""Cases of runtime/ops/algebra: composites.cpp, linear_algebra.cpp and fourier.cpp: statistics, matrices, Fourier transforms."""
import torch
import torch.nn.functional as F

from cases import BOTH, F32, away, bools, case, grid, ints, positive
from cases_activation import inside

WIDE = ["float32", "float64"]


def composites():
    def unary(name, f, make=grid, dtypes=F32, pxl=None):
        return case(name, pxl or f"{name}(x)", lambda x: f(x), "x", dtypes, x=make(3, 5))

    yield unary("var", torch.var)
    yield unary("var_axis", lambda x: torch.var(x, 1, keepdim=True), pxl="var(x, axis = 1, keepdims = true)")
    yield unary("var_population", lambda x: torch.var(x, 0, unbiased=False), pxl="var(x, 0, 0)")
    yield unary("std", torch.std, dtypes=BOTH)
    yield unary("std_axis", lambda x: torch.std(x, 0), pxl="std(x, axis = 0)")
    yield unary("var_negative_axis", lambda x: torch.var(x, -1), pxl="var(x, axis = -1)", dtypes=BOTH)
    yield case("var_far_from_zero", "var(x + 4096.0, axis = 0)", lambda x: torch.var(x + 4096, 0), "x", WIDE, x=grid(7, 3))
    yield case("std_of_two_axes", "std(x, axis = [0, -1], keepdims = true)", lambda x: torch.std(x, (0, -1), keepdim=True), "x", BOTH, x=grid(3, 4, 5))
    yield case("var_infinite", "var(x, axis = 1)", lambda x: torch.var(x, 1), dtypes=BOTH,
               x=[[float("inf"), 1.0, 2.0], [float("nan"), 0.0, 0.0], [float("-inf"), float("inf"), 0.0]])
    yield case("std_of_equals", "std(x, axis = 1)", lambda x: torch.std(x, 1), "x", x=[[2.0, 2.0, 2.0], [1.0, 2.0, 4.0]])
    for p in ("2", "1", "3", "2.5", "inf", "-inf"):
        yield unary(f"norm_{p}".replace("-", "minus_").replace(".", "_"),
                    lambda x, p=p: torch.linalg.vector_norm(x, float(p), dim=1), pxl=f"norm(x, {p}, axis = 1)")
    infinite = [[float("inf"), 1.0, -2.0], [0.0, 0.0, 0.0], [1.0, float("nan"), float("inf")], [3.0, -4.0, 0.0]]
    for p in ("3", "0.5", "-1"):
        yield case(f"norm_{p}_infinite".replace("-", "minus_").replace(".", "_"), f"norm(x, {p}, axis = 1)",
                   lambda x, p=p: torch.linalg.vector_norm(x, float(p), dim=1), x=infinite)
    yield case("norm_3_of_nothing", "norm(x, 3.0, axis = 1)", lambda x: torch.linalg.vector_norm(x, 3.0, dim=1), x=[[], []])
    yield case("std_of_large", "std(x * 300.0)", lambda x: torch.std(x.double() * 300).to(x.dtype), dtypes=BOTH, x=grid(40, 50))
    yield case("var_of_large", "var(x * 100.0)", lambda x: torch.var(x.double() * 100).to(x.dtype), dtypes=BOTH, x=grid(40, 50))
    yield case("norm_0", "norm(x, 0)", lambda x: torch.linalg.vector_norm(x, 0), x=[0.0, 1.0, -2.0, 0.0])
    yield case("norm_3_of_zeros", "norm(x, 3.0, axis = 1)", lambda x: torch.linalg.vector_norm(x, 3.0, dim=1), "x",
               x=[[0.0, 0.0], [1.0, -2.0]])
    yield case("top_p_of_all", "top_p(x * 32.0, 1.0)", lambda x: x * 32, "x", BOTH, x=grid(3, 4))
    yield case("top_p_of_one", "top_p(x * 32.0, 0.5)", lambda x: torch.where(x == x.max(-1, True)[0], x * 32, -torch.inf), dtypes=BOTH, x=grid(3, 4))
    yield unary("log10", torch.log10, positive)
    yield case("logaddexp", "logaddexp(x, y)", torch.logaddexp, "x y", x=grid(3, 4), y=grid(4))
    yield case("logaddexp_wide", "logaddexp(x, y)", torch.logaddexp, "x y", x=[1000.0, -1000.0, 5.0], y=[999.0, -1000.0, 5.0])
    yield unary("cumprod", lambda x: torch.cumprod(x, 1), away, pxl="cumprod(x, axis = 1)")
    yield case("cumprod_zeros", "cumprod(x)", lambda x: torch.cumprod(x, 0), "x", x=[2.0, 0.0, 3.0, 0.0, 4.0, 5.0, 0.5])
    yield case("cumprod_reverse", "cumprod(x, reverse = true)", lambda x: torch.cumprod(x.flip(0), 0).flip(0), "x",
               x=[2.0, -1.0, 3.0, 0.5, 4.0])
    yield case("cumprod_exclusive", "cumprod(x, exclusive = true)",
               lambda x: torch.cat([torch.ones(1, dtype=x.dtype), torch.cumprod(x, 0)[:-1]]), "x", x=[2.0, -1.0, 3.0, 0.5, 4.0])
    yield case("outer", "outer(x, y)", torch.outer, "x y", BOTH, x=grid(3), y=grid(4))
    yield case("masked_fill", "masked_fill(x, m, -1.5)", lambda x, m: x.masked_fill(m, -1.5), "x", BOTH, x=grid(3, 4), m=bools(3, 4))
    yield case("scatter_add", "scatter_add(x, i, v, axis = 1)", lambda x, i, v: torch.scatter_add(x, 1, i, v), "x v",
               x=grid(3, 4), i=ints(3, 5), v=grid(3, 5))
    yield case("scatter_add_part", "scatter_add(x, i, v, axis = 0)", lambda x, i, v: torch.scatter_add(x, 0, i, v), "x v",
               x=grid(4, 3), i=ints(5, 2), v=grid(5, 2))
    yield unary("mish", F.mish, dtypes=BOTH)
    yield unary("erfinv", torch.erfinv, inside, WIDE)
    yield case("erfinv_tails", "erfinv(x)", torch.erfinv, "x", WIDE, x=[-1023 / 1024, 2.0 ** -20, 1 - 2.0 ** -14, 0.0])
    yield case("atan2", "atan2(y, x)", lambda y, x: torch.atan2(y, x), "y x", WIDE, y=away(3, 4), x=away(4))
    yield case("atan2_axes", "atan2(y, x)", lambda y, x: torch.atan2(y, x), dtypes=WIDE, y=[0.0, 0.0, 1.0, -1.0, 0.0], x=[1.0, -1.0, 0.0, 0.0, 0.0])


def linear_algebra():
    def square(name, pxl, f, dtypes=WIDE, n=4, grads="x"):
        return case(name, pxl, f, grads, dtypes, x=grid(n, n))

    def definite(x):
        return x @ x.transpose(-1, -2) + torch.eye(x.shape[-1], dtype=x.dtype)

    spd = "x @ x.T + eye(4)"
    yield square("cholesky", f"cholesky({spd})", lambda x: torch.linalg.cholesky(definite(x)))
    yield case("cholesky_batch", "cholesky(x @ x.transpose([0, 2, 1]) + eye(3))", lambda x: torch.linalg.cholesky(definite(x)),
               "x", WIDE, x=grid(2, 3, 3))
    for lower in (True, False):
        for transpose in (False, True):
            def solved(x, b, lower=lower, transpose=transpose):
                t = (x.tril() if lower else x.triu()) + 3 * torch.eye(4, dtype=x.dtype)
                return torch.linalg.solve_triangular(t.T if transpose else t, b, upper=lower == transpose)
            yield case(f"triangular_solve_{lower}_{transpose}",
                       f"triangular_solve(x + 3.0 * eye(4), b, lower = {str(lower).lower()}, transpose = {str(transpose).lower()})",
                       solved, "x b", WIDE, x=grid(4, 4), b=grid(4, 3))
    yield case("solve", "solve(x, b)", torch.linalg.solve, "x b", WIDE, x=grid(4, 4), b=grid(4, 3))
    yield case("solve_vector", "solve(x, b)", torch.linalg.solve, "x b", WIDE, x=grid(4, 4), b=grid(4))
    yield case("solve_vectors", "solve(x, b)", torch.linalg.solve, "x b", WIDE, x=grid(2, 3, 3), b=grid(2, 3))
    yield case("solve_broadcast", "solve(x, b)", torch.linalg.solve, "x b", WIDE, x=grid(2, 1, 3, 3), b=grid(3, 3, 2))
    yield square("inverse", "inverse(x)", torch.linalg.inv)
    for name, shape in (("batch", (3, 3, 3)), ("one", (1, 1, 1)), ("batches", (2, 2, 2, 2))):
        yield case(f"inverse_{name}", f"inverse(x + 3.0 * eye({shape[-1]}))",
                   lambda x: torch.linalg.inv(x + 3 * torch.eye(x.shape[-1], dtype=x.dtype)), "x", WIDE, x=grid(*shape))
    yield square("det_gradient", "det(x)", torch.linalg.det)
    yield case("slogdet", "slogdet(x)[1]", lambda x: torch.linalg.slogdet(x)[1], "x", WIDE, x=grid(3, 4, 4))
    yield case("slogdet_sign", "slogdet(x)[0]", lambda x: torch.linalg.slogdet(x)[0], dtypes=WIDE, x=grid(5, 3, 3))

    def qr(x):
        q, r = torch.linalg.qr(x)
        sign = torch.sign(torch.diagonal(r, dim1=-2, dim2=-1)).detach()
        return q * sign[..., None, :], r * sign[..., :, None]

    for name, shape in (("square", (3, 3)), ("tall", (5, 3)), ("batch", (2, 4, 2))):
        yield case(f"qr_{name}", "qr(x)", qr, "x", WIDE, x=grid(*shape))
    yield case("qr_wide", "qr(x)", qr, dtypes=WIDE, x=grid(2, 4))
    for name, shape in (("square", (3, 3)), ("tall", (5, 3)), ("wide", (2, 4))):
        yield case(f"svd_values_{name}", "svd(x)[1]", lambda x: torch.linalg.svdvals(x), "x", WIDE, x=grid(*shape))
        yield case(f"svd_vectors_{name}", "((u, s, vt) => u @ vt)(*svd(x))",
                   lambda x: (lambda u, s, vh: u @ vh)(*torch.linalg.svd(x, full_matrices=False)), "x", WIDE, x=grid(*shape))
    yield square("eigh_values", "eigh(x)[0]", lambda x: torch.linalg.eigvalsh((x + x.T) / 2))
    yield square("eigh_vectors", "((w, v) => (v * sin(w)) @ v.T)(*eigh(x))",
                 lambda x: (lambda w, v: (v * torch.sin(w)) @ v.T)(*torch.linalg.eigh((x + x.T) / 2)))


def fourier():
    def complex_of(x):
        return torch.view_as_complex(x.contiguous())

    for n in (1, 4, 7, 30, 49):
        yield case(f"fft_{n}", "fft(x)", lambda x: torch.view_as_real(torch.fft.fft(complex_of(x))), "x", WIDE, x=grid(2, n, 2))
        yield case(f"ifft_{n}", "ifft(x)", lambda x: torch.view_as_real(torch.fft.ifft(complex_of(x))), "x", WIDE, x=grid(n, 2))
        yield case(f"rfft_{n}", "rfft(x)", lambda x: torch.view_as_real(torch.fft.rfft(x)), "x", WIDE, x=grid(2, n))
        yield case(f"irfft_{n}", f"irfft(x, n = {n})", lambda x, n=n: torch.fft.irfft(complex_of(x), n), "x", WIDE,
                   x=grid(n // 2 + 1, 2))
    for norm in ("ortho", "forward"):
        yield case(f"fft_{norm}", f'fft(x, norm = "{norm}")',
                   lambda x, m=norm: torch.view_as_real(torch.fft.fft(complex_of(x), norm=m)), "x", x=grid(6, 2))
        yield case(f"irfft_{norm}", f'irfft(x, norm = "{norm}")', lambda x, m=norm: torch.fft.irfft(complex_of(x), norm=m), "x",
                   x=grid(5, 2))
    yield case("fft_axis", "fft(x, axis = 0)", lambda x: torch.view_as_real(torch.fft.fft(complex_of(x), dim=0)), "x", x=grid(5, 3, 2))
    yield case("rfft_axis", "rfft(x, axis = 0)", lambda x: torch.view_as_real(torch.fft.rfft(x, dim=0)), "x", x=grid(5, 3))
    yield case("fft2", "fft2(x)", lambda x: torch.view_as_real(torch.fft.fft2(complex_of(x))), "x", x=grid(2, 3, 4, 2))
    yield case("ifft2", "ifft2(x)", lambda x: torch.view_as_real(torch.fft.ifft2(complex_of(x))), "x", x=grid(3, 4, 2))
    yield case("rfft2", "rfft2(x)", lambda x: torch.view_as_real(torch.fft.rfft2(x)), "x", x=grid(2, 3, 4))
    yield case("irfft2", "irfft2(x, n = 5)", lambda x: torch.fft.irfft2(complex_of(x), (4, 5)), "x", x=grid(4, 3, 2))


FAMILIES = {f.__name__: list(f()) for f in (composites, linear_algebra, fourier)}
