"""Training as if in few bits: what the linear and convolution layers of a model read, and the gradients that come back
to them, pass through a format.

    with ulpscope.emulate(model, "cbfloat16"):
        train(model)

Tensors are rounded, and stay in the type of the training: in float32, say, with numbers that cbfloat16 has. Products and
sums are torch's own.
"""

from __future__ import annotations

import functools
import re
import sys
import warnings
from typing import Any, Dict, Iterable, List, Mapping, Optional, Sequence, Tuple, Union

import torch
from torch import nn
from torch.nn import functional as F

from . import _arrays, _blocks
from ._formats import Format, finfo, format_name
from ._recorder.graph import autocast_type
from ._recorder.hooks import Hook, Hooks
from ._recorder.model import unwrapped
from ._recorder.names import plain

__all__ = ["Emulation", "emulate"]

KINDS = ("activation", "weight", "activation_grad", "weight_grad")
OPERANDS = KINDS[:3]  # of the products of a layer, forward and backward
OPTIONS = ("format", "rounding", "bits", "seed", "saturate", "ftz", "daz", "scale", "dialect")

# All that have one weight, and read one tensor.
LAYERS = (nn.Linear, nn.modules.conv._ConvNd)
# These use the weight of a linear layer that they never call, or multiply by weights of their own.
NOT_LAYERS = (nn.MultiheadAttention, nn.RNNBase, nn.RNNCellBase, nn.Bilinear)

Recipe = Union[Format, Mapping[str, Any], None]


