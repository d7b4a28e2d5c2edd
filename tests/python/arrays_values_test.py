"""quantize, encode, decode and outcomes beside rounding by definition, numpy's and torch's casts, and `ulp convert`."""

import json
import types
import unittest

import support

support.need("numpy")
support.need_compiled()

import array_oracle
import numpy as np

import ulpscope

try:
    import torch
except ImportError:
    torch = None


def same(a, b):
    """Numbers with the signs of zeros, and NaN where NaN is."""
    return np.array_equal(a, b, equal_nan=True) and np.array_equal(np.signbit(a), np.signbit(b))


class Definition(unittest.TestCase):
    """All numbers, midpoints and neighbours of four formats in six roundings: 1.4 million inputs in each."""

    def test_quantize_rounds_as_defined(self):
        for name in array_oracle.FORMATS:
            for type_ in (np.float32, np.float64):  # float64: neighbours that float32 does not tell apart
                x = array_oracle.hard_cases(name, type_)
                for rounding in array_oracle.ROUNDINGS:
                    with self.subTest(name=name, type=type_.__name__, rounding=rounding):
                        result = ulpscope.quantize(x, name, rounding)
                        self.assertEqual(result.dtype, x.dtype)
                        expected = array_oracle.rounded(name, x.astype(float), rounding)
                        wrong = ~((result == expected) | (np.isnan(result) & np.isnan(expected)))
                        self.assertEqual(x[wrong].tolist()[:3], [])
                        self.assertTrue(same(result, expected.astype(type_)))

    def test_codes_are_those_of_the_numbers(self):
        for name in array_oracle.FORMATS:
            numbers = array_oracle.positive_numbers(name)
            codes = ulpscope.encode(numbers, name)
            self.assertTrue(np.array_equal(codes, np.arange(len(numbers))))
            decoded = ulpscope.decode(np.arange(len(numbers)), name)
            self.assertEqual(decoded.dtype, np.float32)
            self.assertTrue(np.array_equal(decoded, numbers))

    def test_float16_and_bfloat16_elements_are_rounded_as_what_they_are(self):
        codes = np.arange(1 << 16, dtype=np.uint16)
        x = codes.view(np.float16)
        for rounding in array_oracle.ROUNDINGS:
            expected = array_oracle.rounded("float8_e4m3fn", x.astype(float), rounding)
            self.assertTrue(same(ulpscope.quantize(x, "e4m3fn", rounding), expected.astype(np.float16)))


