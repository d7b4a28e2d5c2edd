"""Pins what handlers of signals may do to a recorder, whose steps are written while others are counted: raise, ask for steps, close
it, end the process. Every step of which step() returned is in the file, as it was, or is told to be missing. The device is emulated."""

import asyncio
import gc
import multiprocessing
import os
import signal
import sqlite3
import sys
import time
import unittest
import warnings
from unittest import mock

import recorder_device_test as of_device
from recorder_device_test import emulated_device, np, recorder, rows_of, support, torch, train

counting = of_device.counting


def numbers(path):
    return [row[0] for row in rows_of(path)]


class Signals(of_device.Recorded):
    def setUp(self):
        super().setUp()
        self.addCleanup(signal.signal, signal.SIGTERM, signal.getsignal(signal.SIGTERM))

    def while_it_writes(self, rec, act):
        """A recorder of four steps, of which the last is written by the next call, with act() in between."""
        train(rec, self.model, 3)
        rec.step(3, loss_scale=1.0)
        write = rec._file.write

        def interrupted(*arguments):
            rec._file.write = write
            act()
            return write(*arguments)

        rec._file.write = interrupted

    def terminate(self):
        os.kill(os.getpid(), signal.SIGTERM)

    def test_an_interrupt_while_it_waits(self):
        with emulated_device.device(recorder, torch) as emulated, recorder.Recorder(self.path, self.model) as rec:
            train(rec, self.model, 3)
            emulated.hold_back()
            rec.step(3, loss_scale=1.0)
            with mock.patch.object(rec._writer._step, "arrive", side_effect=KeyboardInterrupt):
                with self.assertRaises(KeyboardInterrupt):
                    rec.step(4, loss_scale=1.0)
            emulated.release()
            rec.step(5, loss_scale=1.0)
        self.assertEqual(numbers(self.path), [0, 1, 2, 3, 5])

    def test_an_interrupt_while_it_writes(self):
        """It comes when the step that waited is in the file."""
        with emulated_device.device(recorder, torch), recorder.Recorder(self.path, self.model) as rec:
            self.while_it_writes(rec, lambda: os.kill(os.getpid(), signal.SIGINT))
            with self.assertRaises(KeyboardInterrupt):
                rec.step(4, loss_scale=1.0)
        self.assertEqual(numbers(self.path), [0, 1, 2, 3])

    def test_asyncio_keeps_its_own(self):
        loop = asyncio.new_event_loop()
        self.addCleanup(loop.close)
        came = []
        loop.add_signal_handler(signal.SIGUSR1, came.append, 1)
        its = signal.getsignal(signal.SIGUSR1)
        with emulated_device.device(recorder, torch), recorder.Recorder(self.path, self.model) as rec:
            self.while_it_writes(rec, lambda: (self.assertIs(signal.getsignal(signal.SIGUSR1), its), os.kill(os.getpid(), signal.SIGUSR1)))
            rec.step(4, loss_scale=1.0)
        loop.call_later(0.05, loop.stop)
        loop.run_forever()
        self.assertEqual(came, [1])

    def test_two_interrupts(self):
        """The second does not wait: the transaction that it ends is made again."""
        def twice():
            os.kill(os.getpid(), signal.SIGINT)
            os.kill(os.getpid(), signal.SIGINT)

        with emulated_device.device(recorder, torch), recorder.Recorder(self.path, self.model) as rec:
            self.while_it_writes(rec, twice)
            with self.assertRaises(KeyboardInterrupt):
                rec.step(4, loss_scale=1.0)
        self.assertEqual(numbers(self.path), [0, 1, 2, 3])
        self.assertEqual(signal.getsignal(signal.SIGINT), signal.default_int_handler)

    def test_a_handler_that_raises(self):
        def leave(*_):
            raise SystemExit(3)

        signal.signal(signal.SIGTERM, leave)
        with emulated_device.device(recorder, torch), recorder.Recorder(self.path, self.model) as rec:
            self.while_it_writes(rec, self.terminate)
            with self.assertRaises(SystemExit):
                rec.step(4, loss_scale=1.0)
            self.assertIs(signal.getsignal(signal.SIGTERM), leave)
        self.assertEqual(numbers(self.path), [0, 1, 2, 3])

    def test_a_handler_that_closes(self):
        for act in ("close", "flush"):
            with self.subTest(act), emulated_device.device(recorder, torch), warnings.catch_warnings():
                warnings.simplefilter("error")
                path = self.path + act
                rec = recorder.Recorder(path, self.model)
                signal.signal(signal.SIGTERM, lambda *_: getattr(rec, act)())
                self.while_it_writes(rec, self.terminate)
                rec.step(4, loss_scale=1.0)
                rec.close()
                self.assertEqual(numbers(path), [0, 1, 2, 3, *([4] if act == "flush" else [])])

    def test_a_handler_that_asks_while_it_waits(self):
        with emulated_device.device(recorder, torch) as emulated, recorder.Recorder(self.path, self.model) as rec:
            signal.signal(signal.SIGALRM, lambda *_: (emulated.release(), rec.flush()))
            self.addCleanup(signal.signal, signal.SIGALRM, signal.SIG_DFL)
            train(rec, self.model, 3)
            emulated.hold_back()
            rec.step(3, loss_scale=1.0)
            with warnings.catch_warnings():
                warnings.simplefilter("error")
                signal.setitimer(signal.ITIMER_REAL, 0.05)
                rec.flush()
        self.assertEqual(numbers(self.path), [0, 1, 2, 3])

    def test_an_error_that_an_interrupt_comes_with(self):
        """Is said by the next call."""
        with emulated_device.device(recorder, torch), recorder.Recorder(self.path, self.model) as rec:
            def fail():
                os.kill(os.getpid(), signal.SIGINT)
                raise OSError("no space left")

            self.while_it_writes(rec, fail)
            with self.assertRaises(KeyboardInterrupt):
                rec.flush()
            with self.assertWarnsRegex(RuntimeWarning, "step 3: OSError: no space left"):
                rec.flush()

    def test_an_interrupt_while_steps_are_merged(self):
        """What readers find merged is of all its steps, or not there."""
        path = self.path
        levels = sys.modules[recorder.__name__ + "._file.levels"]
        add = levels.Merged.add

        def interrupted(merged, *arguments):
            levels.Merged.add = add
            raise KeyboardInterrupt

        with recorder.Recorder(path, self.model) as rec:
            for i in range(200):
                self.model.zero_grad()
                self.model(torch.ones(1, 16)).sum().backward()
                if i == 70:
                    levels.Merged.add = interrupted
                    with self.assertRaises(KeyboardInterrupt):
                        rec.step(i, loss_scale=1.0)
                else:
                    rec.step(i, loss_scale=1.0)
        self.assertEqual(numbers(path), list(range(200)))
        with sqlite3.connect(path) as db:
            blocks = dict(db.execute("SELECT block, steps FROM level WHERE width=64"))
        self.assertEqual(blocks.pop(0), 64)
        self.assertNotIn(1, blocks)

    def test_memory_of_what_nobody_asks_for(self):
        """Is not used by others until it has come."""
        values = np.ones(64, np.float32)
        places = [(values.ctypes.data, 64, of_device.types["float32"].number)]
        with emulated_device.device(recorder, torch) as emulated, mock.patch.object(counting, "pool", counting.Pool()) as pool:
            for worker in (None, support.core() and support.core().counting.Worker()):
                emulated.hold_back()
                kinds = tuple(place[1:] for place in places)
                addresses = np.array([places[0][0]])
                started = counting.Started(kinds, addresses, False, 0, worker)
                address = started._host.address
                del started
                gc.collect()
                other = pool.take(1)
                self.assertNotEqual(other.address, address)
                emulated.release()
                for _ in range(500):
                    taken = pool.take(1)
                    if taken.address == address:
                        break
                    time.sleep(0.01)
                self.assertEqual(taken.address, address)