def emulate(model: nn.Module, recipe: Recipe) -> Emulation:
    """Rounds what the layers of a model compute with, from now until remove(), or until the end of a `with`.

    model   its nn.Linear, nn.Conv1d to 3d and nn.ConvTranspose1d to 3d are the layers. It may be wrapped, as by
            DistributedDataParallel.
    recipe  a treatment of all layers, or a mapping whose values are treatments or mappings again. Its keys are
                kinds of tensors, as below,
                or regular expressions, searched in names of layers as `--tensor` is in names of tensors: "" is all.
            Entries override what earlier ones say of the same layers and kinds.

                {"activation": "e4m3fn", "weight": "e4m3fn", "activation_grad": "e5m2", "^head$": None}
                {"": "bfloat16", "^blocks": {"activation_grad": {"format": "e5m2", "rounding": "sr", "seed": 1}}}

    A treatment is a format, as ulpscope.quantize takes it, blocks too; or a dictionary of `format` and any of quantize's
    rounding, bits, seed, saturate, ftz, daz, scale and dialect; or None, which leaves tensors as they are. The scale may be
    "current": in each call the greatest power of two that takes the tensor's largest magnitude, as a float32, to no more than
    the format's largest number (1 where it is zero or not finite), but at most 2**127, the greatest that float32 has, as in
    TransformerEngine: a tensor of float8_e4m3fn whose largest magnitude is below 448 / 2**127 takes less than the whole
    range. Without a kind, a format is for the first three, and None for all four:

    activation       the input of a layer, for the output and for the gradient of the weight
    weight           the weight, for the output and for the gradient of the input
    activation_grad  the gradient of the output, summed over all that uses it, before the layer computes from it the
                     gradients of input, weight and bias
    weight_grad      the gradient of the weight from one call of the layer, before it is added to `.grad`

    Gradients pass through the rounding of activations and weights unchanged. Bias, output, the gradients of bias and
    input, and other modules are not rounded. A warning names modules that multiply without calling a layer, such as
    nn.MultiheadAttention; in evaluation, nn.TransformerEncoderLayer may do so too.

    Blocks ("mxfp8", "nvfp4", "fp8_1x128", ...) lie along the axis that a product sums over, as matrix units read them. So
    each operand is quantized twice: input and weight along their last axis for the output, the gradient of the output along
    its last and the weight along its first for the gradient of the input, gradient and input along the tokens for the
    gradient of the weight. Blocks that are squares, and one scale for the tensor, are the same both ways. The gradient of
    the bias is the sum of what came, before it was quantized, as in TransformerEngine. weight_grad is quantized along
    its last axis. Blocks are for nn.Linear; convolutions and classes with a `forward` of their own take formats with
    one scale or none. Through such layers torch takes first derivatives only, and a Recorder sees the gradients of their
    outputs as they come, of unknown parts.

    Tensors keep their types. NaN, infinity and overflow become what quantize makes of them. With a scale, x * scale is
    rounded once, exactly, then divided by the scale in float32 (float64 for doubles). Tensors of 16 bits are rounded to
    float32, then to their own type. It has these numbers, but for the largest of a format (float16's 65504 is 65536 in
    bfloat16; cbfloat16's exceed float16) and what a scale that is no power of two leaves. Under autocast a float32
    tensor is rounded, then cast as always, and weight_grad is the 16-bit gradient. Gradients come multiplied by the loss
    scale, and are rounded so.

    Stochastic rounding takes the random bits of (seed, ulpscope.stream_of(name, step)). The name is "KIND/LAYER", and
    "KIND/LAYER[1]" and so on for further calls of a layer in a step; "weight/" and the name of the parameter for weights,
    so that a tied weight is the same wherever it is used; "weight_grad/LAYER.weight"; with "^T" behind it where blocks run
    along the other axis than the last. Each forward pass of the model
    with gradients on begins a step, the first is 0; Emulation.step() numbers them otherwise. Gradient checkpointing
    repeats the bits of the forward pass, where a checkpointed part calls each layer once and the backward pass comes
    before the next forward pass.

    Parameters and state_dict() are untouched, and copies and pickles of the model are not emulated. Gradients are
    rounded wherever the backward pass runs. A Recorder of the model, made before or after, sees them rounded. Compiled
    models are compiled anew, in pieces between the layers; fullgraph=True cannot.

    Raises ValueError for recipes that name what is not there, blocks for other layers than nn.Linear, weights that are a
    parametrization and models that are emulated already, TypeError for what is no recipe or model, before anything is changed.

    >>> model = torch.nn.Linear(1, 1, bias=False)
    >>> with ulpscope.emulate(model, {"weight": "float8_e4m3fn"}), torch.no_grad():
    ...     y = model(torch.ones(1))
    >>> float(y) == float(ulpscope.quantize(model.weight.detach(), "float8_e4m3fn"))
    True
    """
    return Emulation(model, recipe)


class Emulation:
    """What emulate() returns, also in a `with`."""

    def __init__(self, model: nn.Module, recipe: Recipe) -> None:
        if not isinstance(model, nn.Module):
            raise TypeError(f"model: is a {type(model).__name__}, not a torch.nn.Module")
        root, _, _ = unwrapped(model)
        modules = _layers_of(root)
        plan = _plan(recipe, modules)
        for name, of in plan.items():
            _check_blocks(name, modules[name], of)
        _warn_of_others(root)
        self._steps, self._hooks = _Steps(), Hooks()
        parameters = {id(parameter): plain(name) for name, parameter in root.named_parameters()}
        self._layers = [_Layer(name, modules[name], of, parameters, self._steps) for name, of in plan.items() if of]
        self._hooks.append(root.register_forward_pre_hook(_Hook(self._steps.begin)))
        self._hooks.append(root.register_forward_hook(_Hook(self._steps.end)))
        for layer in self._layers:
            self._hooks += layer.watch()
        _compile_anew()

    @property
    def layers(self) -> Dict[str, Dict[str, str]]:
        """{name of a layer: {kind: its treatment in words}}, of those that are rounded."""
        return {layer.name: {kind: str(treatment) for kind, treatment in layer.of.items()} for layer in self._layers}

    def step(self, number: Optional[int] = None) -> None:
        """What follows is step `number`, by default the next. Forward passes begin no steps any more.

        After the optimizer's step: for microbatches, which are one step then, for models of which parts are called alone,
        and with the number for training that is resumed.
        """
        self._steps.say(None if number is None else _arrays._integer(number, "number", 0, (1 << 63) - 1))

    def remove(self) -> None:
        """The model computes as before. Further calls do nothing."""
        self._hooks.remove()
        if self._hooks:
            _compile_anew()
        self._hooks = Hooks()
        for layer in self._layers:
            _show_weight(layer.module)

    def __enter__(self) -> Emulation:
        return self

    def __exit__(self, *error: Any) -> None:
        self.remove()


