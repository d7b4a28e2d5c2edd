"""ulpscope.torch: quantize's results, with a gradient, and in one graph where torch compiles."""

import unittest

import support

support.need("torch")
support.need_compiled()

import torch  # noqa: E402

import ulpscope  # noqa: E402
import ulpscope.torch  # noqa: E402

X = torch.tensor([0.1, 1e-9, 70000.0, -3.3])
WEIGHTS = torch.tensor([1.0, 0.1, 1e6, 7.7])
HOW = {"rounding": "sr", "bits": 8, "scale": 0.5, "seed": (1 << 64) - 1, "stream": 3}


def stepped(function, **how):
    """The result, and the gradient of its weighted sum."""
    x = X.clone().requires_grad_()
    y = function(x, torch.float16, **how)
    (y * WEIGHTS).sum().backward()
    return y.detach(), x.grad


class Quantize(unittest.TestCase):
    def test_results_are_those_of_quantize(self):
        for how in ({}, HOW, {"saturate": True}, {"saturate": "finite", "ftz": "result", "daz": True}, {"rounding": "sr", "bits": "all", "index": 1 << 63}):
            y, _ = stepped(ulpscope.torch.quantize, **how)
            self.assertTrue(torch.equal(y, ulpscope.quantize(X, "float16", **how)))

    def test_gradients(self):
        _, straight = stepped(ulpscope.torch.quantize, **HOW)
        self.assertTrue(torch.equal(straight, WEIGHTS * 0.5))
        _, rounded = stepped(ulpscope.torch.quantize, **HOW, gradient="quantized")
        self.assertTrue(torch.equal(rounded, ulpscope.quantize(WEIGHTS, "float16", **{**HOW, "stream": 3 ^ 1 << 63})))
        self.assertFalse(ulpscope.torch.quantize(X, "float16").requires_grad)

    def test_formats_are_named_in_all_ways(self):
        for format in ("float16", torch.float16, (5, 10), ulpscope.finfo("float16")):
            self.assertTrue(torch.equal(ulpscope.torch.quantize(X, format), ulpscope.quantize(X, "float16")))

    def test_errors(self):
        for words, how in (
            ("bits: 0 is neither", {"bits": 0}),
            ("bits: 'few' is neither", {"bits": "few"}),
            ("bits: 33 is neither", {"rounding": "sr", "bits": 33}),
            ("gradient: 'none' is not one of", {"gradient": "none"}),
            ("seed: -1 is not from 0", {"seed": -1}),
            ("rounding: cannot be 'up'", {"rounding": "up"}),
        ):
            with self.subTest(words=words), self.assertRaisesRegex(ValueError, words):
                ulpscope.torch.quantize(X, "float16", **how)

    @unittest.skipUnless(hasattr(torch.library, "custom_op"), "this torch has no custom operators")
    def test_compiled_in_one_graph(self):
        for gradient in ulpscope.torch.GRADIENTS:
            compiled = torch.compile(ulpscope.torch.quantize, backend="aot_eager", fullgraph=True)
            for got, expected in zip(stepped(compiled, **HOW, gradient=gradient), stepped(ulpscope.torch.quantize, **HOW, gradient=gradient)):
                self.assertTrue(torch.equal(got, expected))


if __name__ == "__main__":
    unittest.main()
