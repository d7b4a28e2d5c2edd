"""Pins how numbers come from a device to the host: each is what its stream had when it was asked for, however late that stream is,
whoever drops the others, and wherever their places are used again. The driver's functions are emulated, by streams that do nothing
before somebody waits for them."""

import contextlib
import ctypes
import gc
import importlib
import random
import sys
import unittest
from unittest import mock

import support

support.need("torch")

import torch  # noqa: E402

package = support.load(part="_recorder.recorder")
importlib.import_module(f"{package.__name__}._device.counting")
driver = sys.modules[f"{package.__name__}._device.driver"]
held_of = sys.modules[f"{package.__name__}._recorder.held"].held


class Driver:
    """What driver.py calls of CUDA's."""

    def __init__(self):
        self.streams, self.events, self.memory = {}, {}, []  # streams: what they have yet to do

    def cuMemHostAlloc(self, address, size, flags):
        self.memory.append(ctypes.create_string_buffer(b"\xa5" * size.value, size.value))
        address._obj.value = ctypes.addressof(self.memory[-1])
        return 0

    def cuMemcpyDtoHAsync_v2(self, to, at, size, stream):
        to, of, size = to.value, at.value, size.value
        self.do_later(stream, lambda: ctypes.memmove(to, of, size))
        return 0

    def cuEventCreate(self, event, flags):
        event._obj.value = len(self.events) + 1
        self.events[event._obj.value] = []
        return 0

    def cuEventRecord(self, event, stream):
        done = []
        self.events[event.value] = done, stream.value or 0
        self.do_later(stream, lambda: done.append(1))
        return 0

    def cuEventSynchronize(self, event):
        done, stream = self.events[event.value]
        while not done:
            self.streams[stream].pop(0)()
        return 0

    def do_later(self, stream, what):
        self.streams.setdefault(stream.value or 0, []).append(what)


class Numbers(unittest.TestCase):
    def setUp(self):
        self.cuda, self.stream = Driver(), 0
        self.used = []  # streams that the allocator is told of
        of_tensor = {"is_cuda": True, "get_device": lambda tensor: 0, "record_stream": lambda tensor, stream: self.used.append(stream)}
        patches = [mock.patch.object(torch.Tensor, name, value) for name, value in of_tensor.items()]
        patches += [
            mock.patch.object(driver, "library", lambda: self.cuda),
            mock.patch.object(driver, "stream", lambda device: self.stream),
            mock.patch.object(driver, "torch_stream", lambda device: self.stream),
            mock.patch.object(driver, "is_usable", lambda device: True),
            mock.patch.object(driver, "is_capturing", lambda: False),
            mock.patch.object(driver, "on", lambda device: contextlib.nullcontext()),
            mock.patch.object(driver, "_numbers", driver.Numbers()),
            mock.patch.object(driver, "_copies", {}),
            mock.patch.object(driver.Event, "_free", {}),
        ]
        for patch in patches:
            patch.start()
            self.addCleanup(patch.stop)

    def number(self, value, dtype=torch.float32):
        """On a device, where the stream makes it, and soon makes another of it: what is held, and what that is."""
        tensor = torch.zeros((), dtype=dtype)
        value = float(torch.tensor(value, dtype=dtype))
        self.cuda.do_later(ctypes.c_void_p(self.stream), lambda: tensor.fill_(value))
        got = held_of(tensor, True)
        self.cuda.do_later(ctypes.c_void_p(self.stream), lambda: tensor.fill_(-1))
        return got, value

    def test_any_order(self):
        rng = random.Random(3)
        waiting = []
        for i in range(1000):
            self.stream = rng.choice([0, 0, 0, 7])
            waiting.append(self.number(i, rng.choice([torch.float32, torch.float64, torch.float16])))
            if rng.random() < 0.3:
                driver.end_copies()
            if rng.random() < 0.2:  # nobody asks for it
                del waiting[rng.randrange(len(waiting))]
                gc.collect() if rng.random() < 0.02 else None
            while len(waiting) > rng.choice([1, 4, 40]):
                held, value = waiting.pop(rng.randrange(len(waiting)))
                self.assertEqual(float(held), value)
        for held, value in waiting:
            self.assertEqual(float(held), value)

    def test_places_and_events_are_used_again(self):
        for i in range(500):
            numbers = [self.number(i + k / 8) for k in range(5)]
            driver.end_copies()
            self.assertEqual([float(held) for held, _ in numbers], [value for _, value in numbers])
        self.assertEqual(self.used, [0] * 2500)
        self.assertEqual(len(self.cuda.memory), 1)
        self.assertLessEqual(len(self.cuda.events), 3)


if __name__ == "__main__":
    unittest.main()