class _Treatment:
    """What becomes of the numbers of a tensor."""

    follows_axis = False  # whether it is another along another axis
    is_whole = True  # whether the shape of a tensor is nothing to it

    def __init__(
        self, format: Format, rounding: str = "nearest-even", *, scale: Union[float, str] = 1, **how: Any
    ) -> None:
        self._format, self._scale = format_name(format), scale
        self._how = {"rounding": rounding, **how}
        if isinstance(scale, str) and scale != "current":
            raise ValueError(f"scale: {scale!r} is neither a number nor 'current'")
        if "dialect" in how:
            raise ValueError(f"dialect: {self._format} is no format of blocks; `block_formats()` has them")

    def __str__(self) -> str:
        return _in_words(self._format, {**self._how, "scale": self._scale})

    def __call__(self, x: torch.Tensor, stream: int, type_: Optional[torch.dtype] = None) -> torch.Tensor:
        """x rounded, and then cast to that type."""
        y = _copy(x, type_)
        self.round(x.detach(), y.detach(), stream)
        return y

    def round(self, x: torch.Tensor, y: torch.Tensor, stream: int) -> None:
        """Into y. Narrow types do not hold every format, nor every product with a scale."""
        scale = _current_scale(x, self._format) if self._scale == "current" else self._scale
        wide = y if y.element_size() >= 4 else torch.empty_like(x, dtype=torch.float32)
        _arrays.quantize(x, self._format, stream=stream, out=wide, scale=scale, **self._how)
        if scale != 1:
            wide.div_(wide.new_full((), scale))  # by a number, devices would multiply by its inverse
        if wide is not y:
            y.copy_(wide)


class _InBlocks(_Treatment):
    """Of a format of blocks. Those of several rows, or along an axis, are of matrices, whose rows are all but the last axis."""

    def __init__(self, format: str, rounding: str = "nearest-even", *, dialect: Optional[str] = None, **how: Any) -> None:
        self._row = row = _blocks.Row(format, dialect)
        self._format = format
        self._how = {"rounding": rounding, "dialect": dialect, **how}
        if row.transposes:
            raise ValueError(f"format: {row.name} transforms a matrix, which both operands of a product would have to be")
        self.is_whole = row.height == 0
        self.follows_axis = row.height != 0 and row.height != row.width

    def __str__(self) -> str:
        return _in_words(self._format, self._how)

    def round(self, x: torch.Tensor, y: torch.Tensor, stream: int) -> None:
        columns = x.shape[-1] if x.dim() else 1
        y.copy_(self.matrix(x.reshape(x.shape[:-1].numel(), columns), stream).reshape(x.shape))

    def matrix(self, x: torch.Tensor, stream: int) -> torch.Tensor:
        """Along the last axis, in float32."""
        return _arrays.quantize(x.detach().cpu(), self._format, stream=stream, **self._how).to(x.device)


def _in_words(format: str, how: Mapping[str, Any]) -> str:
    usual = {"rounding": "nearest-even", "scale": 1, "dialect": None}
    return " ".join([format, *(f"{k}={v}" for k, v in how.items() if k not in usual or v != usual[k])])


