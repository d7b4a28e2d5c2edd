"""What is said of the role of tensors."""

from .._counting.host import loaded_torch
from .._errors import RecorderError
from .._file.schema import ROLES
from .names import expression, plain


def role_rules(roles, model):
    """A function of a tensor's name: the role that is said of it, or None."""
    if roles == "autocast" and model is None:
        raise RecorderError('roles="autocast" needs a model')
    if roles == "autocast":
        nn = loaded_torch().nn
        low = (nn.Linear, nn.modules.conv._ConvNd, nn.RNNBase, nn.RNNCellBase, nn.MultiheadAttention, nn.PReLU)
        roles, own = {}, []
        for prefix, module in model.named_modules(remove_duplicate=False):
            is_low = isinstance(module, low)
            prefix = plain(prefix)
            own += [(f"{prefix}.{name}".lstrip("."), p, is_low) for name, p in module._parameters.items() if p is not None]
            if is_low:
                roles.update(dict.fromkeys((prefix, f"forward/{prefix}", f"activation/{prefix}"), "low"))  # what goes out and in
        cast = {id(parameter) for _, parameter, is_low in own if is_low}  # by any module that has it, of whatever name
        roles.update({name: "low" if id(parameter) in cast else "float32" for name, parameter, _ in own})
        return roles.get
    rules = [(expression(regex, "roles"), role) for regex, role in dict(roles or {}).items()]
    for _, role in rules:
        if role not in ROLES:
            raise RecorderError(f"roles: {role!r} is not one of {', '.join(ROLES)}")
    return lambda name: next((role for regex, role in rules if regex.search(name)), None)