class Program(support.InFolder):
    def converted(self, x, *options):
        np.save(self.path("x.npy"), x)
        support.ulp("convert", self.path("x.npy"), "-o", self.path("y.npy"), *options)
        return np.load(self.path("y.npy"))

    def test_seven_roundings_are_those_of_ulp_convert(self):
        for name in array_oracle.FORMATS:
            x = array_oracle.hard_cases(name, np.float32)
            for rounding in [*array_oracle.ROUNDINGS, "stochastic"]:
                with self.subTest(name=name, rounding=rounding):
                    how = {"seed": 7, "stream": ulpscope.stream_of("x", 0)} if rounding == "stochastic" else {}
                    codes = ulpscope.encode(x, name, rounding, **how)
                    theirs = self.converted(x, "--to", name, "--rounding", rounding, "--seed", 7)
                    self.assertTrue(np.array_equal(codes, theirs.view(codes.dtype)))
                    values = self.converted(x, "--to", name, "--rounding", rounding, "--seed", 7, "--values")
                    mine = ulpscope.quantize(x, name, rounding, **how)
                    self.assertTrue(np.array_equal(mine.view(np.uint32), values.view(np.uint32)))  # NaNs, too

    def test_other_arguments_mean_what_options_mean(self):
        x = array_oracle.hard_cases("float8_e4m3fn", np.float32)
        stream = {"seed": 3, "stream": ulpscope.stream_of("x")}
        for options, arguments in [
            (["--saturate"], {"saturate": True}),
            (["--saturate-finite"], {"saturate": "finite"}),
            (["--ftz", "before"], {"ftz": "before"}),
            (["--ftz", "after", "--scale", "0.0625"], {"ftz": "after", "scale": 2.0**-4}),
            (["--ftz", "result", "--scale", "0.1"], {"ftz": "result", "scale": 0.1}),
            (["--daz", "--scale", "2^140"], {"daz": True, "scale": 2.0**140}),
            (["--rounding", "sr:B,bits=5", "--seed", "3"], {"rounding": "stochastic:B", "bits": 5, **stream}),
            (["--rounding", "sr:bits=all", "--seed", "3"], {"rounding": "sr", "bits": "all", **stream}),
            (["--rounding", "amd", "--seed", "3"], {"rounding": "amd", **stream}),
        ]:
            with self.subTest(options=options):
                theirs = self.converted(x, "--to", "e4m3fn", *options)
                self.assertTrue(np.array_equal(ulpscope.encode(x, "e4m3fn", **arguments), theirs.view(np.uint8)))

    def test_an_index_goes_on_where_a_piece_ends(self):
        x = np.random.default_rng(1).standard_normal(5000).astype(np.float32)
        whole = ulpscope.quantize(x, "e4m3fn", "sr", bits=8, seed=5)
        pieces = [
            ulpscope.quantize(x[i : i + 700], "e4m3fn", "sr", bits=8, seed=5, index=i) for i in range(0, 5000, 700)
        ]
        self.assertTrue(np.array_equal(whole, np.concatenate(pieces)))
        self.assertFalse(np.array_equal(whole, ulpscope.quantize(x, "e4m3fn", "sr", bits=8, seed=6)))
        self.assertFalse(np.array_equal(whole, ulpscope.quantize(x, "e4m3fn", "sr", bits=8, seed=5, stream=1)))

    def test_counts_are_those_of_ulp_convert(self):
        x = array_oracle.hard_cases("cbfloat16", np.float32)
        np.save(self.path("x.npy"), x)
        for scale in ("1", "1024", "0.3"):
            said = json.loads(
                support.ulp(
                    "convert", self.path("x.npy"), "-o", self.path("y.npy"), "--to", "fp16", "--scale", scale, "--json"
                )
            )
            counts = ulpscope.outcomes(x, "fp16", scale=float(scale))
            self.assertGreater(counts["underflow"] * counts["subnormal"] * counts["overflow"] * counts["nan"], 0)
            self.assertEqual(counts, {key: said["tensors"][0][key] for key in counts})