def _current_scale(x: torch.Tensor, format: str) -> float:
    """By float32's division, as TransformerEngine's current scaling with powers of two; 2**127 is the most that float32 has."""
    amax = x.abs().max().float() if x.numel() else torch.zeros(())
    if not 0 < amax < float("inf"):
        return 1.0
    quotient = torch.full_like(amax, finfo(format).max) / amax
    return 2.0 ** min(int(torch.frexp(quotient)[1]) - 1, 127) if torch.isfinite(quotient) else 2.0**127


def _copy(x: torch.Tensor, type_: Optional[torch.dtype]) -> torch.Tensor:
    """Of that type, or its own. Operators of torch itself have gradients of every order, and a Recorder sees through them."""
    return x.clone() if type_ is None else x.to(type_)


class _Steps:
    """Numbers steps, and the calls of layers in them."""

    def __init__(self) -> None:
        self._number = -1  # before the first
        self._is_said = False  # by the loop
        self._calls = self._training = _Calls()

    def begin(self, model: nn.Module, inputs: Any) -> None:
        """Of a forward pass of the model."""
        if not torch.is_grad_enabled():  # an evaluation between a forward pass and the layers that checkpointing calls again
            self._calls = _Calls()
            return
        if not self._is_said:
            self._number += 1
            self._training = _Calls()
        self._calls = self._training
        self._calls.are_first = True

    def end(self, model: nn.Module, inputs: Any, output: Any) -> None:
        self._calls = self._training
        self._calls.are_first = False

    def say(self, number: Optional[int]) -> None:
        self._number = self._number + 1 if number is None else number
        self._is_said = True
        self._calls = self._training = _Calls()

    def stream(self, name: str, call: int = 0, across: bool = False) -> int:
        """across: along the other axis than the last."""
        return _arrays.stream_of((f"{name}[{call}]" if call else name) + "^T" * across, max(self._number, 0))

    def call_of(self, layer: _Layer) -> int:
        return self._calls.number(layer)


class _Calls:
    """Of the layers in one step."""

    def __init__(self) -> None:
        self.are_first = False  # the model is in its forward pass: checkpointing calls layers again after it, the last one first
        self._last: Dict[_Layer, int] = {}
        self._may_repeat: Dict[_Layer, List[int]] = {}

    def number(self, layer: _Layer) -> int:
        may_repeat = self._may_repeat.setdefault(layer, [])
        if not self.are_first and may_repeat:
            return may_repeat.pop()
        self._last[layer] = number = self._last.get(layer, -1) + 1
        if self.are_first:
            may_repeat.append(number)
        return number