class Exit(of_device.Recorded):
    def test_a_process_of_multiprocessing(self):
        """Also without close()."""
        def run():
            global kept  # until the process ends
            kept = emulated_device.device(recorder, torch)
            kept.__enter__()
            kept = kept, recorder.Recorder(self.path, self.model)
            train(kept[1], self.model, 4)

        process = multiprocessing.get_context("fork").Process(target=run)
        process.start()
        process.join()
        self.assertEqual(process.exitcode, 0)
        self.assertEqual(os.listdir(os.path.dirname(self.path)), ["run.ulp"])
        self.assertEqual(numbers(self.path), [0, 1, 2, 3])


class Graphs(of_device.Recorded):
    """While one is captured, nothing may wait for the device."""

    def test_a_step_that_waits_is_kept(self):
        """Also where the next one needs no device."""
        with emulated_device.device(recorder, torch) as emulated, recorder.Recorder(self.path, self.model) as rec:
            train(rec, self.model, 3)
            rec.step(3, loss_scale=1.0)
            emulated.capturing = True
            self.model.zero_grad(set_to_none=True)
            with self.assertWarnsRegex(RuntimeWarning, "step 4: a CUDA graph is being captured"):
                rec.step(4, loss_scale=1.0, grads={"a": np.ones(3, np.float32)})
            emulated.capturing = False
        self.assertEqual(numbers(self.path), [0, 1, 2, 3])

    def test_close_says_what_is_missing(self):
        for strict in (False, True):
            path = f"{self.path}{strict}"
            with self.subTest(strict=strict), emulated_device.device(recorder, torch) as emulated:
                rec = recorder.Recorder(path, self.model, strict=strict)
                train(rec, self.model, 3)
                rec.step(3, loss_scale=1.0)
                emulated.capturing = True
                text = "it is not in the file: the recording was closed while a CUDA graph was being captured"
                if strict:
                    with self.assertRaisesRegex(Exception, text):
                        rec.close()
                else:
                    with self.assertWarnsRegex(RuntimeWarning, "step 3: " + text):
                        rec.close()
                self.assertEqual(numbers(path), [0, 1, 2])

    def test_numbers_are_not_copied(self):
        held = sys.modules[recorder.__name__ + "._recorder.held"].held
        with emulated_device.device(recorder, torch) as emulated:
            emulated.capturing = True
            with self.assertRaisesRegex(Exception, "CUDA graph"):
                held(torch.tensor(1.0), True)


if __name__ == "__main__":
    unittest.main()
