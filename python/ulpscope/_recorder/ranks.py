"""Which rank this is, and what other ranks record."""

import os
from collections import namedtuple

from .._counting.host import loaded_torch
from .._errors import RecorderError
from .names import plain


def torch_distributed():
    torch = loaded_torch()
    distributed = getattr(torch, "distributed", None)
    return (
        distributed if distributed is not None and distributed.is_available() and distributed.is_initialized() else None
    )


def rank_and_world():
    distributed = torch_distributed()
    return (distributed.get_rank(), distributed.get_world_size()) if distributed else (0, 1)


def new_run_id(for_all_ranks):
    ids = [os.urandom(8).hex()]
    if for_all_ranks:
        if torch_distributed() is None:
            raise RecorderError("run_id: without torch.distributed, give all ranks the same one")
        torch_distributed().broadcast_object_list(ids)
    return ids[0]


def is_replica(tensor):
    """Whether it is the part of a DTensor that another rank has too, and records."""
    place = tensor.device_mesh.get_coordinate() if hasattr(tensor, "device_mesh") else None
    return place is not None and any(of.is_replicate() and at > 0 for of, at in zip(tensor.placements, place))


def is_summand(tensor):
    """Whether the values of a DTensor are still to be added up over ranks."""
    return any(of.is_partial() for of in getattr(tensor, "placements", ()))


def recorded_elsewhere(model, rank, world):
    """Names of the parameters of a model with DTensors that other ranks record. Where several meshes hold a tensor of one name,
    as those of tensor parallelism beside data parallelism, each has all of it: the one with the lowest rank records it. A
    plain tensor is whole on each rank that has it."""
    wrapped = any(type(module).__name__ == "FullyShardedDataParallel" for module in model.modules())  # has flat parts in tensors
    if torch_distributed() is None or wrapped or not any(hasattr(p, "device_mesh") for p in model.parameters()):
        return frozenset()
    mine = {}
    for name, parameter in model.named_parameters():
        of = sorted(parameter.device_mesh.mesh.flatten().tolist()) if hasattr(parameter, "device_mesh") else [rank]
        mine.setdefault(tuple(of), []).append(plain(name))
    of_all = [None] * world
    torch_distributed().all_gather_object(of_all, mine)
    first = {}
    for meshes in of_all:
        for ranks, names in meshes.items():
            first.update((name, min(ranks, first.get(name, ranks))) for name in names)
    return frozenset(name for ranks, names in mine.items() for name in names if first[name] != ranks)


def is_sharded(model):
    wrapped = any(type(module).__name__ == "FullyShardedDataParallel" for module in model.modules())
    return wrapped or any(hasattr(parameter, "to_local") for parameter in model.parameters())


class Place(namedtuple("Place", "rank world job_world shards local")):
    """Where a recorder is among ranks. job_world: what torch.distributed says."""

    __slots__ = ()

    @classmethod
    def of(cls, model, rank, world, shards, local):
        its_rank, its_world = rank_and_world()
        rank, world = its_rank if rank is None else rank, its_world if world is None else world
        if not 0 <= rank < world:
            raise RecorderError(f"rank={rank}: must be from 0 to world - 1, and world is {world}")
        if shards is None:
            shards = world > 1 and model is not None and is_sharded(model)
        local = local and world > 1
        if local and shards:
            raise RecorderError("local: the parts of FSDP and DTensor are there only when they are reduced; leave it out")
        return cls(rank, world, its_world, shards, local)

    @property
    def has_own_file(self):
        return self.shards or self.local

    @property
    def records(self):
        return self.rank == 0 or self.has_own_file

    def path(self, path):
        if not self.has_own_file:
            return path
        root, extension = os.path.splitext(os.fspath(path))
        return f"{root}.rank{self.rank}{extension}"

    def meta(self, run_id):
        meta = {
            "run_id": run_id or new_run_id(self.has_own_file and self.world > 1),
            "rank": self.rank,
            "world": self.world,
            "reduction": "local" if self.local or self.world == 1 else "reduced",
            "layout": "shard" if self.shards else "replica",
        }
        return [(key, str(value)) for key, value in meta.items()]

    @property
    def ranks(self):
        return ",".join(map(str, [self.rank] if self.has_own_file else range(self.world)))