class _Layer:
    """Rounds what one layer reads, and the gradients that come back to it."""

    def __init__(
        self, name: str, module: nn.Module, of: Dict[str, _Treatment], parameters: Dict[int, str], steps: _Steps
    ) -> None:
        self.name, self.module, self.of, self._steps = name, module, of, steps
        own = f"{name}.weight" if name else "weight"
        self._weight_grad, self._weight = f"weight_grad/{own}", f"weight/{parameters.get(id(module.weight), own)}"

    def watch(self) -> List[Any]:
        before = self.module.register_forward_pre_hook(_Hook(self._before))
        after = self.module.register_forward_hook(_Hook(self._after))
        self.module._forward_hooks.move_to_end(after.id, last=False)  # hooks on gradients that others place see them rounded
        return [before, after]

    def _before(self, module: nn.Module, inputs: Tuple[Any, ...]) -> Optional[Tuple[Any, ...]]:
        _show_weight(module)  # of a pass that ended in an error
        self._call = call = self._steps.call_of(self)
        self._product: Optional[_Product] = None
        in_blocks = any(self.of[kind].follows_axis for kind in OPERANDS if kind in self.of)
        if (in_blocks or "activation" in self.of) and not inputs:
            raise TypeError(f"layer {self.name}: its input is a keyword argument, which hooks do not see; pass it by position")
        if in_blocks:
            self._product = _Product(self.of, self._streams(call), inputs[0], module.weight)
            _hide_weight(module, self._product.operand("weight"))
            return (self._product.operand("activation"), *inputs[1:])
        if "weight" in self.of or "weight_grad" in self.of:
            weight, treatment = module.weight, self.of.get("weight")
            type_ = _autocast_type(module, weight)
            used = _copy(weight, type_) if treatment is None else treatment(weight, self._steps.stream(self._weight), type_)
            self._round_gradient("weight_grad", used, self._weight_grad, call)
            _hide_weight(module, used)
        if "activation" not in self.of:
            return None
        return (self.of["activation"](inputs[0], self._steps.stream(f"activation/{self.name}", call)), *inputs[1:])

    def _after(self, module: nn.Module, inputs: Tuple[Any, ...], output: torch.Tensor) -> Optional[torch.Tensor]:
        _show_weight(module)
        product, self._product = self._product, None
        if product is not None:
            return product.in_graph(module.bias, output)
        self._round_gradient("activation_grad", output, f"activation_grad/{self.name}", self._call)
        return None

    def _streams(self, call: int) -> Dict[Tuple[str, bool], int]:
        """By kind, and whether it is along the other axis than the last."""
        names = {
            "activation": (f"activation/{self.name}", call),
            "weight": (self._weight, 0),
            "activation_grad": (f"activation_grad/{self.name}", call),
            "weight_grad": (self._weight_grad, call),
        }
        return {(kind, across): self._steps.stream(*of, across) for kind, of in names.items() for across in (False, True)}

    def _round_gradient(self, kind: str, of: torch.Tensor, name: str, call: int) -> None:
        if kind in self.of and of.requires_grad:
            treatment, stream = self.of[kind], self._steps.stream(name, call)
            of.register_hook(lambda gradient: treatment(gradient, stream))


class _Product:
    """One call of a linear layer whose operands are in blocks along the axis that is summed over."""

    def __init__(
        self, of: Dict[str, _Treatment], streams: Dict[Tuple[str, bool], int], x: torch.Tensor, weight: torch.Tensor
    ) -> None:
        self._of, self._streams, self._x, self._weight = of, streams, x, weight

    def operand(self, kind: str) -> torch.Tensor:
        """For the output: what the layer multiplies, without a gradient."""
        of = self._x if kind == "activation" else self._weight
        return self.quantized(kind, of, False).to(of.dtype).reshape(of.shape)

    def in_graph(self, bias: Optional[torch.Tensor], output: torch.Tensor) -> torch.Tensor:
        self._output = output.detach()
        made: torch.Tensor = _Multiplied.apply(self._x, self._weight, bias, self)
        return made

    def take_output(self) -> torch.Tensor:
        """Once. Everything else goes with the graph."""
        output = self._output
        del self._output, self._x, self._weight
        return output

    def quantized(self, kind: str, x: torch.Tensor, across: bool) -> torch.Tensor:
        """As a matrix. Across: along its first axis."""
        matrix, treatment = x.detach().reshape(-1, x.shape[-1]), self._of.get(kind)
        if treatment is None:
            return matrix
        across = across and treatment.follows_axis
        stream = self._streams[kind, across]
        if across:
            return treatment(matrix.t().contiguous(), stream).t()
        return treatment(matrix, stream)