class Casts(unittest.TestCase):
    """Casts of numpy and torch, on the hard cases and on a million bit patterns. What differs is said."""

    def patterns(self, format_, type_=np.float32):
        random = np.random.default_rng(2).integers(0, 1 << 32, 1 << 20, dtype=np.uint32).view(np.float32)
        with np.errstate(all="ignore"):
            return np.concatenate([array_oracle.hard_cases(format_, type_), random.astype(type_)])

    def test_numpys_float16(self):
        for type_ in (np.float32, np.float64):
            x = self.patterns("float16", type_)
            with np.errstate(all="ignore"):
                cast = x.astype(np.float16)
            codes = ulpscope.encode(x, np.float16)
            number = ~np.isnan(x)
            self.assertTrue(np.array_equal(codes[number], cast.view(np.uint16)[number]))
            # Of NaNs numpy keeps signaling ones, where IEEE 754 makes them quiet; the sign is the same.
            self.assertTrue(np.isnan(codes[~number].view(np.float16)).all())
            self.assertTrue(np.array_equal(codes[~number] >> 15, cast.view(np.uint16)[~number] >> 15))

    @unittest.skipIf(torch is None, "torch is not installed")
    def test_torchs_float16_and_bfloat16(self):
        for name in ("float16", "bfloat16"):
            x = torch.from_numpy(self.patterns(name))
            cast = x.to(getattr(torch, name))
            codes = ulpscope.encode(x, cast.dtype)
            self.assertEqual(codes.dtype, torch.int16)
            number = ~torch.isnan(x)
            self.assertTrue(torch.equal(codes[number], cast.view(torch.int16)[number]))
            # torch has one NaN of bfloat16; here sign and payload stay.
            self.assertTrue(torch.isnan(codes[~number].view(cast.dtype)).all())
            rounded = ulpscope.quantize(x, cast.dtype)
            self.assertTrue(torch.equal(rounded[number], cast.float()[number]))

    @unittest.skipIf(torch is None, "torch is not installed")
    def test_a_double_is_rounded_once_where_torch_rounds_twice(self):
        x = torch.tensor([1 + 2.0**-8 + 2.0**-40, 1 + 3 * 2.0**-8 - 2.0**-40], dtype=torch.float64)
        self.assertEqual(ulpscope.quantize(x, torch.bfloat16).tolist(), [1 + 2.0**-7, 1 + 2.0**-7])
        self.assertEqual(x.to(torch.bfloat16).double().tolist(), [1, 1 + 2.0**-6])

    @unittest.skipUnless(hasattr(torch, "float8_e4m3fn"), "torch has no float8")
    def test_torchs_float8(self):
        for name in ("float8_e4m3fn", "float8_e5m2", "float8_e4m3fnuz", "float8_e5m2fnuz"):
            x = torch.from_numpy(self.patterns("float8_e4m3fn"))
            cast = x.to(getattr(torch, name))
            codes = ulpscope.encode(x, cast.dtype)
            number = ~torch.isnan(x)
            self.assertTrue(torch.equal(codes[number], cast.view(torch.uint8)[number]), name)
            self.assertTrue(torch.equal(ulpscope.quantize(cast, cast.dtype).view(torch.uint8)[number], codes[number]))

    def test_types_by_their_names_alone(self):
        """Those of ml_dtypes and jax where numpy knows nothing of them: classes, dtypes, and what has a dtype."""
        names = ["bfloat16", "float8_e3m4", "float8_e4m3", "float8_e4m3b11fnuz", "float8_e4m3fn", "float8_e4m3fnuz", "float8_e5m2"]
        names += ["float8_e5m2fnuz", "float8_e8m0fnu", "float6_e2m3fn", "float6_e3m2fn", "float4_e2m1fn"]
        values = np.float32([0.3, 1.75, 3, 1e-3])
        for name in names:
            class_ = type(name, (), {"__module__": "ml_dtypes"})
            dtype = types.SimpleNamespace(name=name)
            for given in (class_, dtype, types.SimpleNamespace(dtype=dtype)):
                self.assertEqual(ulpscope.finfo(given), ulpscope.finfo(name))
                np.testing.assert_array_equal(ulpscope.quantize(values, given), ulpscope.quantize(values, name))
        for given in (object, type("float9", (), {}), types.SimpleNamespace(name="float9"), types.SimpleNamespace(name=3), [], None):
            with self.assertRaisesRegex(TypeError, "is not a name"):
                ulpscope.finfo(given)

    def test_ml_dtypes(self):
        if not support.has("ml_dtypes"):
            self.skipTest("ml_dtypes is not installed")
        import ml_dtypes

        x = self.patterns("float8_e4m3fn")
        for name in ("bfloat16", "float8_e4m3fn", "float8_e5m2", "float8_e4m3fnuz", "float8_e5m2fnuz"):
            type_ = getattr(ml_dtypes, name)
            with np.errstate(all="ignore"):
                cast = x.astype(type_)
            codes = ulpscope.encode(x, type_)
            number = ~np.isnan(x)
            self.assertTrue(np.array_equal(codes[number], cast.view(codes.dtype)[number]), name)


