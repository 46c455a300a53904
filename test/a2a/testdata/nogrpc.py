"""Lets the kit load where nothing of gRPC is installed: its tests of the other
transports import that half and never use it. A test that did would be handed
something that equals nothing, and fail."""

import importlib.abc
import importlib.machinery
import sys
import types
import unittest.mock

ABSENT = ("grpc", "google", "specification.generated")


class Absent(types.ModuleType):
    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return unittest.mock.MagicMock(name=f"{self.__name__}.{name}")


class Finder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    def find_spec(self, name, path=None, target=None):
        if any(name == absent or name.startswith(absent + ".") for absent in ABSENT):
            return importlib.machinery.ModuleSpec(name, self, is_package=True)
        return None

    def create_module(self, spec):
        return Absent(spec.name)

    def exec_module(self, module):
        pass


sys.meta_path.insert(0, Finder())