class _Multiplied(torch.autograd.Function):
    """The output of a _Product, and what comes back through it."""

    @staticmethod
    def forward(
        ctx: Any, x: torch.Tensor, weight: torch.Tensor, bias: Optional[torch.Tensor], product: _Product
    ) -> torch.Tensor:
        ctx.product = product
        ctx.save_for_backward(x, weight)
        return product.take_output()

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx: Any, gradient: torch.Tensor) -> Tuple[Optional[torch.Tensor], ...]:
        of, type_, (x, weight) = ctx.product, gradient.dtype, ctx.saved_tensors
        made: List[Optional[torch.Tensor]] = [None, None, None, None]
        if ctx.needs_input_grad[0]:
            g, w = of.quantized("activation_grad", gradient, False), of.quantized("weight", weight, True)
            made[0] = (g @ w.to(type_)).to(x.dtype).reshape(x.shape)
        if ctx.needs_input_grad[1]:
            g, a = of.quantized("activation_grad", gradient, True), of.quantized("activation", x, True)
            made[1] = of.quantized("weight_grad", (g.t() @ a.to(type_)), False).to(weight.dtype)
        if ctx.needs_input_grad[2]:
            made[2] = gradient.reshape(-1, gradient.shape[-1]).sum(0)
        return tuple(made)


def _autocast_type(module: nn.Module, weight: torch.Tensor) -> Optional[torch.dtype]:
    """To which autocast casts the weight of a layer now; None: to none. It is done here, since a Recorder looks for the cast next
    to the parameter."""
    name = autocast_type(weight.device.type)
    if not name or weight.dtype in (torch.float64, getattr(torch, name)):
        return None
    is_cast = not getattr(module, "transposed", False) or _casts_transposed(weight.device.type)
    return getattr(torch, name) if is_cast else None


@functools.lru_cache(None)
def _casts_transposed(device: str) -> bool:
    """Whether autocast, which is on, casts for transposed convolutions: some versions do not on the processor."""
    one = torch.ones(1, 1, 1, device=device)
    return F.conv_transpose1d(one, one).dtype != torch.float32


def _hide_weight(module: nn.Module, used: torch.Tensor) -> None:
    """An attribute of the object comes before its parameters, which stay where optimizers and state_dict() find them. Under the
    name there may be something already: weight_norm and FSDP put what they compute there."""
    own = module.__dict__
    used._ulpscope_hides = {"weight": own["weight"]} if "weight" in own else {}  # type: ignore[attr-defined]
    own["weight"] = used


def _show_weight(module: nn.Module) -> None:
    """As it was."""
    hidden = getattr(module.__dict__.get("weight"), "_ulpscope_hides", None)
    if hidden is not None:
        del module.__dict__["weight"]
        module.__dict__.update(hidden)


_uncompiled = getattr(getattr(torch, "compiler", None), "disable", lambda function: function)  # from torch 2.1 on


class _Hook(Hook):
    """One that may return something, and is not for the compiler."""

    @_uncompiled
    def __call__(self, *arguments: Any) -> Any:
        return self.call(*arguments)


def _compile_anew() -> None:
    """Compiled code does not ask whether hooks have come or gone."""
    if "torch._dynamo" in sys.modules and hasattr(torch, "compiler"):
        torch.compiler.reset()


def _layers_of(root: nn.Module) -> Dict[str, nn.Module]:
    """By name."""
    found = {}
    for name, module in root.named_modules():
        if not isinstance(module, LAYERS) or isinstance(module, nn.modules.linear.NonDynamicallyQuantizableLinear):
            continue
        name = plain(name)
        if hasattr(getattr(type(module), "weight", None), "__set__"):
            raise ValueError(
                f"model: the weight of {name} is a parametrization, which cannot be rounded; "
                "torch.nn.utils.parametrize.remove_parametrizations makes a parameter of it"
            )
        if any(isinstance(hook, _Hook) for hook in module._forward_pre_hooks.values()):
            raise ValueError(f"model: {name} is emulated already; call remove() of that first")
        found[name] = module
    if not found:
        raise ValueError("model: has no linear or convolution layer")
    return found


def _check_blocks(name: str, module: nn.Module, of: Mapping[str, _Treatment]) -> None:
    for kind, treatment in of.items():
        if treatment.is_whole or type(module).forward is nn.Linear.forward:
            continue
        why = f"is a {type(module).__name__}" + (" with a forward of its own" if isinstance(module, nn.Linear) else "")
        raise ValueError(
            f"recipe: {kind} of {name or 'the model'}: {treatment} has scales for blocks of a matrix, which emulate lays along "
            f"the sums of an nn.Linear; {name or 'this'} {why}. Leave it out with {{{'^' + re.escape(name) + '$'!r}: None}}, "
            "or give it a format with one scale"
        )