class Limits(unittest.TestCase):
    NAMES = (
        "bits eps epsneg iexp machep max maxexp min minexp negep nexp nmant precision smallest_normal "
        "smallest_subnormal tiny"
    )

    def test_finfo_is_numpys(self):
        for type_ in (np.float16, np.float32, np.float64):
            theirs, mine = np.finfo(type_), ulpscope.finfo(type_)
            for name in self.NAMES.split():
                self.assertEqual(getattr(mine, name), getattr(theirs, name), f"{type_.__name__} {name}")
            self.assertTrue(np.isclose(mine.resolution, float(theirs.resolution), rtol=1e-3))

    def test_published_limits_of_other_formats(self):
        # OCP OFP8 1.0, table 1; MX 1.0, tables 3 to 5; Intel 338302-001.
        for name, largest, normal, subnormal in [
            ("float8_e4m3fn", 448, 2.0**-6, 2.0**-9),
            ("float8_e5m2", 57344, 2.0**-14, 2.0**-16),
            ("float6_e3m2", 28, 0.25, 0.0625),
            ("float6_e2m3", 7.5, 1, 0.125),
            ("float4_e2m1", 6, 1, 0.5),
            ("bfloat16", 2.0**127 * (2 - 2.0**-7), 2.0**-126, 2.0**-133),
        ]:
            info = ulpscope.finfo(name)
            self.assertEqual((info.max, info.smallest_normal, info.smallest_subnormal), (largest, normal, subnormal))
            self.assertEqual(info.min, -largest)
        self.assertEqual(ulpscope.finfo("float8_e8m0").min, 2.0**-127)
        self.assertIsNone(ulpscope.finfo("float8_e8m0").smallest_subnormal)

    def test_formats_by_every_kind_of_name(self):
        x = np.float32([0.1, 300, 1e-9])
        half = x.astype(np.float16).astype(np.float32)
        names = ["e5m10", "fp16", "half", (5, 10), np.float16, np.dtype("f2"), "float16", ulpscope.finfo("float16")]
        if torch is not None:
            names.append(torch.float16)
        for name in names:
            self.assertTrue(np.array_equal(ulpscope.quantize(x, name), half), name)
        self.assertIn("cbfloat16", ulpscope.formats())

    def test_a_largest_number_of_ones_own(self):
        name = "e4m3fnuz,max=224"
        info = ulpscope.finfo(name)
        self.assertEqual((info.max, info.min, info.max_code, info.name), (224, -224, 0x7E, "float8_e4m3fnuz,max=224"))
        self.assertEqual(info, ulpscope.finfo(info.name))
        self.assertEqual(hash(info), hash(ulpscope.finfo(info.name)))
        self.assertNotEqual(info, ulpscope.finfo("e4m3fnuz"))
        x = np.float32([230, -230, 232, 233, 240, -1e9, 3])
        for given in (name, info):
            np.testing.assert_array_equal(
                ulpscope.quantize(x, given), np.float32([224, -224, 224, np.nan, np.nan, np.nan, 3])
            )
            np.testing.assert_array_equal(
                ulpscope.quantize(x, given, saturate=True), np.float32([224, -224, 224, 224, 224, -224, 3])
            )
            self.assertEqual(ulpscope.encode(x, given).tolist()[:5], [0x7E, 0xFE, 0x7E, 0x80, 0x80])
            self.assertEqual(ulpscope.decode(np.uint8([0x7E, 0x7F]), given).tolist(), [224, 240])
        with self.assertRaisesRegex(ValueError, "the nearest are 224 and 240"):
            ulpscope.finfo("e4m3fnuz,max=230")

    def test_p3109(self):
        info = ulpscope.finfo("binary8p3se")
        self.assertEqual((info.max, info.smallest_subnormal, info.infinity_code, info.nan_code), (49152, 2.0**-17, 0x7F, 0x80))
        codes = ulpscope.encode(np.float32([1, -1, 1e9, -1e9, np.nan, -0.0]), "Binary8p3se")
        self.assertEqual(codes.tolist(), [0x40, 0xC0, 0x7F, 0xFF, 0x80, 0])
        numbers = ulpscope.decode(codes, info)
        np.testing.assert_array_equal(numbers, np.float32([1, -1, np.inf, -np.inf, np.nan, 0]))


def mxfp8_by_definition(x):
    """Of one block the scale by OCP's rule, and numbers of float8_e4m3fn by definition."""
    scale = 2.0 ** (np.frexp(np.abs(x).max())[1] - 1 - 8)
    y = np.clip(x.astype(float) / scale, -448, 448)
    step = 2.0 ** (np.maximum(np.frexp(np.abs(y))[1] - 1, -6) - 3)
    return scale, np.clip(np.round(y / step) * step, -448, 448) * scale


