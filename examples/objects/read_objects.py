#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Reads objects that weir streamed (object-wise), with uproot: pip install uproot

    read_objects.py CLASSES.root BUFFER [CLASS]

CLASSES.root is any file that ROOT wrote with objects of these classes in it: their descriptions are there, and a buffer
has none. BUFFER holds what weir::serial::Writer::write_any wrote, one object after the other; with CLASS it is what
Writer::stream wrote, which does not name its class. Prints each object's members."""
import sys

import numpy
import uproot
from uproot.deserialization import read_object_any
from uproot.interpretation.identify import parse_typename
from uproot.source.chunk import Chunk
from uproot.source.cursor import Cursor


class ObjectReader:
    """Reads objects out of bytes, with the descriptions of classes in a ROOT file."""

    def __init__(self, classes_path):
        self.file = uproot.open(classes_path).file

    def objects(self, data, class_name=None):
        """All objects in `data`, one after the other."""
        chunk = Chunk.wrap(self.file.source, numpy.frombuffer(data, numpy.uint8))
        cursor = Cursor(0)
        while cursor.index < len(data):
            yield self.next_object(chunk, cursor, class_name)

    def next_object(self, chunk, cursor, class_name):
        context = {"in_TBranch": True, "reading": True}  # without the first it does not step over class checksums
        if class_name is None:
            return read_object_any(chunk, cursor, context, self.file, self.file.detached, None)
        if "<" in class_name or class_name == "string":  # vector<Thing>: nothing stands before the number of elements
            model = parse_typename(class_name, file=self.file, outer_header=False, inner_header=False, string_header=False)
        else:
            model = self.file.class_named(class_name)
        return model.read(chunk, cursor, context, self.file, self.file.detached, None)


def plain(value):
    """What is in an object as dictionaries, lists, numbers and texts."""
    if isinstance(value, uproot.Model):
        parts = {}
        for base in value.bases:
            parts.update(plain(base))
        parts.update((name, plain(member)) for name, member in value.members.items())
        return parts
    if isinstance(value, uproot.containers.STLMap):
        return [[plain(key), plain(member)] for key, member in value.items()]
    if isinstance(value, (uproot.containers.Container, numpy.ndarray, list, tuple)):
        return [plain(element) for element in value]
    return value.item() if isinstance(value, numpy.generic) else value


def main():
    if len(sys.argv) not in (3, 4):
        sys.exit(__doc__)
    with open(sys.argv[2], "rb") as buffer:
        data = buffer.read()
    for value in ObjectReader(sys.argv[1]).objects(data, sys.argv[3] if len(sys.argv) == 4 else None):
        print(plain(value))


if __name__ == "__main__":
    main()