def _warn_of_others(root: nn.Module) -> None:
    others = [(plain(name), type(module).__name__) for name, module in root.named_modules() if isinstance(module, NOT_LAYERS)]
    if others:
        shown = _some([f"{name} ({kind})" for name, kind in others])
        text = f"ulpscope: emulate rounds linear and convolution layers; nothing is rounded within {shown}"
        warnings.warn(text, RuntimeWarning, stacklevel=4)


def _some(names: Sequence[str]) -> str:
    """A few of them, and how many more there are."""
    shown = ", ".join(name or "'' (the model itself)" for name in names[:8])
    return shown + (f" and {len(names) - 8} more" if len(names) > 8 else "")


def _plan(recipe: Recipe, modules: Mapping[str, nn.Module]) -> Dict[str, Dict[str, _Treatment]]:
    """{name of layer: {kind: its treatment}}"""
    plan: Dict[str, Dict[str, Optional[_Treatment]]] = {name: {} for name in modules}

    def enter(recipe: Recipe, names: List[str], kinds: Optional[Tuple[str, ...]], place: str) -> None:
        if not isinstance(recipe, Mapping) or any(key in OPTIONS for key in recipe):
            types = {modules[name].weight.dtype for name in names}
            treatment = None if recipe is None else _treatment(recipe, types, place)
            for name in names:
                plan[name].update(dict.fromkeys(kinds or (KINDS if treatment is None else OPERANDS), treatment))
            return
        if not recipe:
            raise ValueError(f"{place}: is empty; write a format, or {{'weight': FORMAT}}")
        for key, inner in recipe.items():
            at = f"{place}: {key!r}"
            if key in KINDS:
                if kinds is not None:
                    raise ValueError(f"{at}: is a kind of tensor inside of another; write them side by side")
                enter(inner, names, (key,), at)
            else:
                enter(inner, _matched(key, names, at), kinds, at)

    enter(recipe, list(modules), None, "recipe")
    return {name: {kind: of for kind, of in kinds.items() if of is not None} for name, kinds in plan.items()}


def _matched(key: Any, names: List[str], at: str) -> List[str]:
    if not isinstance(key, str):
        raise TypeError(f"{at}: is a {type(key).__name__}; keys are kinds of tensors and regular expressions")
    try:
        found = [name for name in names if re.search(key, name)]
    except re.error as error:
        raise ValueError(f"{at}: is no regular expression: {error}") from None
    if not found:
        raise ValueError(
            f"{at}: is no kind of tensor ({', '.join(KINDS)}), no option of a treatment ({', '.join(OPTIONS)}), "
            f"and matches the name of no layer ({_some(names)})"
        )
    return found


def _treatment(recipe: Any, types: Iterable[torch.dtype], place: str) -> _Treatment:
    """Tried on each of the types that it will be of."""
    options = dict(recipe) if isinstance(recipe, Mapping) else {"format": recipe}
    for key in options:
        if key not in OPTIONS:
            raise ValueError(
                f"{place}: {key!r} is not one of {', '.join(OPTIONS)}; kinds of tensors and names of layers stand "
                "around a treatment, as in {'weight': {'format': 'float16'}}"
            )
    if "format" not in options:
        raise ValueError(f"{place}: has no format; write {{'format': 'float16', ...}}")
    try:
        treatment = (_InBlocks if _blocks.is_named(options["format"]) else _Treatment)(**options)
        for dtype in types:
            treatment(torch.empty((0, 1), dtype=dtype), 0)
    except (TypeError, ValueError) as error:
        raise type(error)(f"{place}: {error}") from None
    return treatment