class OwnBlocks(unittest.TestCase):
    def setUp(self):
        random = np.random.default_rng(5)
        self.x = (random.standard_normal((6, 200)) * 2.0 ** random.integers(-9, 9, (6, 200))).astype(np.float32)

    def test_another_shape_is_quantized_by_its_rule(self):
        for name, height, width in (("mxfp8,block=64", 1, 64), ("mxfp8,block=4x48", 4, 48), ("mxfp8", 1, 32)):
            with self.subTest(name):
                made = ulpscope.encode(self.x, name)
                numbers = ulpscope.quantize(self.x, name)
                self.assertTrue(same(ulpscope.decode(made, name), numbers))
                scales = ulpscope.decode(made.scale, "float8_e8m0")
                for r in range(0, 6, height):
                    for c in range(0, 200, width):
                        block = np.s_[r : r + height, c : c + width]
                        scale, expected = mxfp8_by_definition(self.x[block])
                        np.testing.assert_array_equal(numbers[block], expected)
                        self.assertEqual(scales[r // height, c // width], scale)
        along = ulpscope.quantize(self.x.T, "mxfp8,block=64", axis=0)
        self.assertTrue(same(along.T, ulpscope.quantize(self.x, "mxfp8,block=64")))

    def test_names(self):
        te = ulpscope.quantize(self.x, "mxfp8,block=64", dialect="te")
        self.assertTrue(same(te, ulpscope.quantize(self.x, "te_mxfp8_e4m3_cppref,block=1x64")))
        with self.assertRaisesRegex(ValueError, "block=COLUMNS or block=ROWSxCOLUMNS"):
            ulpscope.quantize(self.x, "mxfp8,block=0")

    def test_dot_products_of_blocks_are_those_of_their_codes(self):
        a, b = self.x[0], self.x[1]
        for name, element, scale, size in (
            ("mxfp8", "float8_e4m3fn", "float8_e8m0", 32),
            ("mxfp4", "float4_e2m1", "float8_e8m0", 32),
            ("mxfp4,block=16", "float4_e2m1", "float8_e8m0", 16),
            ("torchao_nvfp4_onelevel", "float4_e2m1", "float8_e4m3fn", 16),
            ("nvfp4", "float4_e2m1", "float8_e4m3fn", 16),
        ):
            with self.subTest(name):
                made = [ulpscope.encode(x, name) for x in (a, b)]
                sums = ulpscope.dot(
                    *(ulpscope.decode(m.codes, element) for m in made),
                    format=element,
                    unit="B200",
                    scales=tuple(ulpscope.decode(m.scale, scale) for m in made),
                    scale_format=scale,
                    block=size,
                )
                if name == "nvfp4":
                    of_both = [np.abs(x).max() * (np.float32(1) / np.float32(2688)) for x in (a, b)]
                    sums = float(np.float32(sums) * (of_both[0] * of_both[1]))
                got = ulpscope.dot(a, b, format=name, unit="B200")
                self.assertEqual(got, sums)
                numbers = [ulpscope.quantize(x, name).astype(float) for x in (a, b)]
                self.assertLess(abs(got - numbers[0] @ numbers[1]), 1e-6 * (np.abs(numbers[0]) @ np.abs(numbers[1])))
        for format, more, reason in (
            ("mxfp8", {}, "for a `unit`"),
            ("mxint8", {"unit": "B200"}, "no matrix unit"),
            ("fp8_1x128", {"unit": "B200"}, "no matrix unit"),
            ("nvfp4", {"unit": "B200", "c": 1.0}, "c: is not for nvfp4"),
            ("mxfp8", {"unit": "H100"}, "float8_e8m0"),
        ):
            with self.subTest(format=format, **more), self.assertRaisesRegex(ValueError, reason):
                ulpscope.dot(a, b, format=format, **more)
        with self.assertRaisesRegex(ValueError, "2 dimensions"):
            ulpscope.dot(self.x, self.x, format="mxfp8", unit="B200")


if __name__ == "__main__":
    unittest.main()
